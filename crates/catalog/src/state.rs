//! What is known of drivers and of this machine when a snapshot is made.

use std::collections::HashMap;

use haft_model::{DriverId, Timestamp};

/// What is known of each driver; one that is not listed was never looked at.
pub type DriverStates = HashMap<DriverId, DriverState>;

/// What is known of one driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverState {
    /// Whether its backend is installed.
    pub installed: Probe,
    /// Whether the backend's version lies in the range.
    pub version: Probe,
    /// Whether somebody is logged in.
    pub auth: AuthState,
    /// Whether it worked when it was last tried.
    pub health: Health,
}

/// The answer to a question that was perhaps never asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probe {
    /// Nobody looked; that is no reason to refuse.
    #[default]
    NotLooked,
    /// Yes.
    Passed,
    /// No.
    Failed,
}

/// Where a driver's login stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// Nobody looked.
    #[default]
    NotLooked,
    /// It worked then.
    Passed(Timestamp),
    /// It failed lately.
    Failed,
}

/// The machine and host that drivers run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `linux`, `darwin` or `windows`.
    pub os: &'static str,
    /// `x64`, `arm64`, `x86` or `arm`.
    pub arch: &'static str,
    /// The name builtins know this host by.
    pub id: &'static str,
}

impl Default for Host {
    /// The machine this was compiled for.
    fn default() -> Host {
        Host {
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
