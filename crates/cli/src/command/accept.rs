//! `haft accept`: a person agrees to what contracts may do, and to what governs them.

use std::io::Write as _;

use anyhow::Result;
use haft::GoverningStanding;
use haft_catalog::CatalogEntry;
use haft_model::ToolKey;
use serde_json::json;

use super::{call, show};
use crate::exit::Exit;
use crate::{Context, command, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The contract: an id, or `id@major`; everything when absent.
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    /// Accept everything as it is now, and do not ask.
    #[arg(long, conflicts_with = "tool")]
    all: bool,
    /// Accept what governs calls as it is now: haft.toml, policies, governance, secrets and logins.
    #[arg(long, conflicts_with_all = ["tool", "all"])]
    settings: bool,
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let workspace = command::load(context)?;
    let wanted = arguments.tool.as_deref().map(ToolKey::split);
    let is_meant = |entry: &CatalogEntry| {
        let key = entry.contract.key();
        wanted.is_none_or(|(id, major)| {
            key.id.as_str() == id && major.is_none_or(|major| major == key.major)
        })
    };
    let entries = workspace.snapshot().entries().filter(|entry| is_meant(entry));
    let entries = entries.filter(|_| !arguments.settings);
    let mut news: Vec<String> = entries.flat_map(|entry| news(entry)).collect();
    if arguments.tool.is_none() {
        news.extend(governing(&workspace.governing_standing()));
    }
    if !context.json {
        news.iter().try_for_each(|line| output::line(output::visible(line)))?;
    }
    let everything = arguments.tool.is_none() && !arguments.settings;
    let asks = everything && !arguments.all && !news.is_empty();
    if asks && call::somebody_is_here() && !agrees()? {
        output::remark("nothing was accepted");
        return Ok(Exit::REFUSED);
    }
    if arguments.settings {
        let accepted = workspace.accept_governing()?;
        return match context.json {
            true => output::json(&json!({ "accepted": accepted, "news": news })),
            false => accepted.iter().try_for_each(|file| output::line(format!("accepted {file}"))),
        }
        .map(|()| Exit::Done);
    }
    let accepted = workspace.accept(arguments.tool.as_deref())?;
    if context.json {
        output::json(&json!({ "accepted": accepted, "news": news }))?;
    } else {
        for key in accepted {
            output::line(format!("accepted {key}"))?;
        }
    }
    Ok(Exit::Done)
}

/// The changes that a person accepts with a contract: all that a new one may do, or what differs
/// from what was accepted.
fn news(entry: &CatalogEntry) -> Vec<String> {
    let key = entry.contract.key();
    if entry.is_new() {
        return vec![format!("new      {key}: {}", may_do(entry))];
    }
    let told = entry
        .findings
        .iter()
        .filter(|finding| ["L001", "L002", "L004", "L006", "T057"].contains(&finding.rule.code));
    told.map(|finding| format!("changed  {}", finding.message)).collect()
}

/// The changes that a person accepts with the governing files.
fn governing(standing: &GoverningStanding) -> Vec<String> {
    let changed = |files: &[String]| -> Vec<String> {
        files.iter().map(|file| format!("changed  {file}: it is other than was accepted")).collect()
    };
    match standing {
        GoverningStanding::Accepted | GoverningStanding::Unrecorded => Vec::new(),
        GoverningStanding::Looser(_, ways) if !ways.is_empty() => {
            ways.iter().map(|way| format!("looser   {way}")).collect()
        }
        GoverningStanding::Tighter(files) | GoverningStanding::Looser(files, _) => changed(files),
    }
}

/// Everything that calls of a contract may do to the world, in a line.
fn may_do(entry: &CatalogEntry) -> String {
    let effects = &entry.contract.effects;
    let listed = |items: &std::collections::BTreeSet<String>| {
        show::or_nothing(items.iter().cloned().collect())
    };
    let drivers = entry.bindings.iter().map(|binding| binding.driver.id.to_string());
    let parts = [
        format!("risk {} ({})", effects.risk, effects.risk.word()),
        format!("changes {}", show::changes(effects)),
        format!("reaches {}", show::reaches(effects)),
        format!("uses the secrets {}", listed(&effects.requires.secrets)),
        format!("calls {}", listed(&effects.requires.tools)),
        format!("approval {}", effects.approval),
        format!("by {}", show::or_nothing(drivers.collect())),
    ];
    parts
        .into_iter()
        .filter(|part| !part.ends_with(" nothing") || part.starts_with("changes"))
        .collect::<Vec<_>>()
        .join("; ")
}

fn agrees() -> Result<bool> {
    let mut err = anstream::stderr();
    write!(err, "Accept all of this? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_lowercase().starts_with('y'))
}
