//! Unresolved references of an operation: those without which its request would be another.

use serde_json::Value;

use super::document::Document;
use super::operation::Operation;
use crate::schema::reference;

/// A reference to a parameter or to the body that leads nowhere. Without it the operation would send
/// something else than its document says.
pub(super) fn in_request<'d>(
    document: &Document<'d>,
    operation: &Operation<'d>,
) -> Option<&'d str> {
    let holders = [operation.raw, operation.item].into_iter();
    let parameters = holders.filter_map(|holder| holder.get("parameters")?.as_array()).flatten();
    let body = operation.raw.get("requestBody");
    parameters.chain(body).find(|part| document.resolved(part).is_none()).and_then(reference)
}

/// The references of its answers that lead nowhere.
pub(super) fn in_answers<'d>(document: &Document<'d>, operation: &Operation<'d>) -> Vec<&'d str> {
    let answers = operation.raw.get("responses").and_then(Value::as_object).into_iter().flatten();
    let answers = answers.map(|(_, answer)| answer);
    answers.filter(|answer| document.resolved(answer).is_none()).filter_map(reference).collect()
}
