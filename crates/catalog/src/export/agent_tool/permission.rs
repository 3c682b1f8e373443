//! `permission_profile`: what a tool may touch, as facts and never as an outcome.

use std::collections::BTreeSet;

use haft_model::record::{PermissionProfile, SCHEMA_VERSION};
use haft_model::{ApprovalClass, DriverKind, EffectClass, MutationClass, Risk, Tri};
use serde_json::json;

use super::super::Offer;
use super::{Ids, said};

/// One profile.
pub(super) fn record(offer: &Offer<'_>) -> PermissionProfile {
    let effects = &offer.contract.effects;
    let extras = &offer.contract.tool.extras;
    let mut extra = said(json!({
        "access_kinds": access_kinds(offer),
        "credential_refs": credentials(offer),
        "policy_refs": effects.approval.policies,
        "data_sensitivity": extras.classification,
        "non_interactive": extras.non_interactive,
    }));
    extra.insert("write_effects".to_owned(), json!(write_effects(offer)));
    extra.insert("network_scope".to_owned(), json!(network_scope(offer)));
    extra.insert("approval_required".to_owned(), json!(approval_required(offer)));
    extra.insert("approval_reason".to_owned(), json!(format!("approval: {}", effects.approval)));
    let redacts = !extras.redact.is_empty() || !extras.sensitive.is_empty();
    extra.insert("redaction_required".to_owned(), json!(redacts));
    PermissionProfile {
        schema_version: SCHEMA_VERSION.to_owned(),
        permission_profile_id: Ids::of(offer).permission,
        risk_level: effects.risk.word().to_owned(),
        extra,
    }
}

fn access_kinds(offer: &Offer<'_>) -> BTreeSet<&'static str> {
    let effects = &offer.contract.effects;
    let changes = effects.mutates.iter().map(|entry| MutationClass::of(entry).access_kind());
    let mut kinds: BTreeSet<_> = changes.collect();
    let runs_program = offer.driver.is_some_and(|driver| driver.kind == DriverKind::Cli);
    let rest = [
        (!effects.requires.network.is_empty() || effects.facts.open_world != Tri::No, "network"),
        (!effects.requires.secrets.is_empty(), "credential"),
        (effects.classes.contains(&EffectClass::CodeExecution) || runs_program, "code_execution"),
    ];
    kinds.extend(rest.into_iter().filter(|(touches, _)| *touches).map(|(_, kind)| kind));
    kinds
}

/// What is written where. A tool that does not say is taken to change something far away.
fn write_effects(offer: &Offer<'_>) -> BTreeSet<&'static str> {
    let effects = &offer.contract.effects;
    if !effects.may_mutate() {
        return BTreeSet::from(["none"]);
    }
    let changes = effects.mutates.iter().map(|entry| MutationClass::of(entry).write_effect());
    let mut written: BTreeSet<_> = changes.collect();
    if written.is_empty() {
        written.insert("remote_mutation");
    }
    if effects.risk == Risk::IRREVERSIBLE || effects.facts.destructive == Tri::Yes {
        written.insert("irreversible");
    }
    written
}

/// `none`, `*`, or the hosts.
fn network_scope(offer: &Offer<'_>) -> String {
    let effects = &offer.contract.effects;
    let hosts = &effects.requires.network;
    if effects.facts.open_world != Tri::No || hosts.contains("*") {
        return "*".to_owned();
    }
    if hosts.is_empty() {
        return "none".to_owned();
    }
    hosts.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// Where credentials are kept; never what they are.
fn credentials<'a>(offer: &Offer<'a>) -> BTreeSet<&'a str> {
    let login = offer.driver.and_then(|driver| driver.auth.as_ref()?.reference.as_deref());
    let secrets = offer.contract.effects.requires.secrets.iter().map(String::as_str);
    secrets.chain(login).collect()
}

fn approval_required(offer: &Offer<'_>) -> bool {
    match offer.contract.effects.approval.class {
        ApprovalClass::Auto => false,
        ApprovalClass::OnMutate => offer.contract.effects.may_mutate(),
        ApprovalClass::Always => true,
    }
}
