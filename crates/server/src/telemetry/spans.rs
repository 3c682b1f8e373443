//! Span model: one ended call as a root span, and a child span for each part that took time.
//!
//! Span ids derive from the call's id, so that a backend that got the call's trace context finds
//! its span, and the same call is never exported as two.

use haft_ledger::{Attempt, Judgement, Story};
use haft_model::{
    CallPhase, Code, Digest, PhaseOutcome, Timestamp, ToolKey, Trace, Verdict, span_of,
};
use serde_json::Value;

use super::otlp::{AttributeValue, ErrorStatus, KeyValue, Span, SpanKind};

/// Redacted input and result of a call, for settings that ask for content.
#[derive(Default)]
pub(super) struct Content {
    pub(super) arguments: Option<String>,
    pub(super) result: Option<String>,
    pub(super) message: Option<String>,
}

/// Phases that make up each child span.
const PLAN: &[CallPhase] = &[
    CallPhase::ResolveTool,
    CallPhase::SchemaGate,
    CallPhase::ParseSchema,
    CallPhase::ValidateValues,
    CallPhase::PrepareObservableInput,
];
const FINISH: &[CallPhase] =
    &[CallPhase::MapResult, CallPhase::PersistResult, CallPhase::EmitTerminal];

/// Longest caller-supplied name, in characters.
const LONGEST_NAME: usize = 128;

/// The spans of an ended call, the root first; empty where its trace is not sampled.
pub(super) fn spans(story: &Story, content: Option<&Content>) -> Vec<Span> {
    let trace = Trace::among(&story.native);
    if trace.as_ref().is_some_and(|trace| !trace.is_sampled()) {
        return Vec::new();
    }
    let whole = whole(story, trace.as_ref(), content);
    let mut parts = Parts { story, whole, spans: Vec::new() };
    parts.phases("plan", PLAN);
    parts.phases("hooks before", &[CallPhase::PreHooks]);
    parts.approvals();
    parts.phases("queue", &[CallPhase::Schedule]);
    story.attempts.iter().for_each(|attempt| parts.attempt(attempt));
    parts.phases("hooks after", &[CallPhase::PostHooks]);
    parts.phases("finish", FINISH);
    let Parts { whole, mut spans, .. } = parts;
    spans.insert(0, whole);
    spans
}

fn whole(story: &Story, trace: Option<&Trace>, content: Option<&Content>) -> Span {
    let (tool, name) = match story.tool_id.strip_prefix("unresolved:") {
        // An unknown name is the caller's own text, of unbounded cardinality.
        Some(asked) => (cut(asked).to_owned(), "execute_tool".to_owned()),
        None => {
            let (id, _) = ToolKey::split(&story.tool_id);
            (id.to_owned(), format!("execute_tool {id}"))
        }
    };
    let id = story.invocation_id.as_str();
    let own = || id.trim_start_matches("inv_").to_owned();
    let trace_id = hex(&trace.map_or_else(own, |trace| trace.id.clone()), 16)
        .unwrap_or_else(|| hashed(&[id, "trace"]).to_be_bytes().to_vec());
    let span_id = span_of(&story.invocation_id).and_then(|span| hex(span, 8));
    Span {
        trace_id,
        span_id: span_id.unwrap_or_else(|| part_id(id, "whole", 0)),
        parent_span_id: trace.and_then(|trace| hex(&trace.parent, 8)).unwrap_or_default(),
        name,
        kind: SpanKind::Internal,
        start_time_unix_nano: nanos(story.created_at),
        end_time_unix_nano: nanos(story.ended_at.unwrap_or(story.created_at)),
        attributes: attributes(story, tool, content),
        status: status(story.error_code, content.and_then(|content| content.message.clone())),
    }
}

fn attributes(story: &Story, tool: String, content: Option<&Content>) -> Vec<KeyValue> {
    let id = story.invocation_id.to_string();
    let mut all = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", tool),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", story.native_call_id().map_or_else(|| id.clone(), cut_owned)),
        text("haft.invocation.id", id),
        text("haft.tool.id", cut(&story.tool_id)),
        text("haft.status", story.status.name()),
        text("haft.effect", story.effect_state.name()),
        text("haft.channel", story.channel.clone()),
    ];
    let mut maybe = |name, value: Option<String>| {
        all.extend(value.map(|value| text(name, value)));
    };
    maybe("error.type", story.error_code.map(|code| code.name().to_owned()));
    maybe("haft.tool.version", story.tool_version.clone());
    maybe("haft.tenant", story.actor.as_ref().map(|actor| actor.tenant.to_string()));
    maybe("haft.actor", story.actor.as_ref().map(|actor| actor.id.to_string()));
    maybe("haft.driver.id", story.driver.as_ref().map(|(driver, _)| driver.to_string()));
    maybe("haft.driver.version", story.driver.as_ref().and_then(|(_, version)| version.clone()));
    maybe("haft.parent", story.parent.as_ref().map(ToString::to_string));
    maybe("haft.compensates", story.compensates.as_ref().map(ToString::to_string));
    if let Some(judgement) = story.decisions.last() {
        let id = story.invocation_id.numbered("dec", story.decisions.len());
        maybe("haft.decision.id", Some(id));
        maybe("haft.decision.verdict", Some(verdict(judgement).to_owned()));
    }
    if story.channel == "mcp" {
        maybe("mcp.method.name", Some("tools/call".to_owned()));
        maybe("jsonrpc.request.id", request_id(story));
    }
    maybe("gen_ai.tool.call.arguments", content.and_then(|content| content.arguments.clone()));
    maybe("gen_ai.tool.call.result", content.and_then(|content| content.result.clone()));
    all
}

