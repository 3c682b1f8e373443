//! Elicitation: how a client is asked, by a server request or by a result that requires input.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_driver::{Abilities, Inquiry, InquiryKind};
use haft_model::{Actor, Code, Digest, Question, Reported, Stop};
use haft_runtime::Reply;
use rmcp::model::{
    ClientCapabilities, CustomResult, InputRequest, ProgressNotificationParam, ProgressToken,
    ServerResult,
};
use serde_json::{Map, Value, json};

use super::client_session::ClientSession;
use super::outbox::Outbox;

/// Timeout for a person to fill in an elicitation form.
const FORM: Duration = Duration::from_secs(10 * 60);

/// Field of the id that a page has up to 2025-11-25.
const ELICITATION_ID: &str = "elicitationId";

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

/// Requests inside a result that requires input, as the backend made them.
pub(super) type InputRequests = BTreeMap<String, Value>;

/// The inquiries as input requests inside a result of 2026-07-28, which gives a page no id.
pub(super) fn requests(asked: BTreeMap<String, Inquiry>) -> InputRequests {
    let request = |(name, mut inquiry): (String, Inquiry)| {
        if let Some(params) = inquiry.params.as_object_mut() {
            params.shift_remove(ELICITATION_ID);
        }
        (name, json!({ "method": method(inquiry.kind), "params": inquiry.params }))
    };
    asked.into_iter().map(request).collect()
}

/// The result that asks a client for input, with the state to resume with.
pub(super) fn input_required(asked: Option<InputRequests>, state: &str) -> ServerResult {
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!("input_required"));
    result.extend(asked.map(|asked| ("inputRequests".to_owned(), json!(asked))));
    result.insert("requestState".to_owned(), json!(state));
    ServerResult::CustomResult(CustomResult::new(Value::Object(result)))
}

/// The input request of a task; `None` where the library cannot carry it.
pub(super) fn task_request(mut request: Value) -> Option<InputRequest> {
    identify(request.get_mut("params")?);
    serde_json::from_value(request).ok()
}

/// Gives a page the id that versions up to 2025-11-25 require.
fn identify(params: &mut Value) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if params.get("mode").and_then(Value::as_str) != Some("url") {
        return;
    }
    let about = Digest::of(params);
    if let Some(fields) = params.as_object_mut() {
        let id = || json!(format!("{about}-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        fields.entry(ELICITATION_ID).or_insert_with(id);
    }
}

/// Asks a client of an older version, one request after the other, until `gone` resolves: then the
/// backend does not wait for the answers any more.
pub(super) async fn ask(
    session: &ClientSession,
    outbox: &Outbox,
    asked: BTreeMap<String, Inquiry>,
    gone: impl Future<Output = ()>,
) -> Result<BTreeMap<String, Value>, Stop> {
    let (mut answers, mut gone) = (BTreeMap::new(), std::pin::pin!(gone));
    for (name, mut inquiry) in asked {
        identify(&mut inquiry.params);
        let params = match inquiry.kind {
            InquiryKind::Roots => None,
            InquiryKind::Form | InquiryKind::Page | InquiryKind::Sample => Some(inquiry.params),
        };
        let sent = session.ask(outbox, method(inquiry.kind), params, gone.as_mut());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_an_id_where_its_version_has_one() {
        let params = json!({ "mode": "url", "message": "Log in", "url": "https://example.com/" });
        let inquiry = |params| Inquiry { kind: InquiryKind::Page, params };
        let mut older = params.clone();
        identify(&mut older);
        let id = older[ELICITATION_ID].as_str().unwrap().to_owned();
        let mut kept = older.clone();
        identify(&mut kept);
        assert_eq!(kept[ELICITATION_ID], id);
        let request = json!({ "method": "elicitation/create", "params": params });
        for params in [params.clone(), older] {
            let asked = requests([("page".to_owned(), inquiry(params))].into());
            assert_eq!(asked, [("page".to_owned(), request.clone())].into());
        }
        assert!(task_request(request).is_some());
    }
}
