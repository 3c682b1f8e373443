//! Secrets lint: rules across the entries of an inventory; no entry may hold a value.

use std::collections::BTreeSet;

use crate::diagnostic::suggestion;
use crate::read::{items, text};
use crate::shape::check as check_shape;
use crate::shape::documents::secrets::{BACKEND, EXPOSURES, GRANTEE, NO_VALUES, VALUES};
use crate::source::{Node, Value};
use crate::{Report, rules};

/// Checks each entry, and the entries against each other.
pub(super) fn check(node: &Node, report: &mut Report) {
    let mut slugs = BTreeSet::new();
    for entry in items(node, "secrets") {
        // The entry's own fields are in the table.
        entry.entries().iter().for_each(|field| no_values(&field.value, report));
        spelling(entry, &mut slugs, report);
        vault(entry, report);
        access(entry, report);
        items(entry, "exposures").iter().for_each(|one| exposure(one, report));
    }
}

/// No map below may have a field that holds a value. The message names the field, never what it holds.
fn no_values(node: &Node, report: &mut Report) {
    for entry in node.entries() {
        if VALUES.contains(&&*entry.key) {
            report
                .add(
                    &rules::S040,
                    entry.key_span.clone(),
                    format!("`{}` does not belong in a secret", entry.key),
                )
                .help(NO_VALUES);
        }
        no_values(&entry.value, report);
    }
    node.items().iter().for_each(|item| no_values(item, report));
}

fn spelling<'n>(entry: &'n Node, slugs: &mut BTreeSet<&'n str>, report: &mut Report) {
    let Some(slug) = text(entry, "slug") else { return };
    if slug.contains("--") {
        report.add(
            &rules::S042,
            entry.place(&["slug"]),
            format!("`{slug}` has two dashes in a row"),
        );
    }
    if !slugs.insert(slug) {
        report.add(&rules::S041, entry.place(&["slug"]), format!("`{slug}` is listed twice"));
    }
}

fn vault(entry: &Node, report: &mut Report) {
    if let Some(backend) = entry.entry("backend")
        && backend.value.text().is_some_and(|address| BACKEND.fault(address).is_none())
    {
        report
            .add(
                &rules::S047,
                backend.key_span.clone(),
                "the manifest tells its readers which vault is used",
            )
            .help("leave `backend` out unless it was reviewed; the host finds it by the slug");
    }
}

fn access(entry: &Node, report: &mut Report) {
    let grantees = |key| entry.get("access").map(|access| items(access, key)).unwrap_or_default();
    let all = ["reveal", "bind", "rotate"].into_iter().flat_map(grantees);
    all.for_each(|one| grantee(one, report));
    if let Some(slug) = text(entry, "slug")
        && is_closed(entry)
    {
        report
            .add(&rules::S046, entry.place(&["slug"]), format!("no access entry grants `{slug}`"))
            .help("say who, under `access.bind` or `access.reveal`");
    }
}

/// Whether an entry grants its secret to no one. Grants that could not be read were refused.
fn is_closed(entry: &Node) -> bool {
    let Some(access) = entry.get("access") else { return true };
    let uses = ["reveal", "bind"].map(|key| access.get(key));
    let is_list = |list: &&Node| matches!(list.value, Value::List(_));
    let readable = matches!(access.value, Value::Map(_)) && uses.iter().flatten().all(is_list);
    let mut users = uses.into_iter().flatten().flat_map(Node::items);
    readable && users.all(|one| matches!(one.value, Value::Map(_)) && super::grantee(one).is_none())
}

fn grantee(node: &Node, report: &mut Report) {
    // The table has said that an entry is a map.
    if !matches!(node.value, Value::Map(_)) {
        return;
    }
    check_shape(node, &GRANTEE, "S007", report);
    let known = |key: &str| GRANTEE.field(key).is_some();
    let stated = node.entries().iter().filter(|entry| known(&entry.key)).count();
    match node.entries().iter().find(|entry| !known(&entry.key)) {
        Some(stranger) => {
            let names = GRANTEE.fields.iter().map(|field| field.name);
            report
                .add(
                    &rules::S043,
                    stranger.key_span.clone(),
                    format!("unknown key `{}`, so the entry is ignored", stranger.key),
                )
                .maybe_help(suggestion(&stranger.key, names));
        }
        None if stated != 1 => {
            report
                .add(
                    &rules::S044,
                    node.span.clone(),
                    format!("an access entry names one thing, not {stated}"),
                )
                .help("write an entry for each; any of them is enough");
        }
        None => {}
    }
}

fn exposure(node: &Node, report: &mut Report) {
    let Some(kind) = text(node, "kind") else { return };
    match EXPOSURES.iter().find(|(name, _)| *name == kind) {
        Some((_, shape)) => check_shape(node, shape, "S011", report),
        None => {
            report
                .add(
                    &rules::S045,
                    node.place(&["kind"]),
                    format!("unknown kind `{kind}`, so the exposure is ignored"),
                )
                .maybe_help(suggestion(kind, EXPOSURES.iter().map(|(name, _)| *name)));
        }
    }
}
