//! Manifest reader: detects the kind of a file by its name, parses it and reports diagnostics.

use std::sync::Arc;

use haft_model::{Policy, PolicyRule};

use crate::foreign;
use crate::read::text;
use crate::source::{self, Node, Syntax};
use crate::{
    Action, AuthFile, Diagnostic, Driver, GovernanceFile, Interface, Report, SecretsFile, Source,
    ToolManifest, check_runner, check_sandbox, rules,
};

/// A parsed manifest, by its kind.
#[derive(Clone, Debug)]
pub enum ParsedManifest {
    /// A tool's contract (AIP-14, Agent Tool or ARuntime).
    Tool(Arc<ToolManifest>),
    /// A driver, or a CLI bundle that acts as one.
    Driver(Arc<Driver>),
    /// An action (AIP-39).
    Action(Arc<Action>),
    /// AIP-38 grants.
    Policy(Arc<Policy>),
    /// An AIP-7 rule.
    PolicyRule(Arc<PolicyRule>),
    /// An Agent Tool interface, which overlays a tool.
    Interface(Arc<Interface>),
    /// One file of governance, before its parents are merged in.
    Governance(Arc<GovernanceFile>),
    /// An inventory of secrets.
    Secrets(Arc<SecretsFile>),
    /// The login flow of a service (AIP-50).
    Auth(Arc<AuthFile>),
    /// A block that other documents refer to: a runner or a sandbox.
    Block(ManifestKind),
}

/// The result of reading one file.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The text, in which diagnostics are shown.
    pub source: Source,
    /// The manifest; `None` when an error keeps it from being used.
    pub manifest: Option<ParsedManifest>,
    /// The id it gives itself, readable even where the rest is not.
    pub id: Option<String>,
    /// Every breach that was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// The kinds of manifest, by the name of their file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestKind {
    /// `TOOL.md`: a contract (AIP-14).
    Tool,
    /// `DRIVER.md`: a driver (AIP-30).
    Driver,
    /// `CLI.md`: a CLI bundle (AIP-29).
    Cli,
    /// `ACTION.md`: an action (AIP-39).
    Action,
    /// `TOOL.json` or `*.tool.json`: Agent Tool or ARuntime.
    Json,
    /// `POLICY.md`, of either of its two schemas.
    Policy,
    /// `GOVERNANCE.md`: governance (AIP-7).
    Governance,
    /// `SECRETS.md`: a secret inventory (AIP-19).
    Secrets,
    /// `AUTH.md` or `auth.md`.
    Auth,
    /// `RUNNER.md`: a runner (AIP-17).
    Runner,
    /// `SANDBOX.md`: a sandbox profile (AIP-36).
    Sandbox,
}

impl ManifestKind {
    /// The kind of a file, by its path; none for a file that is no manifest.
    pub fn of(path: &str) -> Option<ManifestKind> {
        match path.rsplit('/').next()? {
            "TOOL.md" => Some(ManifestKind::Tool),
            "DRIVER.md" => Some(ManifestKind::Driver),
            "CLI.md" => Some(ManifestKind::Cli),
            "ACTION.md" => Some(ManifestKind::Action),
            "TOOL.json" => Some(ManifestKind::Json),
            name if name.ends_with(".tool.json") => Some(ManifestKind::Json),
            "POLICY.md" => Some(ManifestKind::Policy),
            "GOVERNANCE.md" => Some(ManifestKind::Governance),
            "SECRETS.md" => Some(ManifestKind::Secrets),
            "AUTH.md" | "auth.md" => Some(ManifestKind::Auth),
            "RUNNER.md" => Some(ManifestKind::Runner),
            "SANDBOX.md" => Some(ManifestKind::Sandbox),
            _ => None,
        }
    }
}

impl ManifestKind {
    /// How files of this kind hold their data.
    pub fn syntax(self) -> Syntax {
        match self {
            ManifestKind::Json => Syntax::Json,
            ManifestKind::Tool
            | ManifestKind::Driver
            | ManifestKind::Cli
            | ManifestKind::Action
            | ManifestKind::Policy
            | ManifestKind::Governance
            | ManifestKind::Secrets
            | ManifestKind::Auth
            | ManifestKind::Runner
            | ManifestKind::Sandbox => Syntax::Markdown,
        }
    }

