//! Driver state: checks that a driver writes only its own login beyond what its contract declares.
//!
//! A workspace belongs to contracts, so a path in it has to be in `mutates`. The sandbox checks the
//! same again with resolved paths.

use haft_contract::{Finding, rules};
use haft_model::{EffectProfile, fixed_steps};

use super::BindingClaim;

impl BindingClaim<'_> {
    pub(super) fn state(&mut self) {
        for (index, stated) in self.driver.state.iter().enumerate() {
            let Some((why, help)) = objection(stated, &self.contract.effects) else { continue };
            let id = &self.contract.key().id;
            let message = format!("the driver would write `{stated}` in every call of `{id}`{why}");
            let pointer = format!("/auth/state/paths/{index}");
            let finding = Finding::new(rules::D068, &self.driver.file, &pointer, message);
            self.findings.push(finding.help(help));
        }
    }
}

/// Why a path is no state of the driver's own, with what to do about it.
fn objection(stated: &str, effects: &EffectProfile) -> Option<(&'static str, String)> {
    let beyond = stated.strip_prefix('/').or(stated.strip_prefix("~/"));
    let steps: Vec<&str> = fixed_steps(beyond.unwrap_or(stated)).collect();
    if stated == "~" || (beyond.is_some() && steps.is_empty()) {
        let help = "name the file or folder that holds the login, such as `~/.config/demo`";
        return Some((", which is more than its own state", help.into()));
    }
    let undeclared = beyond.is_none() && !is_declared(&steps, effects);
    undeclared.then(|| {
        let path = steps.join("/");
        let help = format!("keep the login beyond the workspace, or declare `workspace:{path}`");
        (", which the contract does not declare", help)
    })
}

/// Whether a contract lets a path of the workspace change.
fn is_declared(steps: &[&str], effects: &EffectProfile) -> bool {
    let mut scopes = effects.mutates.iter().filter_map(|entry| entry.strip_prefix("workspace:"));
    let anything = !effects.mutates_stated && effects.may_mutate();
    anything || scopes.any(|scope| steps.starts_with(&fixed_steps(scope).collect::<Vec<_>>()))
}
