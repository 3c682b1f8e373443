//! Elicitation: how a client is asked, by a server request or by a result that requires input.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use haft_driver::{Abilities, Inquiry, InquiryKind};
use haft_model::{Actor, Code, Question, Reported, Stop};
use haft_runtime::Reply;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, ProgressNotificationParam, ProgressToken,
};
use serde_json::{Value, json};

use super::client_session::ClientSession;
use super::outbox::Outbox;

/// Timeout for a person to fill in an elicitation form.
const FORM: Duration = Duration::from_secs(10 * 60);

/// The client's capabilities, as drivers see them.
pub(super) fn abilities(told: &ClientCapabilities) -> Abilities {
    let kinds = kinds(told);
    let told = serde_json::to_value(told).unwrap_or_default();
    Abilities { kinds, told, ..Abilities::default() }
}

/// The kinds of question that a client answers.
pub(super) fn kinds(told: &ClientCapabilities) -> BTreeSet<InquiryKind> {
    let mut kinds = BTreeSet::new();
    if let Some(elicitation) = &told.elicitation {
        // Before URL elicitation existed, an empty capability meant forms.
        if elicitation.form.is_some() || elicitation.url.is_none() {
            kinds.insert(InquiryKind::Form);
        }
        if elicitation.url.is_some() {
            kinds.insert(InquiryKind::Page);
        }
    }
    if told.sampling.is_some() {
        kinds.insert(InquiryKind::Sample);
    }
    if told.roots.is_some() {
        kinds.insert(InquiryKind::Roots);
    }
    kinds
}

fn method(kind: InquiryKind) -> &'static str {
    match kind {
        InquiryKind::Form | InquiryKind::Page => "elicitation/create",
        InquiryKind::Sample => "sampling/createMessage",
        InquiryKind::Roots => "roots/list",
    }
}

/// The inquiries as input requests inside a result.
pub(super) fn requests(asked: BTreeMap<String, Inquiry>) -> InputRequests {
    let mut requests = InputRequests::new();
    for (name, inquiry) in asked {
        let request = json!({ "method": method(inquiry.kind), "params": inquiry.params });
        // A request that our own client would not parse is not sent to another.
        if let Ok(request) = serde_json::from_value::<InputRequest>(request) {
            requests.insert(name, request);
        }
    }
    requests
}

/// Asks a client of an older version, one request after the other.
pub(super) async fn ask(
    session: &ClientSession,
    outbox: &Outbox,
    asked: BTreeMap<String, Inquiry>,
) -> Result<BTreeMap<String, Value>, Stop> {
    let mut answers = BTreeMap::new();
    for (name, inquiry) in asked {
        let params = match inquiry.kind {
            InquiryKind::Roots => None,
            InquiryKind::Form | InquiryKind::Page | InquiryKind::Sample => Some(inquiry.params),
        };
        let sent = session.ask(outbox, method(inquiry.kind), params);
        let unanswered = |why: String| Stop::new(Code::ApprovalRequired, why);
        let answer = tokio::time::timeout(FORM, sent)
            .await
            .map_err(|_| unanswered("the caller did not answer in time".to_owned()))?
            .map_err(|fault| unanswered(format!("the caller did not answer: {fault}")))?;
        answers.insert(name, answer);
    }
    Ok(answers)
}

/// A progress notification for a progress token.
pub(super) fn progressed(token: ProgressToken, reported: &Reported) -> ProgressNotificationParam {
    let said = &reported.progress;
    let (done, total) = match (said.percent, said.step_index, said.total_steps) {
        (Some(percent), _, _) => (percent, Some(100.0)),
        (None, Some(step), Some(steps)) => (step as f64, Some(steps as f64)),
        _ => (reported.sequence as f64, None),
    };
    let mut params = ProgressNotificationParam::new(token, done);
    params.total = total;
    params.message = said.message.clone().or_else(|| said.current_step.clone());
    params
}

/// An approval question as an elicitation form.
pub(super) struct ApprovalForm<'a>(&'a Question);

/// Name of the one inquiry of a form.
const ANSWER: &str = "approval";

impl<'a> ApprovalForm<'a> {
    pub(super) fn of(question: &'a Question) -> ApprovalForm<'a> {
        ApprovalForm(question)
    }

    pub(super) fn inquiry(&self) -> BTreeMap<String, Inquiry> {
        let shown = serde_json::to_string_pretty(&self.0.shown_input).unwrap_or_default();
        let params = json!({
            "mode": "form",
            "message": format!("{}\n\n{shown}", self.0.summary),
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "approve": { "type": "boolean", "title": "Approve this call" },
                    "reason": { "type": "string", "title": "Why" },
                },
                "required": ["approve"],
            },
        });
        BTreeMap::from([(ANSWER.to_owned(), Inquiry { kind: InquiryKind::Form, params })])
    }

    /// The person's answer; `None` where they closed the form, which leaves the question to the
    /// inbox.
    pub(super) fn reply(&self, answers: BTreeMap<String, Value>, by: Actor) -> Option<Reply> {
        let answer = answers.get(ANSWER)?;
        let said = |name: &str| answer.pointer(&format!("/content/{name}"));
        let action = answer.get("action").and_then(Value::as_str)?;
        let approves = match action {
            "accept" => said("approve").and_then(Value::as_bool)?,
            "decline" => false,
            _ => return None,
        };
        let reason = said("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
        let reason = reason.map(str::to_owned);
        let reason = reason.or_else(|| (!approves).then(|| "declined in the client".to_owned()));
        let channel = "mcp".to_owned();
        let (edited_input, content) = (None, None);
        Some(Reply { by, approves, reason, edited_input, content, always: false, channel })
    }
}