fn verdict(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Asked(..) => "ask",
        Judgement::Settled(decided) => match decided.decision.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        },
    }
}

fn request_id(story: &Story) -> Option<String> {
    match story.native.iter().find_map(|one| one.get("jsonrpc_request_id"))? {
        Value::String(id) => Some(cut_owned(id)),
        id => Some(id.to_string()),
    }
}

/// The child spans of one call.
struct Parts<'s> {
    story: &'s Story,
    whole: Span,
    spans: Vec<Span>,
}

impl Parts<'_> {
    fn add(&mut self, name: String, from: Timestamp, to: Timestamp, attributes: Vec<KeyValue>) {
        let id = part_id(self.story.invocation_id.as_str(), &name, self.spans.len());
        // Phases use another clock than the root, and a busy thread may wait between the two.
        let (first, last) = (self.whole.start_time_unix_nano, self.whole.end_time_unix_nano);
        let within = |at: Timestamp| nanos(at).min(last).max(first);
        self.spans.push(Span {
            trace_id: self.whole.trace_id.clone(),
            span_id: id,
            parent_span_id: self.whole.span_id.clone(),
            name,
            kind: SpanKind::Internal,
            start_time_unix_nano: within(from),
            end_time_unix_nano: within(to.max(from)),
            attributes,
            status: None,
        });
    }

    /// One span over the given phases.
    fn phases(&mut self, name: &str, phases: &[CallPhase]) {
        let gone = |phase: &&haft_ledger::PhaseSpan| {
            phases.contains(&phase.line.phase) && phase.line.outcome != PhaseOutcome::Skipped
        };
        let gone: Vec<_> = self.story.phases.iter().filter(gone).collect();
        let from = gone.iter().map(|phase| phase.started_at).min();
        let to = gone.iter().map(|phase| phase.ended_at).max();
        let Some((from, to)) = from.zip(to) else { return };
        self.add(name.to_owned(), from, to, Vec::new());
        let failed = gone.iter().any(|phase| phase.line.outcome == PhaseOutcome::Failed);
        self.ended(self.story.error_code.filter(|_| failed));
    }

    /// A span for each wait for approval.
    fn approvals(&mut self) {
        let next = self.story.transitions.iter().skip(1).map(|next| next.at);
        let next = next.chain(self.story.ended_at);
        let waits = self.story.transitions.iter().zip(next);
        let waits = waits.filter(|(at, _)| at.status.waits_for_people());
        for ((began, until), asked) in waits.zip(&self.story.questions) {
            let about = vec![
                text("haft.approval.id", asked.question.id.to_string()),
                text("haft.approval.state", asked.state.name()),
            ];
            self.add("approval".to_owned(), began.at, until, about);
        }
    }

    fn attempt(&mut self, attempt: &Attempt) {
        let to = attempt.ended_at.or(self.story.ended_at).unwrap_or(attempt.started_at);
        let mut about = vec![
            text("haft.driver.id", attempt.driver.to_string()),
            number("haft.attempt.number", attempt.number.into()),
        ];
        about.extend(attempt.effect.map(|effect| text("haft.effect", effect.name())));
        let name = format!("attempt {}", attempt.driver);
        self.add(name, attempt.started_at, to, about);
        if let Some(span) = self.spans.last_mut() {
            span.kind = SpanKind::Client;
        }
        self.ended(attempt.code);
    }

    /// Sets the status of the last span.
    fn ended(&mut self, code: Option<Code>) {
        if let (Some(span), Some(code)) = (self.spans.last_mut(), code) {
            span.attributes.push(text("error.type", code.name()));
            span.status = status(Some(code), None);
        }
    }
}

/// Success is left unset, as the conventions want it. An error message may repeat an input, so it
/// is included only where content is.
fn status(code: Option<Code>, message: Option<String>) -> Option<ErrorStatus> {
    let code = code?;
    Some(ErrorStatus { message: message.unwrap_or_else(|| code.name().to_owned()) })
}

pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue { key: key.to_owned(), value: AttributeValue::Text(value.into()) }
}

fn number(key: &str, value: i64) -> KeyValue {
    KeyValue { key: key.to_owned(), value: AttributeValue::Integer(value) }
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or_default()
}

fn hex(text: &str, bytes: usize) -> Option<Vec<u8>> {
    let fits = text.len() == bytes * 2 && text.is_ascii();
    let pairs = (0..bytes).map(|at| text.get(at * 2..at * 2 + 2));
    let read = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    fits.then(|| read.collect::<Option<Vec<u8>>>())?.filter(|id| id.iter().any(|byte| *byte != 0))
}

fn part_id(call: &str, name: &str, index: usize) -> Vec<u8> {
    let hashed = hashed(&[call, name, &index.to_string()]);
    ((hashed as u64).max(1)).to_be_bytes().to_vec()
}

fn hashed(parts: &[&str]) -> u128 {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    Digest::of_parts(&parts).half().unwrap_or_default().max(1)
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(LONGEST_NAME).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}

fn cut_owned(text: &str) -> String {
    cut(text).to_owned()
}
