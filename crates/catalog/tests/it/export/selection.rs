//! Export selection tests: which tools are exported, and in which order.

use haft_catalog::WireNames;
use haft_catalog::export::{Format, Offer, export};
use haft_model::Lifecycle;
use serde_json::json;

use crate::export::contracts::contract;

#[test]
fn export_offers_only_tools_in_selectable_lifecycle_states() {
    let inputs = json!({"type": "object"});
    let contracts: Vec<_> = Lifecycle::ALL
        .iter()
        .map(|state| {
            contract(&format!("is-{}", state.name().replace('_', "-")), "1.0.0", &inputs, "")
        })
        .collect();
    let offers: Vec<_> = contracts
        .iter()
        .zip(Lifecycle::ALL)
        .map(|(contract, lifecycle)| Offer { contract, driver: None, lifecycle })
        .collect();
    let names = WireNames::of(&contracts);
    for format in [Format::OpenAi, Format::Anthropic, Format::Gemini, Format::Mcp] {
        let export = export(format, &offers, &names);
        let names: Vec<_> = export.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["is-available", "is-deferred"], "{format:?}");
        let left_out =
            export.degradations.iter().filter(|line| line.reason.starts_with("left out")).count();
        assert_eq!(left_out, 5, "{format:?}");
    }
    let all = export(Format::AgentTool, &offers, &names).document;
    let states: Vec<_> =
        all["declarations"].as_array().unwrap().iter().map(|tool| &tool["lifecycle"]).collect();
    assert_eq!(
        states,
        ["available", "deferred", "deprecated", "disabled", "draft", "requires_setup", "retired"]
    );
}

#[test]
fn the_order_of_offers_does_not_change_the_document() {
    let inputs = json!({"type": "object"});
    let [a, b] = ["b.tool", "a.tool"].map(|id| contract(id, "1.0.0", &inputs, ""));
    let offer = |contract| Offer { contract, driver: None, lifecycle: Lifecycle::Available };
    for format in Format::ALL {
        let forth = export(format, &[offer(&a), offer(&b)], &WireNames::of([&a, &b]));
        let back = export(format, &[offer(&b), offer(&a), offer(&a)], &WireNames::of([&b, &a]));
        assert_eq!(forth.document, back.document);
        assert!(back.degradations.iter().any(|line| line.reason.contains("more than once")));
    }
}

#[test]
fn formats_are_read_by_their_names() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.name()), Some(format));
    }
    assert_eq!(Format::parse("xml"), None);
}
