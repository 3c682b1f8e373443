//! Entry construction: checks a contract against its action, the lock and the drivers that claim
//! it.

use std::collections::HashSet;
use std::sync::Arc;

use haft_contract::{Contract, Finding, Standing, ToolManifest, inherit, rules};
use haft_model::DriverId;

use crate::actions::Actions;
use crate::bind::bind;
use crate::claims::Claim;
use crate::{Binding, Block, CatalogEntry};

/// The inputs of an entry.
pub(crate) struct Making<'a> {
    pub(crate) tool: &'a Arc<ToolManifest>,
    pub(crate) claims: &'a [Claim],
    pub(crate) actions: &'a Actions,
    pub(crate) standing: Standing,
    pub(crate) given_drivers: &'a HashSet<DriverId>,
}

/// The entry of one tool, or the earlier one if nothing it is made of changed.
pub(crate) fn entry(making: Making<'_>, earlier: Option<&Arc<CatalogEntry>>) -> Arc<CatalogEntry> {
    let Making { tool, claims, actions, standing, given_drivers } = making;
    let (action, mut findings) = match actions.of(tool) {
        Ok(action) => (action, Vec::new()),
        Err(finding) => (None, vec![*finding]),
    };
    let same =
        |earlier: &&Arc<CatalogEntry>| earlier.made_of(tool, action.as_ref(), claims, &standing);
    if let Some(earlier) = earlier.filter(same) {
        return earlier.clone();
    }
    if let Some(action) = &action {
        findings.extend(inherit(tool, action));
    }
    let unsound = findings.first().map(|finding| Block {
        reason: "contract_invalid",
        message: format!("`{}`: {}", tool.key, finding.message),
        help: "`haft check` shows where".into(),
    });
    let contract = Arc::new(Contract::new(tool.clone(), action));
    // One that cannot be used cannot be accepted either, so that is not asked for.
    let drift = match (&unsound, &standing) {
        (Some(_), Standing::New) => None,
        (_, _) => drift(&contract, &standing, &mut findings),
    };
    let mut bindings = Vec::with_capacity(claims.len());
    for (driver, index) in claims {
        let given = given_drivers.contains(&driver.id);
        let (mut binding, found) = bind(driver, *index, given, &contract);
        findings.extend(found);
        let unaccepted = || unaccepted(&binding, &standing, &contract);
        if let Some(finding) = narrowed(&binding, &standing, &contract).or_else(unaccepted) {
            binding.refused = binding.refused.or_else(|| Some(finding.message.clone()));
            findings.push(finding);
        }
        bindings.push(binding);
    }
    findings.extend(broken_callers(&contract, &standing));
    bindings.sort_by(|a, b| a.driver.id.cmp(&b.driver.id));
    findings.extend(unreachable_default(tool, &bindings));
    Arc::new(CatalogEntry::new(contract, bindings, findings, unsound.or(drift), standing))
}

/// Why a contract is not known to be the one that was accepted.
fn drift(contract: &Contract, standing: &Standing, findings: &mut Vec<Finding>) -> Option<Block> {
    let key = contract.key();
    let accepted = match standing {
        Standing::Given(_) => return None,
        Standing::New => {
            let message = format!("`{key}` is not accepted yet: haft.lock has no entry for it");
            let help =
                format!("look at what it may do with `haft show {key}`, then `haft accept {key}`");
            let finding = Finding::new(rules::L005, &contract.tool.file, "/id", message.clone());
            findings.push(finding.help(help.clone()));
            return Some(Block { reason: "contract_unaccepted", message, help });
        }
        Standing::Lost => {
            return Some(Block {
                reason: "lock_damaged",
                message: format!(
                    "haft.lock is damaged, so what was accepted of `{key}` is unknown"
                ),
                help:
                    "restore haft.lock from git, or `haft accept --all` after looking at every tool"
                        .into(),
            });
        }
        Standing::Accepted(accepted) => accepted,
    };
    let help = format!("if that is right, `haft accept {key}`");
    let widened = accepted.widened(contract);
    let (rule, reason, message) = if !widened.is_empty() {
        let ways = widened.join(", ");
        (rules::L001, "effects_widened", format!("`{key}` can do more than was accepted: {ways}"))
    } else if !contract.trusted() && accepted.schema != contract.schema_digest() {
        let message =
            format!("the imported `{key}` has another description or schema than was accepted");
        (rules::L002, "schema_changed", message)
    } else {
        return None;
    };
    let file = &contract.tool.file;
    findings.push(Finding::new(rule, file, "/id", message.clone()).help(help.clone()));
    Some(Block { reason, message, help })
}

