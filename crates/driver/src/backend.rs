//! Backend capabilities beside tools: prompts, resources and completions.

use haft_model::{Code, EffectState, Stop};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::{Attempt, BoxFuture, Failure, Output};

/// Contract for every backend request that is no tool call.
pub const UPSTREAM_REQUEST: &str = "upstream.request";

/// Change notification from a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendNews {
    /// Its list of tools changed.
    Tools,
    /// Its list of prompts changed.
    Prompts,
    /// Its list of resources changed.
    Resources,
    /// The resource with this URI changed.
    Resource(String),
}

/// One request to a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendRequest {
    /// Id of the driver in front of the backend.
    pub driver: String,
    /// Protocol method: `prompts/get`, `resources/read` and so on.
    pub method: String,
    /// Parameters of the method.
    pub params: Value,
}

impl BackendRequest {
    /// Reads the request from an attempt at [`UPSTREAM_REQUEST`].
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

/// A backend's capabilities beside tools. Each request is a call of its own, with a permit.
pub trait Backend: Send + Sync {
    /// Sends one request; these requests are read-only.
    fn request<'a>(
        &'a self,
        attempt: Attempt<'a>,
        request: BackendRequest,
    ) -> BoxFuture<'a, Result<Output, Failure>>;

    /// Subscribes to change notifications; `None` if the backend sends none.
    fn news(&self) -> Option<broadcast::Receiver<BackendNews>> {
        None
    }
}
