//! Upstream MCP servers: prompts, resources and completions of the backends behind drivers.
//!
//! Each request to one of them is a call of its own, through every stage.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use haft_driver::{BoxFuture, UPSTREAM_REQUEST};
use haft_model::Envelope;
use haft_runtime::CallOptions;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, InputResponses, ServerResult};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::conversation::{Conversation, ConversationEnd};
use super::dispatch::Dispatcher;
use super::requester::Requester;
use super::suspended::SuspensionKey;
use super::{answer, flaws};

/// What a client brings back after an elicitation.
#[derive(Default)]
pub(super) struct UpstreamInputs {
    pub(super) answers: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// Outcome of an upstream request.
pub(super) enum UpstreamReply<T> {
    Complete(T),
    Asks(Box<ServerResult>),
}

impl Dispatcher {
    /// Drivers with more than tools, in id order.
    fn backends(&self) -> Vec<String> {
        let world = self.desk.world();
        let having = world.drivers.iter().filter(|(_, driver)| driver.backend().is_some());
        let mut ids: Vec<_> = having.map(|(id, _)| id.to_string()).collect();
        ids.sort_unstable();
        ids
    }

    /// What every backend lists, requested in parallel; one that cannot answer is left out.
    pub(super) async fn gather(
        &self,
        method: &str,
        field: &str,
        by: &Requester,
    ) -> Vec<(String, Value)> {
        let asking = self.backends().into_iter().map(|driver| -> BoxFuture<'_, _> {
            Box::pin(async move {
                let (params, brought) = (Value::Object(Map::new()), UpstreamInputs::default());
                let told = self.ask(&driver, method, params, brought, by).await;
                (driver, told)
            })
        });
        let told = join_all(asking.collect()).await;
        let mut found = Vec::new();
        for (driver, told) in told {
            let Ok(UpstreamReply::Complete(mut value)) = told else { continue };
            if let Some(Value::Array(items)) = value.get_mut(field).map(Value::take) {
                found.extend(items.into_iter().map(|item| (driver.clone(), item)));
            }
        }
        found
    }

    /// The first answer of a backend that knows the requested item.
    pub(super) async fn first<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        brought: UpstreamInputs,
        by: &Requester,
    ) -> Result<Option<UpstreamReply<T>>, ErrorData> {
        flaws::refuse(by.flaw.clone())?;
        let mut refusal = None;
        let mut brought = Some(brought);
        for (driver, params) in routes(self.backends(), params) {
            let brought = brought.take().unwrap_or_default();
            match Box::pin(self.ask(&driver, method, params, brought, by)).await {
                Ok(UpstreamReply::Complete(value)) => {
                    let read = serde_json::from_value(value).map_err(|fault| {
                        ErrorData::internal_error(format!("the backend's answer: {fault}"), None)
                    })?;
                    return Ok(Some(UpstreamReply::Complete(read)));
                }
                Ok(UpstreamReply::Asks(asks)) => return Ok(Some(UpstreamReply::Asks(asks))),
                Err(error) => refusal = Some(error),
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    /// One request to one backend.
    async fn ask(
        &self,
        driver: &str,
        method: &str,
        params: Value,
        brought: UpstreamInputs,
        by: &Requester,
    ) -> Result<UpstreamReply<Value>, ErrorData> {
        let bound = SuspensionKey::new(&by.actor, method, params.clone());
        let conversation = match &brought.state {
            Some(state) => {
                let mut conversation = self.desk.suspended.take(state, &bound)?;
                conversation.answer(brought.answers.unwrap_or_default());
                conversation
            }
            None => {
                let input = json!({ "driver": driver, "method": method, "params": params });
                let call = by.call(UPSTREAM_REQUEST.to_owned(), input);
                let manner = CallOptions { surface: by.scope(), ..CallOptions::default() };
                Conversation::begin(&self.desk, call, by.abilities(), manner)
            }
        };
        match self.desk.converse(conversation, Some(&bound), by).await? {
            ConversationEnd::Asks(asks) => Ok(UpstreamReply::Asks(asks)),
            ConversationEnd::Done(envelope) => value(*envelope).map(UpstreamReply::Complete),
            ConversationEnd::Left(left) => value(left.0).map(UpstreamReply::Complete),
        }
    }
}

/// Runs futures side by side in the task that awaits them, which takes the messages of each.
async fn join_all<T>(mut running: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut ended: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, end) in running.iter_mut().zip(&mut ended) {
            if end.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *end = Some(value);
            }
        }
        if ended.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}

/// The value of a successful call.
fn value(envelope: Envelope) -> Result<Value, ErrorData> {
    match (envelope.is_error, envelope.structured_content.clone()) {
        (false, Some(mut value)) => {
            if let Some(fields) = value.as_object_mut() {
                // An older backend does not say so; clients of older versions are not told.
                fields.entry("resultType").or_insert_with(|| json!("complete"));
            }
            Ok(value)
        }
        _ => Err(answer::native_error(&envelope).unwrap_or_else(|| {
            ErrorData::new(ErrorCode::INTERNAL_ERROR, envelope.summary.clone(), None)
        })),
    }
}

/// Backends that may know the requested item: the one whose driver prefixes the name, or any.
fn routes(backends: Vec<String>, params: Value) -> Vec<(String, Value)> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let named = backends.iter().find_map(|driver| {
        let own = name.strip_prefix(driver.as_str())?.strip_prefix('.')?;
        let mut params = params.clone();
        *params.get_mut("name")? = Value::String(own.to_owned());
        Some((driver.clone(), params))
    });
    let any = backends.iter().map(|driver| (driver.clone(), params.clone()));
    named.into_iter().chain(any).collect()
}

/// Unique names for items of several backends: their own, or prefixed with the driver where two are
/// equal.
pub(super) fn unique(found: Vec<(String, Value)>, field: &str) -> Vec<Value> {
    let name = |item: &Value| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, item) in &found {
        *count.entry(name(item).unwrap_or_default()).or_default() += 1;
    }
    let renamed = found.into_iter().map(|(driver, mut item)| {
        let own = name(&item).unwrap_or_default();
        let is_shared = count.get(&own).is_some_and(|count| *count > 1);
        if let Some(name) = item.get_mut(field).filter(|_| is_shared) {
            *name = Value::String(format!("{driver}.{own}"));
        }
        item
    });
    renamed.collect()
}
