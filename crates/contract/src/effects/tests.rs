//! Effect derivation tests: which fields make which effects.

use crate::{Contract, ParsedManifest, Report, Source};

/// The effects of a tool with these lines, as one line of text.
fn effects(lines: &str) -> String {
    let text = format!(
        "---\nname: X\nid: xx\ndescription: d\nversion: 1.0.0\ninputs: {{type: object}}\n\
         outputs: {{type: object}}\n{lines}\n---\n"
    );
    let source = Source::new("xx/TOOL.md", text);
    let reading = crate::read(&source, Report::new(&source));
    let Some(ParsedManifest::Tool(tool)) = reading.manifest else {
        panic!("{:?}", reading.diagnostics)
    };
    let effects = Contract::new(tool, None).effects;
    let inferred: Vec<_> = effects.inferred.iter().map(|fact| fact.field).collect();
    let classes: Vec<_> = effects.classes.iter().map(|class| class.name()).collect();
    format!(
        "risk {} · read_only {:?} · destructive {:?} · open_world {:?} · {} · inferred {}",
        effects.risk,
        effects.facts.read_only,
        effects.facts.destructive,
        effects.facts.open_world,
        classes.join("+"),
        inferred.join(" ")
    )
}

#[test]
fn tool_without_stated_effects_gets_worst_case_effects() {
    assert_eq!(
        effects(""),
        "risk 3 · read_only No · destructive Unknown · open_world Unknown · irreversible · \
         inferred risk_level is_read_only is_destructive is_open_world class"
    );
}

#[test]
fn stated_empty_and_stated_zero_make_a_reader() {
    assert_eq!(
        effects("mutates: []\nrisk_level: 0\nrequires: {network: [api.example]}"),
        "risk 0 · read_only Yes · destructive No · open_world No · read-only · inferred class"
    );
}

#[test]
fn an_empty_list_alone_does_not_make_a_reader() {
    assert!(effects("mutates: []").contains("read_only No"));
}

#[test]
fn risk_zero_with_mutations_is_no_read_only_tool() {
    assert_eq!(
        effects("mutates: [\"network:*\"]\nrisk_level: 0\nrequires: {network: [\"*\"]}"),
        "risk 0 · read_only No · destructive Unknown · open_world Yes · external-communication · \
         inferred is_destructive class"
    );
}

#[test]
fn a_stated_class_raises_the_risk() {
    assert!(
        effects("mutates: []\nrisk_level: 1\nmetadata: {haft: {class: [financial-high-impact]}}")
            .starts_with("risk 3 · read_only No · destructive Yes")
    );
}

#[test]
fn an_imported_tool_may_tighten_and_never_loosen() {
    let imported = "metadata: {haft: {imported: {from: mcp, source: s}}}";
    assert_eq!(
        effects(&format!("mutates: []\nrisk_level: 0\nrequires: {{}}\n{imported}")),
        "risk 0 · read_only No · destructive Unknown · open_world Unknown · irreversible · \
         inferred is_destructive is_open_world class"
    );
    assert!(
        effects(&format!("mutates: [\"external:mail\"]\nrisk_level: 0\n{imported}"))
            .starts_with("risk 2")
    );
}

#[test]
fn nothing_is_read_only_by_saying_so() {
    assert!(
        effects("metadata: {haft: {class: [read-only]}}").contains("read_only No"),
        "a class alone states neither `mutates` nor `risk_level`"
    );
    assert!(!effects("metadata: {haft: {class: [read-only]}}").contains("· read-only ·"));
}

#[test]
fn vouched_effects_of_import_are_trusted() {
    let imported = "metadata: {haft: {imported: {from: openapi, source: s, effects: vouched}}}";
    assert_eq!(
        effects(&format!("mutates: []\nrisk_level: 0\nrequires: {{}}\n{imported}")),
        "risk 0 · read_only Yes · destructive No · open_world No · read-only · inferred class"
    );
}
