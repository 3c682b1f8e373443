//! What stands behind a driver beside its tools: prompts, resources, completions.

use haft_model::{Code, EffectState, Stop};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::{Attempt, BoxFuture, Failure, Output};

/// The contract by which everything beside tools is asked for.
pub const UPSTREAM_REQUEST: &str = "upstream.request";

/// What changed at a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendNews {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its list of resources.
    Resources,
    /// One resource.
    Resource(String),
}

/// One request to a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendRequest {
    /// Which driver stands before it.
    pub driver: String,
    /// What is asked, as its protocol calls it: `prompts/get`, `resources/read` …
    pub method: String,
    /// With what.
    pub params: Value,
}

impl BackendRequest {
    /// The request that an attempt at [`UPSTREAM_REQUEST`] means.
    pub fn of(attempt: &Attempt<'_>) -> Result<BackendRequest, Failure> {
        let text = |name: &str| attempt.input.get(name).and_then(Value::as_str).map(str::to_owned);
        match (text("driver"), text("method")) {
            (Some(driver), Some(method)) => {
                let params = attempt.input.get("params").cloned().unwrap_or_default();
                Ok(BackendRequest { driver, method, params })
            }
            _ => {
                let stop = Stop::new(Code::InputValue, "a request names a driver and a method");
                Err(Failure::new(stop, EffectState::None))
            }
        }
    }
}

/// What stands behind a driver beside its tools. Each request is a call of its own, with a permit.
pub trait Backend: Send + Sync {
    /// Carries one request out. Nothing of what is asked here changes anything.
    fn request<'a>(
        &'a self,
        attempt: Attempt<'a>,
        request: BackendRequest,
    ) -> BoxFuture<'a, Result<Output, Failure>>;

    /// Tells from now on what changes, where anybody can tell.
    fn news(&self) -> Option<broadcast::Receiver<BackendNews>> {
        None
    }
}
