//! Idempotency key of a call: taken from the caller or the contract, and bound to actor, tenant,
//! resource, operation and input.

use haft_catalog::CatalogEntry;
use haft_model::{
    Call, Code, Digest, FrozenInput, IdempotencyMode, Intent, InvocationId, KeySource, Span, Stop,
    Timestamp, after,
};
use haft_notation::fill;
use serde_json::{Value, json};

/// Default retention of a key, in hours and minutes.
const TTL: (i64, i64) = (24, 0);
/// Default window in which equal calls without a key are one intent, in hours and minutes.
const WINDOW: (i64, i64) = (0, 10);

/// Idempotency identity of a call; `None` for reads, compensations and tools that opt out.
pub(super) fn identify(
    call: &Call,
    entry: &CatalogEntry,
    input: &FrozenInput,
    id: &InvocationId,
    now: Timestamp,
) -> Result<Option<Intent>, Stop> {
    // Compensation has a rule of its own: one at a time, and never twice.
    if !entry.contract.effects.may_mutate() || call.compensates.is_some() {
        return Ok(None);
    }
    let extras = &entry.contract.tool.extras;
    let spec = extras.idempotency.as_ref();
    let scope = || json!({ "input": **input, "context": call.context });
    let mode = spec.and_then(|spec| spec.mode);
    let (source, key) = match (&call.key, spec.and_then(|spec| spec.key.as_ref()), mode) {
        (Some(key), _, _) => (KeySource::Caller, key.clone()),
        (None, Some(template), _) => (KeySource::Contract, rendered("key", template, &scope())?),
        (None, None, Some(IdempotencyMode::Required)) => return Err(keyless(entry)),
        (None, None, Some(IdempotencyMode::None | IdempotencyMode::Natural)) => return Ok(None),
        (None, None, Some(IdempotencyMode::Optional) | None) => (KeySource::Intent, String::new()),
    };
    if source != KeySource::Intent && key.trim().is_empty() {
        return Err(Stop::new(Code::InputValue, "the idempotency key is empty")
            .help("leave it out, or give one that says which calls are the same"));
    }
    let resource = match &extras.resource {
        Some(template) => rendered("resource", template, &scope())?,
        None => String::new(),
    };
    let operation = entry.contract.key().to_string();
    let (actor, tenant) = (call.actor.id.as_str(), &*call.actor.tenant);
    let binding = Digest::of_parts(&[
        actor.as_bytes(),
        tenant.as_bytes(),
        resource.as_bytes(),
        operation.as_bytes(),
        input.canonical(),
    ]);
    let own = |parts: [&str; 3]| {
        let [kind, rest, last] = parts.map(str::as_bytes);
        Digest::of_parts(&[kind, tenant.as_bytes(), actor.as_bytes(), rest, last])
    };
    let twin = call.batch.as_ref().map_or(0, |place| place.twin).to_string();
    let intent = match source {
        KeySource::Caller => own(["caller", "", &key]),
        KeySource::Contract => own(["contract", &operation, &key]),
        KeySource::Intent => own(["intent", binding.as_str(), &twin]),
    };
    let known_by = match source {
        // Two equal calls whose results were both delivered are two intents at the backend too.
        KeySource::Intent => backend_key(&[binding.as_str(), id.as_str()]),
        KeySource::Caller | KeySource::Contract => backend_key(&[binding.as_str(), &key]),
    };
    let (lasts, usual) = match source {
        KeySource::Intent => (spec.and_then(|spec| spec.window), WINDOW),
        KeySource::Caller | KeySource::Contract => (spec.and_then(|spec| spec.ttl), TTL),
    };
    let lasts = lasts.unwrap_or_else(|| Span::new().hours(usual.0).minutes(usual.1));
    let until = after(now, lasts).unwrap_or(Timestamp::MAX);
    Ok(Some(Intent { intent, binding, key: known_by, source, until }))
}

/// The idempotency key for the backend: derived, so that keys of two actors never collide, and
/// formatted as a UUID, which every backend accepts.
pub(crate) fn backend_key(parts: &[&str]) -> String {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let bytes = Digest::of_parts(&parts).half().unwrap_or_default().to_be_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid().hyphenated().to_string()
}

fn rendered(what: &str, template: &str, scope: &Value) -> Result<String, Stop> {
    match fill(&Value::String(template.to_owned()), scope) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Null) => Err(unnamed(what, template, "it gives nothing for this input")),
        Ok(value) => Ok(value.to_string()),
        Err(fault) => Err(unnamed(what, template, &fault.to_string())),
    }
}

fn unnamed(what: &str, template: &str, why: &str) -> Stop {
    let words = format!("the idempotency {what} `{template}` cannot be made: {why}");
    Stop::new(Code::InputValue, words).help("give what it needs, or a key of your own")
}

fn keyless(entry: &CatalogEntry) -> Stop {
    let words = format!("`{}` is not called without an idempotency key", entry.contract.key());
    Stop::new(Code::InputValue, words).help(
        "give a key that is the same whenever you mean the same: `--key`, or `Call::key` in code",
    )
}
