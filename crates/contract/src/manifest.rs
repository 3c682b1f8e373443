//! One file read: what it is, what it says, what is wrong with it.

use std::sync::Arc;

use haft_model::{Policy, PolicyRule};

use crate::foreign;
use crate::source::{self, Node, Syntax};
use crate::{Action, Diagnostic, Driver, Interface, Report, Source, Tool, rules};

/// What a file turned out to be.
#[derive(Clone, Debug)]
pub enum Manifest {
    /// A contract.
    Tool(Arc<Tool>),
    /// A driver, or a CLI bundle that acts as one.
    Driver(Arc<Driver>),
    /// An action.
    Action(Arc<Action>),
    /// AIP-38 grants.
    Policy(Arc<Policy>),
    /// An AIP-7 rule.
    PolicyRule(Arc<PolicyRule>),
    /// What an Agent Tool interface says of a tool.
    Interface(Arc<Interface>),
}

/// What came of reading one file.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The text, for those who show the diagnostics.
    pub source: Source,
    /// What could be used. Absent when an error keeps the manifest from being used.
    pub manifest: Option<Manifest>,
    /// The id it gives itself, readable even where the rest is not.
    pub id: Option<String>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The kinds of document, told by their file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `TOOL.md`
    Tool,
    /// `DRIVER.md`
    Driver,
    /// `CLI.md`
    Cli,
    /// `ACTION.md`
    Action,
    /// `TOOL.json` or `*.tool.json`: Agent Tool or ARuntime.
    Json,
}

impl Kind {
    /// The kind of a file, by its path; none for a file that is no manifest.
    pub fn of(path: &str) -> Option<Kind> {
        match path.rsplit('/').next()? {
            "TOOL.md" => Some(Kind::Tool),
            "DRIVER.md" => Some(Kind::Driver),
            "CLI.md" => Some(Kind::Cli),
            "ACTION.md" => Some(Kind::Action),
            "TOOL.json" => Some(Kind::Json),
            name if name.ends_with(".tool.json") => Some(Kind::Json),
            _ => None,
        }
    }
}

impl Kind {
    /// How files of this kind hold their data.
    pub fn syntax(self) -> Syntax {
        match self {
            Kind::Tool | Kind::Driver | Kind::Cli | Kind::Action => Syntax::Markdown,
            Kind::Json => Syntax::Json,
        }
    }

    /// The name of the schema that its AIP publishes.
    pub fn published(self) -> Option<&'static str> {
        match self {
            Kind::Tool => Some("TOOL"),
            Kind::Driver => Some("DRIVER"),
            Kind::Cli => Some("CLI"),
            Kind::Action => Some("ACTION"),
            Kind::Json => None,
        }
    }
}

/// Reads one file.
pub fn read(source: &Source, mut report: Report) -> Reading {
    let manifest = parsed(source, &mut report).map(|(kind, node)| {
        // Half a document would be faulted for its other half.
        let whole = !report.is_cut_short();
        let mut manifest = || match kind {
            Kind::Tool => crate::tool::read(source, &node, &mut report).map(Manifest::Tool),
            Kind::Driver => crate::driver::read(source, &node, &mut report).map(Manifest::Driver),
            Kind::Cli => crate::bundle::read(source, &node, &mut report).map(Manifest::Driver),
            Kind::Action => crate::action::read(source, &node, &mut report).map(Manifest::Action),
            Kind::Json => foreign::read(source, &node, &mut report),
        };
        let manifest = whole.then(&mut manifest).flatten();
        let own = || node.get("id").and_then(Node::text).map(str::to_owned);
        (manifest, if kind == Kind::Json { foreign::id(&node) } else { own() })
    });
    let usable = !report.has_errors();
    let (manifest, id) = manifest.unwrap_or((None, None));
    Reading {
        source: source.clone(),
        manifest: manifest.filter(|_| usable),
        id,
        diagnostics: report.into_diagnostics(),
    }
}

fn parsed(source: &Source, report: &mut Report) -> Option<(Kind, Node)> {
    if report.has_errors() {
        return None;
    }
    let Some(kind) = Kind::of(source.file()) else {
        report.add(&rules::Y012, 0..0, "this file's name is not one of a manifest");
        return None;
    };
    let node = source::parse(source, kind.syntax(), report)?;
    Some((kind, node))
}
