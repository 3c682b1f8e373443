//! `haft show`: prints one contract with its inheritance, drivers and derived effects.

use anyhow::Result;
use haft::StoreChoice;
use haft_catalog::{CatalogEntry, DriverStates, DriverSummary};
use haft_model::{EffectProfile, FactRule, Tri};
use serde_json::Value;

use crate::exit::Exit;
use crate::output::{self, Table};
use crate::{Context, command, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The tool: an id, `id@major`, or an alias.
    tool: String,
    /// For whom drivers have to be logged in; the default actor of haft.toml unless named.
    #[arg(long = "as", value_name = "ACTOR")]
    actor: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::Memory)?;
    let workspace = host.workspace();
    let snapshot = workspace.snapshot();
    let Some(entry) = snapshot.find_called(&arguments.tool, |_| true) else {
        return output::stop(&command::unknown(&workspace, &arguments.tool), context.json);
    };
    let actor = who::caller(context, &host, arguments.actor);
    let states = host.driver_states(entry, &actor).await;
    if context.json {
        output::json(&entry.told(command::today(), &states))?;
    } else {
        show(entry, &states)?;
    }
    Ok(Exit::Done)
}

fn show(entry: &CatalogEntry, states: &DriverStates) -> Result<()> {
    let contract = &entry.contract;
    let tool = &contract.tool;
    let effects = &contract.effects;
    output::line(format!("\x1b[1m{}\x1b[0m  {}  ({})", tool.key, contract.title(), tool.version))?;
    output::line(tool.description.trim())?;
    output::line("")?;
    if let Some(block) = entry.blocked(command::today()) {
        output::line(format!("blocked     {}; {}", block.message, block.help))?;
    }
    let mut lines = vec![
        ("file", tool.file.to_string()),
        ("inputs", properties(&contract.model_schema())),
        ("outputs", properties(&tool.outputs)),
        ("implements", contract.action.as_ref().map_or("nothing".into(), |a| a.id.to_string())),
        ("changes", changes(effects)),
        ("class", effects.classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")),
        ("risk", format!("{} ({})", effects.risk, effects.risk.word())),
        ("approval", effects.approval.to_string()),
        ("reaches", reaches(effects)),
        ("secrets", or_nothing(effects.requires.secrets.iter().cloned().collect())),
        ("read-only", yes_no(effects.facts.read_only)),
        ("destructive", yes_no(effects.facts.destructive)),
        ("open world", yes_no(effects.facts.open_world)),
        ("parallel", parallel(&effects.facts.concurrency_safe)),
        ("deadline", format!("{} ms", tool.timeout_ms)),
        ("lifecycle", entry.lifecycle(command::today()).name().to_owned()),
        ("grant", contract.grant_key()),
    ];
    if !contract.internal.is_empty() {
        lines.insert(2, ("host fills", or_nothing(contract.internal.iter().cloned().collect())));
    }
    for (name, value) in lines {
        output::line(format!("{name:<12}{value}"))?;
    }
    for fact in &effects.inferred {
        output::line(format!("assumed     {} = {}: {}", fact.field, fact.value, fact.source))?;
    }
    output::line("")?;
    if entry.bindings.is_empty() {
        return output::line("no driver claims it");
    }
    let mut table = Table::new(&["DRIVER", "KIND", "VERSION", "COST", "STATE"]);
    for binding in &entry.bindings {
        table.row(vec![
            binding.driver.id.to_string(),
            binding.driver.kind.to_string(),
            binding.driver.version.to_string(),
            binding.units.map_or("-".into(), |units| units.to_string()),
            DriverSummary::new(binding, states).line(),
        ]);
    }
    table.print()
}

fn properties(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|other| other.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    or_nothing(
        names
            .map(|name| if is_required(name) { name.clone() } else { format!("{name}?") })
            .collect(),
    )
}

pub(super) fn changes(effects: &EffectProfile) -> String {
    if !effects.mutates_stated {
        return "not stated, so perhaps anything".into();
    }
    or_nothing(effects.mutates.iter().cloned().collect())
}

pub(super) fn reaches(effects: &EffectProfile) -> String {
    let hosts: Vec<String> = effects.requires.network.iter().cloned().collect();
    if hosts.is_empty() && effects.facts.open_world != Tri::No {
        return "not stated".into();
    }
    or_nothing(hosts)
}

pub(super) fn or_nothing(items: Vec<String>) -> String {
    if items.is_empty() { "nothing".into() } else { items.join(", ") }
}

fn yes_no(fact: Tri) -> String {
    match fact {
        Tri::Yes => "yes",
        Tri::No => "no",
        Tri::Unknown => "unknown, so taken to be the worse",
    }
    .into()
}

fn parallel(rule: &FactRule) -> String {
    match rule {
        FactRule::Stated(true) => "yes".into(),
        FactRule::Stated(false) => "no".into(),
        FactRule::Expression(text) => format!("if {text}"),
        FactRule::Classifier(name) => format!("as classifier {name} says"),
        FactRule::SameAs(field) => format!("same as {field}"),
        FactRule::Unstated => "not stated, so no".into(),
    }
}
