//! `health_check` block of a driver: its shape, and the typed value that probes read.

use serde::Deserialize;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Formed, Integer, Map, Word};
use crate::shape::form::{DURATION, FILLED, URL};
use crate::shape::{Shape, optional, required};

pub(super) static HEALTH: Shape = Shape {
    title: "`health_check`",
    strangers: Refused(""),
    fields: &[
        required("method", "", Word(&["ping", "exec", "http", "noop"]), "How to look."),
        optional("cmd", "", Formed(&FILLED), "The command to run."),
        optional("http", "", Map(&HTTP_PROBE), "The request to send."),
        optional("expect_exit", "", Integer(0, 255), "What the command must exit with."),
        optional("every", "", Formed(&DURATION), "How long an answer holds."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long it may take.").or("5000"),
    ],
    moved: &[],
};

pub(super) static HTTP_PROBE: Shape = Shape {
    title: "`http`",
    strangers: Refused(""),
    fields: &[
        optional("method", "", Word(&["GET", "POST", "HEAD"]), "How to ask."),
        required("url", "", Formed(&URL), "Where."),
        optional("expect_status", "", Integer(100, 599), "What it must answer."),
    ],
    moved: &[],
};

/// How to see whether a backend works.
#[derive(Clone, Debug, Deserialize)]
pub struct HealthCheck {
    /// The kind of probe.
    pub method: HealthMethod,
    /// The command of an `exec` probe.
    pub cmd: Option<String>,
    /// The request of an `http` probe.
    pub http: Option<HttpProbe>,
    /// The exit code of the command that means healthy; 0 by default.
    pub expect_exit: Option<i32>,
    /// How long a result is valid, as a duration text.
    pub every: Option<String>,
    /// Timeout of the probe in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// The kind of a health probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthMethod {
    /// Whether the driver's host answers at all.
    Ping,
    /// A command and its exit code.
    Exec,
    /// A request and its status.
    Http,
    /// The backend counts as healthy.
    Noop,
}

/// A request whose status is a yes or a no.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HttpProbe {
    /// The method; GET by default.
    pub method: Option<String>,
    /// The URL.
    pub url: String,
    /// The status that means yes; any success status if absent.
    pub expect_status: Option<u16>,
}
