//! Rulebook: grants, policies, governance and rules of a workspace.

use std::sync::Arc;

use haft_model::{Governance, Policy, Risk};

use crate::TargetKinds;
use crate::policies::CompiledPolicyRule;
use crate::rules::CompiledRule;

/// Rules of a workspace at one moment.
#[derive(Clone, Debug)]
pub struct Rulebook {
    /// AIP-38 grant policies, in the order of their files; empty disables the grant layer.
    pub policies: Vec<Arc<Policy>>,
    /// AIP-7 policies, in the order of their files, compiled.
    pub policy_rules: Vec<CompiledPolicyRule>,
    /// Governance, with its parents merged in.
    pub governance: Governance,
    /// Rules of haft.toml, in order, compiled.
    pub rules: Vec<CompiledRule>,
    /// Highest risk that runs without an ask where no rule or policy decides.
    pub autonomy: Risk,
    /// Every governing document was read. Otherwise every call is denied, because what the unread
    /// one forbids is unknown.
    pub complete: bool,
}

impl Default for Rulebook {
    fn default() -> Rulebook {
        Rulebook {
            policies: Vec::new(),
            policy_rules: Vec::new(),
            governance: Governance::default(),
            rules: Vec::new(),
            autonomy: Risk::READ,
            complete: true,
        }
    }
}

impl Rulebook {
    /// Kinds of target that rules about a tool compare, so that the driver computes no others.
    pub fn target_kinds(&self, tool: &str) -> TargetKinds {
        let mut kinds = TargetKinds::default();
        for rule in &self.rules {
            // Destructured, so that a new kind of target cannot be forgotten here.
            let CompiledRule {
                tool: pattern,
                path,
                url,
                command,
                verdict: _,
                reason: _,
                action: _,
                class: _,
                actor: _,
            } = rule;
            if pattern.as_ref().is_none_or(|glob| glob.matches(tool)) {
                kinds.paths |= path.is_some();
                kinds.urls |= url.is_some();
                kinds.commands |= command.is_some();
            }
        }
        let mut subjects = self.policy_rules.iter().filter_map(|rule| rule.subject.as_ref());
        kinds.paths |= subjects.any(|subject| subject.path_globs().is_some());
        let mut granted = self.policies.iter().flat_map(|policy| &policy.grants);
        if granted.any(|grant| grant.actions.iter().any(|action| action.scope.is_some())) {
            (kinds.paths, kinds.urls) = (true, true);
        }
        kinds
    }
}
