//! Result persistence (phase 12): redacts a result, inlines it or stores it with a preview.

use haft_driver::{ExactNumber, Output};
use haft_model::{Content, Link, PersistMode, Persisted, Redacted, cleaned_value};
use serde_json::Value;

use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::redact::WITHHELD;
use crate::render;

/// Most characters of a result that a model sees inline, where the contract does not say.
const MAX_INLINE_CHARS: usize = 20_000;

/// A redacted result, in the forms that the envelope needs.
pub(super) struct PersistedResult {
    pub(super) content: Vec<Content>,
    pub(super) structured: Option<Value>,
    pub(super) model: Vec<Content>,
    pub(super) text: String,
    pub(super) persisted: Persisted,
    pub(super) redacted: Option<Redacted>,
    pub(super) resources: Vec<Link>,
    pub(super) artifacts: Vec<Link>,
    pub(super) empty: bool,
    /// Number of values with more digits than the structured content keeps.
    pub(super) exact: usize,
}

impl CallContext<'_> {
    /// Phase 12: redacts the output and persists it as the contract says.
    pub(super) fn hold(&mut self, reached: &Reached, output: Option<&Output>) -> PersistedResult {
        let mut structured = output.and_then(|output| output.structured.clone());
        let mut content = output.map(|output| output.content.clone()).unwrap_or_default();
        let redacted = self.take_out(reached, structured.as_mut(), &mut content);
        let exact = self.exact_of(output);
        let text = text_of(structured.as_ref(), &content, &exact);
        let mut held = self.kept(reached, structured, content, (text, &exact));
        held.redacted = redacted;
        held.artifacts = output.map(|output| output.artifacts.clone()).unwrap_or_default();
        for link in &mut held.artifacts {
            self.privacy.redactor.link(link);
        }
        held
    }

    /// Redacts the output and keeps it whole, without persisting it.
    pub(super) fn looked_at(&self, reached: &Reached, output: Option<&Output>) -> PersistedResult {
        let mut structured = output.and_then(|output| output.structured.clone());
        let mut content = output.map(|output| output.content.clone()).unwrap_or_default();
        let redacted = self.take_out(reached, structured.as_mut(), &mut content);
        let exact = self.exact_of(output);
        let text = text_of(structured.as_ref(), &content, &exact);
        let empty = is_empty(structured.as_ref(), &content);
        PersistedResult {
            exact: exact.len(),
            model: vec![Content::Text { text: text.clone() }],
            persisted: persisted(PersistMode::Inline, 0, &text, 0),
            resources: Vec::new(),
            artifacts: output.map(|output| output.artifacts.clone()).unwrap_or_default(),
            content,
            structured,
            text,
            redacted,
            empty,
        }
    }

    /// Numbers with more digits than the structured content keeps, without those that hold a
    /// secret.
    fn exact_of(&self, output: Option<&Output>) -> Vec<ExactNumber> {
        let mut exact = output.map(|output| output.exact.clone()).unwrap_or_default();
        exact.retain(|number| self.privacy.redactor.text(&number.digits).1 == 0);
        exact
    }

    fn take_out(
        &self,
        reached: &Reached,
        structured: Option<&mut Value>,
        content: &mut [Content],
    ) -> Option<Redacted> {
        let entry = reached.entry.as_ref()?;
        let mut fields = Vec::new();
        let mut occurrences = self.privacy.redactor.content(content);
        let mut whole = false;
        if let Some(value) = structured {
            for pointer in &entry.contract.tool.extras.redact {
                if let Some(found) = value.pointer_mut(pointer) {
                    *found = Value::String(WITHHELD.to_owned());
                    fields.push(pointer.clone());
                }
            }
            occurrences += self.privacy.redactor.everywhere(value);
            whole = is_withheld(value);
        }
        let state = if whole && content.is_empty() { "full" } else { "partial" };
        (!fields.is_empty() || occurrences > 0).then(|| Redacted {
            fields,
            occurrences,
            state: state.to_owned(),
        })
    }

    /// Applies the contract's persistence strategy: inline, preview and reference, reference only,
    /// or dropped.
    fn kept(
        &mut self,
        reached: &Reached,
        structured: Option<Value>,
        content: Vec<Content>,
        (text, exact): (String, &[ExactNumber]),
    ) -> PersistedResult {
        let empty = is_empty(structured.as_ref(), &content);
        let extras = reached.entry.as_ref().map(|entry| &entry.contract.tool.extras);
        let limit = extras.and_then(|extras| extras.max_inline_chars);
        let limit = limit.map_or(MAX_INLINE_CHARS, |limit| limit as usize);
        let wish = extras.and_then(|extras| extras.persist);
        let (preview, cut) = render::capped(&text, limit);
        let preview = preview.to_owned();
        let ref_only = wish == Some(PersistMode::RefOnly) && !empty;
        let strategy = match (cut || ref_only, wish) {
            (false, _) => PersistMode::Inline,
            (
                true,
                Some(
                    wish @ (PersistMode::NeverPersist
                    | PersistMode::DropWithReason
                    | PersistMode::RefOnly),
                ),
            ) => wish,
            (
                true,
                Some(PersistMode::Inline | PersistMode::PreviewAndPersist | PersistMode::Redact),
            )
            | (true, None) => PersistMode::PreviewAndPersist,
        };
        let shown = if ref_only { 0 } else { preview.len() };
        let mut persisted = persisted(strategy, limit, &text, shown);
        let mut held = PersistedResult {
            exact: exact.len(),
            model: vec![Content::Text { text: preview.clone() }],
            text: preview,
            redacted: None,
            resources: Vec::new(),
            artifacts: Vec::new(),
            empty,
            content: Vec::new(),
            structured: None,
            persisted: persisted.clone(),
        };
        match strategy {
            PersistMode::Inline => {
                if empty {
                    held.model = vec![Content::Text { text: render::NOTHING.to_owned() }];
                }
                // Images go to the model as they are; the text rendering is for other readers.
                if content.iter().any(render::is_more_than_words) {
                    held.model.clone_from(&content);
                }
                (held.content, held.structured) = (content, structured);
            }
            PersistMode::PreviewAndPersist | PersistMode::RefOnly => {
                let bytes = render::native(structured.as_ref(), &content, exact);
                persisted.original_size = bytes.len() as u64;
                let kept = self.privacy.discretion.keep(&Value::Null, bytes);
                let kept = self.recorder.keep(kept);
                let link = self.link(&kept);
                persisted.payload = Some(kept);
                if ref_only {
                    held.model.clear();
                }
                held.model.push(Content::PersistedOutputRef(link.clone()));
                held.content = vec![Content::PersistedOutputRef(link.clone())];
                held.resources.push(link);
            }
            PersistMode::NeverPersist | PersistMode::DropWithReason | PersistMode::Redact => {
                held.model.push(Content::Text { text: format!("({})", persisted.reason) });
            }
        }
        if held.content.is_empty() && strategy != PersistMode::Inline {
            held.content = held.model.clone();
        }
        held.persisted = persisted;
        held
    }

    fn link(&self, kept: &haft_model::PayloadRef) -> Link {
        Link {
            uri: format!("haft://invocations/{}/payloads/{}", self.recorder.id(), kept.digest),
            name: Some("whole output".into()),
            mime_type: None,
            digest: Some(kept.digest.clone()),
            size: Some(kept.size),
            relation: Some("native_output".into()),
        }
    }
}

