//! Protocol version negotiation: finds out which era of MCP a server speaks, and remembers it per
//! driver.
//!
//! Up to 2025-11-25 a connection begins with a handshake; from 2026-07-28 on each request carries
//! version and capabilities itself. The client sends `server/discover` first, and falls back to
//! `initialize` where the server does not know it.

use std::sync::{Mutex, PoisonError};

use haft_model::{Code, Stop};
use rmcp::model::ProtocolVersion;

/// A protocol era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// With an `initialize` handshake, up to 2025-11-25.
    Legacy,
    /// Without a handshake, from 2026-07-28 on.
    Modern,
}

/// The era of a driver's server; `None` until the first connection.
#[derive(Debug, Default)]
pub(super) struct ServerEra(Mutex<Option<Era>>);

impl ServerEra {
    pub(super) fn get(&self) -> Option<Era> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn learn(&self, era: Option<Era>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = era;
    }
}

impl Era {
    pub(super) fn of(version: &ProtocolVersion) -> Era {
        if version.has_initialize() { Era::Legacy } else { Era::Modern }
    }
}

/// Which handshakes a client tries, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeOrder {
    Initialize,
    Discover,
    DiscoverThenInitialize,
    InitializeThenDiscover,
}

impl HandshakeOrder {
    /// The handshake for a program that exited during the first one; `None` where there is no other.
    pub(super) fn after_exit(self) -> Option<HandshakeOrder> {
        match self {
            HandshakeOrder::DiscoverThenInitialize => Some(HandshakeOrder::Initialize),
            HandshakeOrder::InitializeThenDiscover => Some(HandshakeOrder::Discover),
            HandshakeOrder::Initialize | HandshakeOrder::Discover => None,
        }
    }
}

/// The handshake for a server: of the era that is pinned or that its caller can follow, of the era
/// that it is known to speak, or discovery with fallback.
///
/// A tool that asks its client in the old way, during the call, fails in the era without sessions; a
/// server that speaks both is therefore spoken to in the era of the client that it may ask.
pub(super) fn handshake_order(
    known: Option<Era>,
    wanted: Option<&str>,
    in_session: bool,
) -> HandshakeOrder {
    // A handshake cannot negotiate a version that has no handshake.
    let old_enough = |wanted: &str| meets(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str(), wanted);
    match known {
        _ if wanted.is_some_and(|wanted| !old_enough(wanted)) => HandshakeOrder::Discover,
        Some(Era::Legacy) => HandshakeOrder::Initialize,
        _ if in_session || wanted.is_some_and(is_pin) => HandshakeOrder::InitializeThenDiscover,
        Some(Era::Modern) => HandshakeOrder::Discover,
        None => HandshakeOrder::DiscoverThenInitialize,
    }
}

/// Whether a version of a manifest is one of the protocol's, which pins its era, and not the
/// beginning of one.
fn is_pin(wanted: &str) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|version| version.as_str() == wanted)
}

/// Refuses a negotiated version that is older than the manifest's `protocol_version`.
pub(super) fn check(agreed: &str, wanted: Option<&str>, driver: &str) -> Result<(), Stop> {
    match wanted {
        Some(wanted) if !meets(agreed, wanted) => {
            let words = format!(
                "the server of driver `{driver}` speaks MCP {agreed}, and `protocol_version` wants {wanted}"
            );
            Err(Stop::new(Code::SetupRequired, words).help("take a newer server, or want less"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a version meets a minimum. Versions are dates, and a minimum may be a prefix of one.
fn meets(version: &str, wanted: &str) -> bool {
    version.get(..wanted.len()).unwrap_or(version) >= wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_beginning_and_a_minimum() {
        for (version, wanted, met) in [
            ("2025-03-26", "2025-03", true),
            ("2025-03-26", "2025-03-26", true),
            ("2025-06-18", "2025-03", true),
            ("2024-11-05", "2025-03", false),
            ("2025-11-25", "2026", false),
            ("2026-07-28", "2025", true),
            ("2025-11-25", "2025-11-25-draft", false),
        ] {
            assert_eq!(meets(version, wanted), met, "{version} {wanted}");
        }
    }

    #[test]
    fn what_has_no_handshake_is_not_greeted() {
        let order = |known, wanted| handshake_order(known, wanted, false);
        assert_eq!(order(None, Some("2026-07")), HandshakeOrder::Discover);
        assert_eq!(order(Some(Era::Modern), Some("2025-03")), HandshakeOrder::Discover);
        assert_eq!(order(Some(Era::Legacy), Some("2025-03")), HandshakeOrder::Initialize);
        assert_eq!(order(None, Some("2025-03")), HandshakeOrder::DiscoverThenInitialize);
    }

    #[test]
    fn handshake_follows_the_pin_and_the_client() {
        let (legacy_first, modern) =
            (HandshakeOrder::InitializeThenDiscover, HandshakeOrder::Discover);
        for (known, wanted, in_session, expected) in [
            (None, None, true, legacy_first),
            (Some(Era::Modern), None, true, legacy_first),
            (Some(Era::Modern), None, false, modern),
            (Some(Era::Modern), Some("2025-11-25"), false, legacy_first),
            (Some(Era::Legacy), Some("2025-11-25"), true, HandshakeOrder::Initialize),
            (None, Some("2026-07-28"), true, modern),
        ] {
            let order = handshake_order(known, wanted, in_session);
            assert_eq!(order, expected, "{known:?} {wanted:?} {in_session}");
        }
    }
}