/// A contract that keeps its major and breaks those who call it.
fn broken_callers(contract: &Contract, standing: &Standing) -> Option<Finding> {
    let Standing::Accepted(accepted) = standing else { return None };
    let ways = accepted.broken(contract);
    if ways.is_empty() {
        return None;
    }
    let key = contract.key();
    let message = format!("callers of `{key}` break: {}", ways.join(", "));
    let finding = Finding::new(rules::T057, &contract.tool.file, "/version", message);
    let next = key.major + 1;
    Some(finding.help(format!(
        "make it version {next}.0.0, or `haft accept {key}` if it has no callers yet"
    )))
}

/// A driver from a file that the lock does not name for this contract. Where the contract itself is
/// not accepted, only that is reported.
fn unaccepted(binding: &Binding, standing: &Standing, contract: &Contract) -> Option<Finding> {
    let driver = binding.key();
    let accepted = standing.accepted_drivers().is_some_and(|known| known.contains_key(&driver));
    if binding.given || accepted || matches!(standing, Standing::New | Standing::Lost) {
        return None;
    }
    let key = contract.key();
    let finding = Finding::new(
        rules::L006,
        &binding.driver.file,
        "/id",
        format!("`{driver}` is not accepted yet as a driver of `{key}`"),
    );
    Some(finding.help(format!("if it may serve it, `haft accept {key}`")))
}

/// A driver that keeps its major and leaves out something else than was accepted, or opens more.
fn narrowed(binding: &Binding, standing: &Standing, contract: &Contract) -> Option<Finding> {
    let driver = binding.key();
    let then = standing.accepted_drivers()?.get(&driver)?;
    let now = binding.left_out();
    let key = contract.key();
    let opened = now.difference(then).find(|change| binding.driver.opens.contains(*change));
    if let Some(change) = opened {
        let message = format!("`{driver}` {change}, which was not accepted for `{key}`");
        let finding = Finding::new(rules::L009, &binding.driver.file, "/id", message);
        return Some(finding.help(format!("if that is right, `haft accept {key}`")));
    }
    // What is no longer opened is no more than was accepted.
    let matters = |change: &&String| !change.starts_with("opens ");
    let change = now.symmetric_difference(then).find(matters)?;
    let verb = if now.contains(change) { "leaves out" } else { "no longer leaves out" };
    let place = binding.implements().map(|entry| entry.place.clone()).unwrap_or_default();
    let finding = Finding::new(
        rules::L004,
        &binding.driver.file,
        &format!("{place}/schema_narrowing"),
        format!("`{driver}` {verb} {change} of `{key}`, other than was accepted"),
    );
    Some(finding.help(format!("give the driver a new major version, or `haft accept {key}`")))
}

fn unreachable_default(tool: &ToolManifest, bindings: &[Binding]) -> Option<Finding> {
    let wanted = tool.default_implementation.as_ref()?;
    let found = bindings.iter().find(|binding| binding.driver.id == *wanted);
    let message = match found {
        None => format!("no driver `{wanted}` claims `{}`", tool.key.id),
        Some(binding) => {
            let kind = binding.driver.kind;
            let kept_out = tool.forbid.contains(&kind)
                || (!tool.require_kind.is_empty() && !tool.require_kind.contains(&kind));
            let refused = binding.refused.as_deref();
            match (refused, kept_out) {
                (Some(reason), _) => format!("`{wanted}` can never serve the tool: {reason}"),
                (None, true) => {
                    format!("`{wanted}` is of kind {kind}, which `driver_constraints` keeps out")
                }
                (None, false) => return None,
            }
        }
    };
    let ids = bindings.iter().map(|binding| binding.driver.id.as_str());
    let help = match haft_contract::did_you_mean(wanted.as_str(), ids) {
        Some(near) if found.is_none() => format!("did you mean `{near}`?"),
        _ => "name a driver that serves the tool, or leave it out".into(),
    };
    Some(Finding::new(rules::T047, &tool.file, "/default_implementation", message).help(help))
}
