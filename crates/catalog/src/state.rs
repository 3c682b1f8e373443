//! Driver state: readiness, health, login and circuit breaker of each driver when a call is routed.

use std::collections::HashMap;

use haft_model::{AuthState, DriverId, RejectionReason, Timestamp, ToolKey};
use serde::{Deserialize, Serialize};

use crate::route::AvoidedDriver;

/// The state of each driver; a driver that is not listed was never probed.
pub type DriverStates = HashMap<DriverId, DriverState>;

/// The inputs of routing beside the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The state of each driver, for the caller.
    pub states: DriverStates,
    /// Drivers that routing skips now.
    pub avoid: Vec<AvoidedDriver>,
}

/// The state of one driver, for one actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriverState {
    /// Whether its backend is installed.
    pub installed: Probe,
    /// Whether the backend's version lies in the range.
    pub version: Probe,
    /// Whether the actor is logged in.
    pub auth: AuthState,
    /// The command that logs the actor in, where a login is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<Mend>,
    /// The result of the last health check.
    pub health: Health,
    /// The open circuit breaker, where the driver failed again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<OpenBreaker>,
}

impl DriverState {
    /// The first reason why it cannot be used: for machines, and for people. A call that pins the
    /// driver ignores an open circuit breaker.
    pub fn objection(&self, pinned: bool) -> Option<(RejectionReason, String)> {
        if let Probe::Failed(mend) = &self.installed {
            return Some((RejectionReason::Install, mend.why.clone()));
        }
        if let Probe::Failed(mend) = &self.version {
            return Some((RejectionReason::Version, mend.why.clone()));
        }
        let login =
            |usual: &str| self.login.as_ref().map_or(usual.to_owned(), |mend| mend.why.clone());
        match self.auth {
            AuthState::LoggedOut => {
                return Some((RejectionReason::Auth, login("the caller is not logged in")));
            }
            AuthState::Expired => {
                return Some((RejectionReason::Auth, "the login has run out".to_owned()));
            }
            AuthState::NotLooked | AuthState::NotRequired | AuthState::LoggedIn => {}
        }
        if let Health::Failed(why) = &self.health {
            return Some((
                RejectionReason::Health,
                format!("its health check failed lately: {why}"),
            ));
        }
        let rest = self.rest.as_ref().filter(|_| !pinned)?;
        Some((RejectionReason::Rest, rest.reason()))
    }

    /// The command that removes the first obstacle.
    pub fn mend(&self) -> Option<&str> {
        match (&self.installed, &self.version, self.auth) {
            (Probe::Failed(mend), _, _) | (_, Probe::Failed(mend), _) => Some(&mend.run),
            (_, _, AuthState::LoggedOut | AuthState::Expired) => {
                self.login.as_ref().map(|mend| mend.run.as_str())
            }
            (_, _, AuthState::NotLooked | AuthState::NotRequired | AuthState::LoggedIn) => None,
        }
    }
}

impl OpenBreaker {
    /// Why the breaker is open, in words.
    pub fn reason(&self) -> String {
        let OpenBreaker { failures, until } = self;
        format!("it failed {failures} times in a row and rests until {until}")
    }
}

/// An obstacle, and the command that removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mend {
    /// The obstacle, as a sentence.
    pub why: String,
    /// The command to run.
    pub run: String,
}

/// The scope of a circuit breaker: one tool by one driver, at one host where the input of a call
/// chooses it. A failure there says nothing of other tools and hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Circuit {
    /// The driver that serves the tool.
    pub driver: DriverId,
    /// The tool that the driver serves.
    pub tool: ToolKey,
    /// The host, where the input chooses it.
    pub host: Option<String>,
}

/// A circuit breaker that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBreaker {
    /// Failures in a row.
    pub failures: u32,
    /// When the circuit becomes half-open.
    pub until: Timestamp,
}

/// The result of a probe that may not have run yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Not probed yet; that is no reason to refuse.
    #[default]
    NotLooked,
    /// The probe passed.
    Passed,
    /// The probe failed, with the obstacle and its remedy.
    Failed(Mend),
}

/// How a driver's last health check ended. The checker drops a failure when it expires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Not probed yet.
    #[default]
    NotLooked,
    /// The check passed at this time.
    Passed(Timestamp),
    /// The last check failed, with the reason.
    Failed(String),
}

/// The machine and host that drivers run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverHost {
    /// `linux`, `darwin` or `windows`.
    pub os: &'static str,
    /// `x64`, `arm64`, `x86` or `arm`.
    pub arch: &'static str,
    /// The name builtins know this host by.
    pub id: &'static str,
}

impl Default for DriverHost {
    /// The machine this was compiled for.
    fn default() -> DriverHost {
        DriverHost {
            os: match std::env::consts::OS {
                "macos" => "darwin",
                other => other,
            },
            arch: match std::env::consts::ARCH {
                "x86_64" => "x64",
                "aarch64" => "arm64",
                other => other,
            },
            id: "haft",
        }
    }
}
