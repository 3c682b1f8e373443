//! Surface fixture: a shop's tools, each served by its own driver.

use std::collections::BTreeMap;

use haft_catalog::{Index, Moment, Parts, Provider, Snapshot, Surface, View};
use haft_contract::{ParsedManifest, Report, Source, read};
use haft_model::{Actor, Date, DriverId, Role, parse_date};

use crate::accepted;

/// Id, description, what it may change, and what `metadata.haft` says besides.
pub(crate) const SHOP: [(&str, &str, &str, &str); 6] = [
    ("mail.send", "Sends a letter to a customer.", "[\"external:mail\"]", ""),
    ("order.cancel", "Cancels an order that was not shipped.", "[\"external:orders\"]", ""),
    (
        "order.get",
        "Shows one order with its state. Use it first.",
        "[]",
        "search_hint: look up a purchase",
    ),
    ("payment.refund", "Gives a customer their money back.", "[\"external:bank\"]", ""),
    ("report.old", "Lists the orders of a month.", "[]", "lifecycle: { state: deprecated }"),
    ("stock.count", "Counts what is left of an article.", "[]", "lifecycle: { state: disabled }"),
];

pub(crate) fn today() -> Date {
    parse_date("2026-01-01").unwrap()
}

/// The snapshot of some tools.
pub(crate) fn snapshot_of(tools: &[(&str, &str, &str, &str)]) -> Snapshot {
    let mut parts = Parts::default();
    for (id, description, mutates, haft) in tools {
        let slug = id.replace('.', "-");
        let risk = if *mutates == "[]" { 0 } else { 2 };
        let tool = format!(
            "---\nname: {slug}\nid: {id}\ndescription: {description}\nversion: 1.0.0\nmutates: {mutates}\nrisk_level: {risk}\n\
             inputs:\n  type: object\n  properties:\n    number: {{ type: string, description: Its number. }}\n\
             outputs: {{ type: object }}\nmetadata: {{ haft: {{ {haft} }} }}\n---\n"
        );
        let driver = format!(
            "---\nname: {slug}\nid: {slug}-http\ndescription: A backend.\nversion: 1.0.0\nkind: http\n\
             base_url: https://shop.example\nnetwork: {{ egress: [shop.example] }}\nimplements:\n  \
             - tool: {id}\n    version: ^1\n    metadata: {{ http: {{ endpoint: /x }} }}\n---\n"
        );
        match manifest("TOOL.md", &tool) {
            ParsedManifest::Tool(tool) => parts.tools.push(tool),
            other => panic!("{other:?}"),
        }
        match manifest("DRIVER.md", &driver) {
            ParsedManifest::Driver(driver) => parts.drivers.push(driver),
            other => panic!("{other:?}"),
        }
    }
    accepted::accepted(parts)
}

fn manifest(file: &str, text: &str) -> ParsedManifest {
    let source = Source::new(file, text);
    let reading = read(&source, Report::new(&source));
    reading.manifest.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}

pub(crate) fn shop() -> Snapshot {
    snapshot_of(&SHOP)
}

pub(crate) fn surface(scope: &str, tools: &[&str], defer_above: usize) -> Surface {
    let tools: Vec<String> = tools.iter().map(|glob| (*glob).to_owned()).collect();
    Surface::new(scope, &tools, defer_above)
}

pub(crate) fn agent_of(tenant: &str) -> Actor {
    Actor::new("agent:one", tenant, [Role::Agent])
}

/// What is seen on a surface when some providers are not there.
pub(crate) fn view(surface: &Surface, snapshot: &Snapshot, missing: &[(&str, Provider)]) -> View {
    let missing: BTreeMap<DriverId, Provider> =
        missing.iter().map(|(id, why)| (DriverId::from(*id), *why)).collect();
    surface.view(snapshot, &Moment::on(today(), &missing))
}

/// Each tool with where it stands.
pub(crate) fn standings(view: &View) -> Vec<String> {
    view.rows()
        .map(|row| {
            let reason =
                row.shown.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("{} {}{reason}", row.entry.contract.key().id, row.shown.name())
        })
        .collect()
}

/// The ids that words find, best first.
pub(crate) fn found(snapshot: &Snapshot, question: &str) -> Vec<String> {
    let hits = Index::new(snapshot).search(question, 3, |_| true);
    hits.iter().map(|hit| hit.found.contract.key().id.to_string()).collect()
}
