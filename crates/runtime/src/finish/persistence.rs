//! Result persistence (phase 12): redacts a result, inlines it or stores it with a preview.

use haft_driver::{ExactNumber, Output};
use haft_model::{Content, Link, PersistMode, Persisted, Redacted};
use serde_json::{Map, Value};

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
    /// The backend's metadata of the result.
    pub(super) meta: Map<String, Value>,
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
        let (redacted_output, redacted) = self.take_out(reached, output);
        let mut held = self.kept(reached, redacted_output);
        held.redacted = redacted;
        held.artifacts = output.map(|output| output.artifacts.clone()).unwrap_or_default();
        for link in &mut held.artifacts {
            self.privacy.redactor.link(link);
        }
        held
    }

    /// Redacts the output and keeps it whole, without persisting it.
    pub(super) fn looked_at(&self, reached: &Reached, output: Option<&Output>) -> PersistedResult {
        let (shown, redacted) = self.take_out(reached, output);
        let (model, empty) = (shown.pieces(), shown.is_empty());
        let text = render::plain(&model);
        let RedactedOutput { structured, content, exact, meta } = shown;
        PersistedResult {
            exact: exact.len(),
            model,
            meta,
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

    /// The output without sensitive values, and what was taken out.
    fn take_out(
        &self,
        reached: &Reached,
        output: Option<&Output>,
    ) -> (RedactedOutput, Option<Redacted>) {
        let mut shown = RedactedOutput {
            structured: output.and_then(|output| output.structured.clone()),
            content: output.map(|output| output.content.clone()).unwrap_or_default(),
            meta: output.map(|output| output.meta.clone()).unwrap_or_default(),
            exact: self.exact_of(output),
        };
        let Some(entry) = &reached.entry else { return (shown, None) };
        let mut fields = Vec::new();
        let mut occurrences = self.privacy.redactor.content(&mut shown.content);
        occurrences += self.privacy.redactor.metadata(&mut shown.meta);
        let mut whole = false;
        if let Some(value) = &mut shown.structured {
            for pointer in &entry.contract.tool.extras.redact {
                if let Some(found) = value.pointer_mut(pointer) {
                    *found = Value::String(WITHHELD.to_owned());
                    fields.push(pointer.clone());
                }
            }
            occurrences += self.privacy.redactor.everywhere(value);
            whole = is_withheld(value);
        }
        let state = if whole && shown.content.is_empty() { "full" } else { "partial" };
        let redacted = (!fields.is_empty() || occurrences > 0).then(|| Redacted {
            fields,
            occurrences,
            state: state.to_owned(),
        });
        (shown, redacted)
    }

    /// Applies the contract's persistence strategy: inline, preview and reference, reference only,
    /// or dropped.
    fn kept(&mut self, reached: &Reached, output: RedactedOutput) -> PersistedResult {
        let (pieces, empty) = (output.pieces(), output.is_empty());
        let text = render::plain(&pieces);
        let RedactedOutput { structured, content, exact, meta } = output;
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
            model: if cut { render::preview(&pieces, limit) } else { pieces },
            meta,
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
                    held.model = vec![Content::text(render::NOTHING)];
                }
                (held.content, held.structured) = (content, structured);
            }
            PersistMode::PreviewAndPersist | PersistMode::RefOnly => {
                let bytes = render::native(structured.as_ref(), &content, &exact);
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
                held.model.push(Content::text(format!("({})", persisted.reason)));
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
            block: None,
        }
    }
}

/// An output without sensitive values.
struct RedactedOutput {
    structured: Option<Value>,
    content: Vec<Content>,
    meta: Map<String, Value>,
    exact: Vec<ExactNumber>,
}

impl RedactedOutput {
    /// The pieces that models and people read: the content as the backend gave it, or the value where
    /// it gave none. Texts are cleaned; the value keeps every character, since programs read it.
    fn pieces(&self) -> Vec<Content> {
        let value = |value: &Value| Content::text(render::words(value, &self.exact));
        let piece = |piece: &Content| match piece {
            Content::StructuredContent { data } if Some(data) == self.structured.as_ref() => {
                value(data)
            }
            Content::StructuredContent { data } => Content::text(render::words(data, &[])),
            other => other.clone(),
        };
        match (&self.structured, self.content.as_slice()) {
            (Some(only), []) => vec![value(only)],
            (Some(_) | None, content) => content.iter().map(piece).collect(),
        }
    }

    /// Whether the tool gave nothing at all. `null` and `{}` are something.
    fn is_empty(&self) -> bool {
        self.content.is_empty() && self.structured.is_none()
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
