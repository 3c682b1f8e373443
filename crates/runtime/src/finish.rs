//! Phases 10 to 13: output or stop becomes an envelope, mapped once, redacted, stored, released.

use haft_driver::{Failure, Heard, Output};
use haft_model::{
    CallPhase, Code, Content, EffectState, Ended, Envelope, Event, HookPoint, HookStarted, Link,
    Persisted, PhaseOutcome, Redacted, ResultCreated, ResultStatus, Status, Stop, ToolError,
    Yielded,
};
use serde_json::Value;

use crate::hear::{ask, record};
use crate::redact::WITHHELD;
use crate::render;
use crate::walk::{Halt, Walk};

/// How much of a result a model is shown where its contract does not say.
const MAX_INLINE_CHARS: usize = 20_000;

/// What a call came to, before it is put into words.
struct Came {
    output: Option<Output>,
    error: Option<ToolError>,
    effect: EffectState,
}

/// What a result holds and how it is kept.
struct Held {
    content: Vec<Content>,
    structured: Option<Value>,
    model: Vec<Content>,
    text: String,
    persisted: Persisted,
    redacted: Option<Redacted>,
    resources: Vec<Link>,
    artifacts: Vec<Link>,
    empty: bool,
}

impl Walk<'_> {
    pub(crate) async fn finish(mut self, outcome: Result<Output, Halt>) -> Envelope {
        let outcome = match outcome {
            Ok(output) => Ok(output),
            Err(Halt::Stopped(failure)) => Err(*failure),
            Err(Halt::Pending(question)) => return self.pending(*question).await,
        };
        let came = self.map(outcome);
        let came = self.post_hooks(came).await;
        let held = self.hold(came.output.as_ref());
        let envelope = self.envelope(came, held);
        self.emit(envelope).await
    }

    /// Phase 10: the output is held against the contract, once.
    fn map(&mut self, outcome: Result<Output, Failure>) -> Came {
        let came = match outcome {
            Err(failure) => {
                let stop = self.redactor.stop(self.at_run(failure.stop));
                Came {
                    output: failure.partial.map(|partial| *partial),
                    error: Some(ToolError::new(stop, failure.effect)),
                    effect: failure.effect,
                }
            }
            Ok(output) => {
                let effect = output.effect;
                let checked = self.promised(&output);
                let error = checked.err().map(|stop| {
                    let stop = self.redactor.stop(self.at_run(stop));
                    ToolError::new(stop, effect)
                });
                Came { output: Some(output), error, effect }
            }
        };
        if self.executed && came.output.is_some() {
            let fits =
                came.error.as_ref().is_none_or(|error| error.error_code != Code::OutputInvalid);
            let outcome = if fits { PhaseOutcome::Ok } else { PhaseOutcome::Failed };
            self.journal.phase(CallPhase::MapResult, outcome);
        }
        came
    }

    /// A stop that was met while a driver ran says so.
    fn at_run(&self, mut stop: Stop) -> Stop {
        if self.executed {
            match &mut stop.cause {
                Value::Object(fields) => {
                    fields.insert("phase".into(), "run".into());
                }
                Value::Null => stop.cause = serde_json::json!({ "phase": "run" }),
                _ => {}
            }
        }
        stop
    }

    fn promised(&self, output: &Output) -> Result<(), Stop> {
        let Some(entry) = &self.entry else { return Ok(()) };
        match &output.structured {
            Some(value) => entry.check_output(value),
            None => entry.check_output(&Value::Object(Default::default())),
        }
    }

    /// Phase 11: hooks are heard about the outcome of a driver that was reached.
    async fn post_hooks(&mut self, mut came: Came) -> Came {
        let world = self.world.clone();
        let point = match came.error {
            None => HookPoint::PostToolUse,
            Some(_) => HookPoint::PostToolUseFailure,
        };
        let Some(plan) = self.plan.clone().filter(|_| self.executed) else { return came };
        let hooks = world.hooks.iter().filter(|hook| hook.point() == point && hook.concerns(&plan));
        let mut heard = false;
        for hook in hooks {
            heard = true;
            let started_at = self.journal.now();
            let started = HookStarted { hook: hook.name().to_owned(), point };
            self.journal.note(Event::PostHookStarted(started));
            let mut shown = plan.input.clone();
            self.redactor.value(&mut shown);
            let about = Heard {
                actor: &plan.actor,
                plan: &plan,
                observable_input: &shown,
                decision: None,
                result: None,
            };
            let answer = ask(hook.as_ref(), about).await;
            let run = record(hook.name(), point, started_at, &answer);
            self.journal.note(Event::PostHookCompleted(Box::new(run)));
            came = self.after_hook(came, hook.name(), hook.required(), answer);
        }
        let outcome = match (heard, &came.error) {
            (false, _) => PhaseOutcome::Skipped,
            (true, Some(error)) if error.error_code == Code::HookPostFailed => PhaseOutcome::Failed,
            (true, _) => PhaseOutcome::Ok,
        };
        self.journal.phase(CallPhase::PostHooks, outcome);
        came
    }

    /// What a hook after the call changes: what is shown, never what happened.
    fn after_hook(
        &self,
        came: Came,
        name: &str,
        required: bool,
        answer: Result<haft_driver::HookAnswer, String>,
    ) -> Came {
        let fail = |came: Came, code: Code, message: String| {
            let error = ToolError::new(self.at_run(Stop::new(code, message)), came.effect);
            Came { error: Some(error), ..came }
        };
        match answer {
            Err(fault) if required => fail(
                came,
                Code::HookPostFailed,
                format!("hook `{name}` could not be heard: {fault}"),
            ),
            Err(_) => came,
            Ok(answer) => {
                if let Some(reason) = answer.stop {
                    return fail(came, Code::HookBlocked, format!("hook `{name}`: {reason}"));
                }
                let Some(updated) = answer.updated_output else { return came };
                let output = came
                    .output
                    .clone()
                    .map(|output| Output { structured: Some(updated), ..output });
                match output.as_ref().map(|output| self.promised(output)) {
                    Some(Err(stop)) => fail(
                        came,
                        Code::HookPostFailed,
                        format!("hook `{name}` changed the output: {}", stop.message),
                    ),
                    Some(Ok(())) | None => Came { output, ..came },
                }
            }
        }
    }

    /// Phase 12: what is taken out, what is shown, what is kept.
    fn hold(&mut self, output: Option<&Output>) -> Held {
        let mut structured = output.and_then(|output| output.structured.clone());
        let mut content = output.map(|output| output.content.clone()).unwrap_or_default();
        let redacted = self.take_out(structured.as_mut(), &mut content);
        let text = match (&structured, content.is_empty()) {
            (Some(value), true) => value.to_string(),
            (Some(_) | None, _) => render::plain(&content),
        };
        let empty = content.is_empty()
            && structured.as_ref().is_none_or(|value| {
                value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
            });
        let mut held = self.kept(structured, content, text, empty);
        held.redacted = redacted;
        held.artifacts = output.map(|output| output.artifacts.clone()).unwrap_or_default();
        held
    }

    fn take_out(
        &self,
        structured: Option<&mut Value>,
        content: &mut [Content],
    ) -> Option<Redacted> {
        let entry = self.entry.as_ref()?;
        let mut fields = Vec::new();
        let mut occurrences = self.redactor.content(content);
        let mut whole = false;
        if let Some(value) = structured {
            for pointer in &entry.contract.tool.extras.redact {
                whole |= pointer.trim_matches('/').is_empty();
                let place = if pointer == "/" { "" } else { pointer };
                if let Some(found) = value.pointer_mut(place) {
                    *found = Value::String(WITHHELD.to_owned());
                    fields.push(pointer.clone());
                }
            }
            occurrences += self.redactor.everywhere(value);
        }
        let state = if whole { "full" } else { "partial" };
        (!fields.is_empty() || occurrences > 0).then(|| Redacted {
            fields,
            occurrences,
            state: state.to_owned(),
        })
    }

    /// Inline, or a preview and a reference, as the contract wishes.
    fn kept(
        &mut self,
        structured: Option<Value>,
        content: Vec<Content>,
        text: String,
        empty: bool,
    ) -> Held {
        let extras = self.entry.as_ref().map(|entry| &entry.contract.tool.extras);
        let limit = extras.and_then(|extras| extras.max_inline_chars);
        let limit = limit.map_or(MAX_INLINE_CHARS, |limit| limit as usize);
        let wish = extras.and_then(|extras| extras.persist.clone());
        let (preview, cut) = render::capped(&text, limit);
        let preview = preview.to_owned();
        let ref_only = wish.as_deref() == Some("ref_only") && !empty;
        let strategy = match (cut || ref_only, wish.as_deref()) {
            (false, _) => "inline",
            (true, Some("never_persist")) => "never_persist",
            (true, Some("drop_with_reason")) => "drop_with_reason",
            (true, Some("ref_only")) => "ref_only",
            (true, _) => "preview_and_persist",
        };
        let mut persisted = Persisted {
            strategy: strategy.to_owned(),
            max_inline_chars: limit as u64,
            original_size: text.len() as u64,
            preview_size: if ref_only { 0 } else { preview.len() as u64 },
            payload: None,
            reason: reason(strategy, limit),
        };
        let mut held = Held {
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
            "inline" => {
                if empty {
                    held.model = vec![Content::Text { text: render::NOTHING.to_owned() }];
                }
                (held.content, held.structured) = (content, structured);
            }
            "preview_and_persist" | "ref_only" => {
                let bytes = render::native(structured.as_ref(), &content);
                persisted.original_size = bytes.len() as u64;
                let kept = self.discretion.keep(&Value::Null, bytes);
                let kept = self.journal.keep(kept);
                let link = self.link(&kept);
                persisted.payload = Some(kept);
                if ref_only {
                    held.model.clear();
                }
                held.model.push(Content::PersistedOutputRef(link.clone()));
                held.content = vec![Content::PersistedOutputRef(link.clone())];
                held.resources.push(link);
            }
            _ => held.model.push(Content::Text { text: format!("({})", persisted.reason) }),
        }
        if held.content.is_empty() && strategy != "inline" {
            held.content = held.model.clone();
        }
        held.persisted = persisted;
        held
    }

    fn link(&self, kept: &haft_model::Kept) -> Link {
        Link {
            uri: format!("haft://invocations/{}/payloads/{}", self.journal.id(), kept.digest),
            name: Some("whole output".into()),
            mime_type: None,
            digest: Some(kept.digest.clone()),
            size: Some(kept.size),
            relation: Some("native_output".into()),
        }
    }

    /// Everything that is known, in one envelope.
    fn envelope(&mut self, came: Came, held: Held) -> Envelope {
        let status = match (&came.error, &held.redacted) {
            (Some(error), _) => error.result_status(),
            (None, Some(redacted)) if redacted.state == "full" => ResultStatus::Redacted,
            (None, _) => ResultStatus::Succeeded,
        };
        let final_status = came.error.as_ref().map_or(Status::Succeeded, |error| {
            let wished = error.final_status();
            // A wish to stop may arrive in any state; other ends depend on how far the call got.
            if self.journal.status().may_become(wished) { wished } else { Status::Failed }
        });
        let tool_id = self.tool_id();
        let words = match &came.error {
            Some(error) => format!("{tool_id} {}: {}", status.name(), error.message),
            None if held.empty => format!("{tool_id} succeeded and gave no output"),
            None => format!("{tool_id} succeeded"),
        };
        let mut model = held.model;
        if let Some(error) = &came.error {
            let help = error.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
            let text = format!("{} ({}){help}", error.message, error.error_code);
            let output_shown = !held.empty && came.output.is_some();
            model = match output_shown {
                true => [vec![Content::Text { text }], model].concat(),
                false => vec![Content::Text { text }],
            };
        }
        if let Some(redacted) = &held.redacted {
            self.journal.note(Event::Redacted(redacted.clone()));
        }
        let persistence = self.journal.id().part("per");
        let is_output = came.output.is_some();
        if is_output {
            self.journal.note(Event::Persisted(held.persisted));
            self.journal.phase(CallPhase::PersistResult, PhaseOutcome::Ok);
        }
        Envelope {
            schema_version: haft_model::record::SCHEMA_VERSION.into(),
            result_id: self.journal.id().part("res"),
            invocation_id: self.journal.id().clone(),
            tool_id,
            status,
            final_status,
            is_error: came.error.is_some(),
            effect_state: came.effect,
            content: held.content,
            structured_content: held.structured,
            model_facing_content: model,
            ui_facing_summary: render::line(&words),
            transcript_search_text: render::capped(&held.text, 2000).0.to_owned(),
            resource_refs: held.resources,
            artifact_refs: held.artifacts,
            evidence_refs: vec![format!("haft://invocations/{}", self.journal.id())],
            policy_refs: Vec::new(),
            telemetry_refs: Vec::new(),
            persistence_refs: if is_output { vec![persistence] } else { Vec::new() },
            summary: words,
            redaction_state: held.redacted.map_or_else(|| "none".to_owned(), |taken| taken.state),
            empty: held.empty && is_output,
            abort_reason: None,
            driver: self.plan.as_ref().map(|plan| plan.route.driver.to_string()),
            created_at: self.journal.now(),
            error: came.error,
            unrecorded: None,
            approval_id: None,
        }
    }

    fn tool_id(&self) -> String {
        match &self.entry {
            Some(entry) => entry.contract.key().to_string(),
            None => format!("unresolved:{}", self.requested),
        }
    }

    /// Phase 13: the result exists before anybody is told that the call is over.
    async fn emit(&mut self, mut envelope: Envelope) -> Envelope {
        let bytes = serde_json::to_vec(&envelope).unwrap_or_default();
        let kept = self.discretion.keep(&Value::Null, bytes);
        let result = self.journal.keep(kept);
        self.journal.note(Event::ResultCreated(ResultCreated {
            result,
            status: envelope.status,
            is_error: envelope.is_error,
        }));
        if self.executed && self.journal.status().may_become(Status::Yielded) {
            self.journal.note(Event::Yielded(Yielded {}));
        }
        self.journal.skip_to(CallPhase::PersistResult);
        self.journal.phase(CallPhase::EmitTerminal, PhaseOutcome::Ok);
        let stage = match envelope.final_status {
            Status::SchemaParseFailed => Some("schema".to_owned()),
            Status::ValidationFailed => Some("values".to_owned()),
            _ => None,
        };
        self.journal.note(Event::ending(Ended {
            final_status: envelope.final_status,
            effect: envelope.effect_state,
            code: envelope.error.as_ref().map(|error| error.error_code),
            message: envelope.error.as_ref().map(|error| error.message.clone()),
            stage,
        }));
        if let Err(stop) = self.journal.post().await {
            envelope.unrecorded = Some(stop.message);
        }
        self.journal.release().await;
        envelope
    }

    /// The answer of a call that waits for a person while its caller does not.
    async fn pending(mut self, question: haft_model::Question) -> Envelope {
        let came = Came { output: None, error: None, effect: EffectState::None };
        let held = self.hold(None);
        let mut envelope = self.envelope(came, held);
        let words = format!("{}; approve it with `haft approve {}`", question.summary, question.id);
        envelope.status = ResultStatus::Pending;
        envelope.final_status = Status::AwaitingApproval;
        envelope.model_facing_content = vec![Content::Text { text: words.clone() }];
        envelope.summary = words.clone();
        envelope.ui_facing_summary = render::line(&words);
        envelope.empty = false;
        envelope.approval_id = Some(question.id);
        if let Err(stop) = self.journal.post().await {
            envelope.unrecorded = Some(stop.message);
        }
        self.journal.release().await;
        envelope
    }
}

fn reason(strategy: &str, limit: usize) -> String {
    match strategy {
        "inline" => "it is short enough to be shown whole".to_owned(),
        "never_persist" => {
            format!(
                "only the first {limit} characters are shown, and the rest is not kept; ask for a part"
            )
        }
        "drop_with_reason" => {
            format!("only the first {limit} characters are shown, and the rest was dropped")
        }
        "ref_only" => "the contract wants it kept and not shown".to_owned(),
        _ => format!("it is longer than {limit} characters"),
    }
}
