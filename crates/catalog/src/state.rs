//! What is known of drivers and of this machine when a call is routed.

use std::collections::HashMap;

use haft_model::{DriverId, Timestamp, ToolKey};
use serde::{Deserialize, Serialize};

use crate::route::AvoidedDriver;

/// What is known of each driver; one that is not listed was never looked at.
pub type DriverStates = HashMap<DriverId, DriverState>;

/// What is known when a call is routed, beside the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// What is known of each driver, for whoever calls.
    pub states: DriverStates,
    /// The drivers that are not to be taken now.
    pub avoid: Vec<AvoidedDriver>,
}

/// What is known of one driver, for one actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriverState {
    /// Whether its backend is installed.
    pub installed: Probe,
    /// Whether the backend's version lies in the range.
    pub version: Probe,
    /// Whether the actor is logged in.
    pub auth: AuthState,
    /// What logs the actor in, where somebody has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<Mend>,
    /// Whether it worked when it was last tried.
    pub health: Health,
    /// Until when it is left alone because it failed again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<OpenBreaker>,
}

impl DriverState {
    /// The first reason why it cannot be used: for machines, and for people. A call that insists on
    /// it does not let it rest.
    pub fn objection(&self, pinned: bool) -> Option<(&'static str, String)> {
        if let Probe::Failed(mend) = &self.installed {
            return Some(("install", mend.why.clone()));
        }
        if let Probe::Failed(mend) = &self.version {
            return Some(("version", mend.why.clone()));
        }
        let login =
            |usual: &str| self.login.as_ref().map_or(usual.to_owned(), |mend| mend.why.clone());
        match self.auth {
            AuthState::LoggedOut => return Some(("auth", login("nobody is logged in"))),
            AuthState::Expired => return Some(("auth", "the login has run out".to_owned())),
            AuthState::NotLooked | AuthState::NotRequired | AuthState::LoggedIn => {}
        }
        if let Health::Failed(why) = &self.health {
            return Some(("health", format!("its health check failed lately: {why}")));
        }
        let rest = self.rest.as_ref().filter(|_| !pinned)?;
        Some(("rest", rest.reason()))
    }

    /// The command that takes the first obstacle out of the way.
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
    /// Why it is left alone, in words.
    pub fn reason(&self) -> String {
        let OpenBreaker { failures, until } = self;
        format!("it failed {failures} times in a row and rests until {until}")
    }
}

/// What stands in the way, and the command that takes it out of the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mend {
    /// What is wrong.
    pub why: String,
    /// What to run.
    pub run: String,
}

/// What has a circuit breaker of its own: one tool by one driver, at one host where the input of a
/// call chooses it. What fails there says nothing of other tools and hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Circuit {
    /// The driver.
    pub driver: DriverId,
    /// The tool that it carries out.
    pub tool: ToolKey,
    /// The host, where the input chooses it.
    pub host: Option<String>,
}

/// A circuit that is left alone for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBreaker {
    /// How often it failed in a row.
    pub failures: u32,
    /// Until when.
    pub until: Timestamp,
}

/// The answer to a question that was perhaps never asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Nobody looked; that is no reason to refuse.
    #[default]
    NotLooked,
    /// Yes.
    Passed,
    /// No, and why not.
    Failed(Mend),
}

/// Where a driver's login stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// Nobody looked.
    #[default]
    NotLooked,
    /// Nobody has to.
    NotRequired,
    /// Logged in.
    LoggedIn,
    /// Not logged in.
    LoggedOut,
    /// The login ran out.
    Expired,
}

/// How a driver's last health check ended. Whoever checks drops a failure when its time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nobody looked.
    #[default]
    NotLooked,
    /// It worked then.
    Passed(Timestamp),
    /// It failed lately, and why.
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