    /// The name of the schema that its AIP publishes.
    pub fn published(self) -> Option<&'static str> {
        match self {
            ManifestKind::Tool => Some("TOOL"),
            ManifestKind::Driver => Some("DRIVER"),
            ManifestKind::Cli => Some("CLI"),
            ManifestKind::Action => Some("ACTION"),
            ManifestKind::Policy => Some("POLICY"),
            ManifestKind::Governance => Some("GOVERNANCE"),
            ManifestKind::Secrets => Some("SECRETS"),
            ManifestKind::Auth => Some("AUTH"),
            ManifestKind::Sandbox => Some("SANDBOX"),
            ManifestKind::Json | ManifestKind::Runner => None,
        }
    }
}

/// Reads one file, whose name says what it is.
pub fn read(source: &Source, mut report: Report) -> Reading {
    let kind = if report.has_errors() { None } else { ManifestKind::of(source.file()) };
    if kind.is_none() && !report.has_errors() {
        report.add(&rules::Y012, 0..0, "this file's name is not one of a manifest");
    }
    read_kind(source, kind, report)
}

/// Reads a text that is known to be of a kind and comes from no file.
pub fn read_as(kind: ManifestKind, source: &Source) -> Reading {
    read_kind(source, Some(kind), Report::new(source))
}

fn read_kind(source: &Source, kind: Option<ManifestKind>, mut report: Report) -> Reading {
    let parsed =
        kind.and_then(|kind| Some((kind, source::parse(source, kind.syntax(), &mut report)?)));
    let manifest = parsed.map(|(kind, node)| {
        // Half a document would be faulted for its other half.
        let whole = !report.is_cut_short();
        let id = match kind {
            ManifestKind::Json => foreign::id(&node),
            _ => text(&node, "id").or_else(|| text(&node, "slug")).map(str::to_owned),
        };
        (whole.then(|| manifest(kind, source, &node, &mut report)).flatten(), id)
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

fn manifest(
    kind: ManifestKind,
    source: &Source,
    node: &Node,
    report: &mut Report,
) -> Option<ParsedManifest> {
    match kind {
        ManifestKind::Tool => crate::tool::read(source, node, report).map(ParsedManifest::Tool),
        ManifestKind::Driver => {
            crate::driver::read(source, node, report).map(ParsedManifest::Driver)
        }
        ManifestKind::Cli => crate::bundle::read(source, node, report).map(ParsedManifest::Driver),
        ManifestKind::Action => {
            crate::action::read(source, node, report).map(ParsedManifest::Action)
        }
        ManifestKind::Json => foreign::read(source, node, report),
        ManifestKind::Policy => policy(source, node, report),
        ManifestKind::Governance => {
            crate::governance::read(source, node, report).map(ParsedManifest::Governance)
        }
        ManifestKind::Secrets => {
            crate::secrets::read(source, node, report).map(ParsedManifest::Secrets)
        }
        ManifestKind::Auth => crate::auth::read(source, node, report).map(ParsedManifest::Auth),
        ManifestKind::Runner => {
            check_runner(node, report);
            Some(ParsedManifest::Block(kind))
        }
        ManifestKind::Sandbox => {
            check_sandbox(node, report);
            Some(ParsedManifest::Block(kind))
        }
    }
}

/// Two AIPs call their document POLICY.md; `schema` tells them apart, or `doctype` where it is missing.
fn policy(source: &Source, node: &Node, report: &mut Report) -> Option<ParsedManifest> {
    // Another version of either has a rule of its own to say so.
    let family = text(node, "schema").map(|schema| schema.split('/').next().unwrap_or(schema));
    match (family, text(node, "doctype")) {
        (Some("policy"), _) => {
            crate::policy::read(source, node, report).map(ParsedManifest::Policy)
        }
        (Some("agentgovernance"), _) | (None, Some("policy")) => {
            crate::policy_rule::read(node, report).map(ParsedManifest::PolicyRule)
        }
        _ => {
            report
                .add(&rules::Y012, node.place(&["schema"]), "nothing says what kind of policy this is")
                .help("say `schema: policy/v1` for grants, or `schema: agentgovernance/v1` with `doctype: policy` for a rule");
            None
        }
    }
}
