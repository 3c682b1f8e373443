//! `execution_profile`: the capabilities of a tool's driver, unsupported ones included.

use haft_model::record::{ExecutionProfile, SCHEMA_VERSION};
use haft_model::{DriverKind, PersistMode};
use serde_json::{Map, Value as Json, json};

use super::super::Offer;
use super::{Ids, entry, native};

/// One profile.
pub(super) fn record(offer: &Offer<'_>) -> ExecutionProfile {
    let mut extra: Map<String, Json> = supports(offer)
        .into_iter()
        .map(|(name, supported)| (format!("supports_{name}"), json!(supported)))
        .collect();
    extra.insert("timeout_ms".to_owned(), json!(timeout_ms(offer)));
    extra.insert("sandboxed".to_owned(), json!(sandboxed(offer)));
    let mappings = native::mappings(offer);
    if !mappings.is_empty() {
        extra.insert("external_mappings".to_owned(), json!(mappings));
    }
    ExecutionProfile {
        schema_version: SCHEMA_VERSION.to_owned(),
        execution_profile_id: Ids::of(offer).execution,
        execution_kind: kind(offer).to_owned(),
        extra,
    }
}

fn kind(offer: &Offer<'_>) -> &'static str {
    match offer.driver.map(|driver| driver.kind) {
        Some(DriverKind::Builtin | DriverKind::Sdk) => "embedded_runtime",
        // No shell ever runs a program.
        Some(DriverKind::Cli) => "local_process",
        Some(DriverKind::Http) => "http_api",
        Some(DriverKind::Mcp) => "mcp_server",
        None => "x:unbound",
    }
}

/// What is supported; everything that is not is listed too.
fn supports(offer: &Offer<'_>) -> [(&'static str, bool); 13] {
    let contract = offer.contract;
    let persist = contract.tool.extras.persist;
    [
        ("progress", reports_progress(offer)),
        ("cancel", cancels(offer)),
        ("timeout", true),
        ("resume", false),
        ("retries", retries(offer)),
        ("partial_results", false),
        ("background", contract.tool.extras.background.is_some()),
        (
            "result_persistence",
            matches!(persist, Some(PersistMode::PreviewAndPersist | PersistMode::RefOnly)),
        ),
        ("artifacts", false),
        ("sandbox", sandboxed(offer)),
        ("credential_delegation", false),
        (
            "offline",
            contract.effects.facts.open_world == haft_model::Tri::No
                && contract.effects.requires.network.is_empty(),
        ),
        ("context_modifiers", false),
    ]
}

/// Whether the backend supports cancellation; only a stated capability counts.
pub(super) fn cancels(offer: &Offer<'_>) -> bool {
    offer.contract.tool.extras.supports_cancel == Some(true)
}

/// The shortest of all timeouts, in milliseconds.
pub(super) fn timeout_ms(offer: &Offer<'_>) -> u64 {
    let driver = offer.driver.and_then(|driver| driver.timeout_ms);
    let entry = entry(offer).and_then(|entry| entry.timeout_ms);
    let shorter = [driver, entry].into_iter().flatten();
    shorter.fold(offer.contract.tool.timeout_ms, u64::min)
}

fn reports_progress(offer: &Offer<'_>) -> bool {
    offer.driver.is_some_and(|driver| match driver.kind {
        DriverKind::Mcp => true,
        DriverKind::Builtin | DriverKind::Sdk | DriverKind::Http | DriverKind::Cli => false,
    })
}

fn retries(offer: &Offer<'_>) -> bool {
    let own = offer.contract.tool.retry.as_ref();
    let driver = offer.driver.and_then(|driver| driver.retry.as_ref());
    let stated = entry(offer).and_then(|entry| entry.retry.as_ref()).or(driver).or(own);
    stated.map_or(offer.contract.tool.idempotent, |retry| retry.max_attempts > 1)
}

fn sandboxed(offer: &Offer<'_>) -> bool {
    let manifest = offer.driver.and_then(|driver| driver.manifest().ok());
    manifest.is_some_and(|manifest| manifest.sandbox.is_some())
}