/// Text of a result for models and people, cleaned; the structured value keeps every character,
/// since programs read it.
fn text_of(structured: Option<&Value>, content: &[Content], exact: &[ExactNumber]) -> String {
    match (structured, content.is_empty()) {
        (Some(value), true) => render::json(&cleaned_value(value), exact),
        (Some(_) | None, _) => render::plain(content),
    }
}

/// Whether redaction left nothing of a value.
fn is_withheld(value: &Value) -> bool {
    match value {
        Value::String(text) => text == WITHHELD,
        Value::Array(items) => !items.is_empty() && items.iter().all(is_withheld),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(is_withheld),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_empty(structured: Option<&Value>, content: &[Content]) -> bool {
    content.is_empty()
        && structured.is_none_or(|value| {
            value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
        })
}

fn persisted(strategy: PersistMode, limit: usize, text: &str, shown: usize) -> Persisted {
    Persisted {
        strategy: strategy.name().to_owned(),
        max_inline_chars: limit as u64,
        original_size: text.len() as u64,
        preview_size: shown as u64,
        payload: None,
        reason: reason(strategy, limit),
    }
}

fn reason(strategy: PersistMode, limit: usize) -> String {
    match strategy {
        PersistMode::Inline => "it is short enough to be shown whole".to_owned(),
        PersistMode::NeverPersist => {
            format!(
                "only the first {limit} characters are shown, and the rest is not kept; ask for a part"
            )
        }
        PersistMode::DropWithReason => {
            format!("only the first {limit} characters are shown, and the rest was dropped")
        }
        PersistMode::RefOnly => "the contract wants it kept and not shown".to_owned(),
        PersistMode::PreviewAndPersist | PersistMode::Redact => {
            format!("it is longer than {limit} characters")
        }
    }
}
