//! Everything that is said about calls in general.

use std::sync::Arc;

use haft_model::{Glob, Governance, Policy, PolicyRule, Risk, Rule};

use crate::TargetKinds;
use crate::policies::path_subject;

/// The rules of a workspace at one moment.
#[derive(Clone, Debug)]
pub struct Rulebook {
    /// AIP-38 grants, in the order of their files. Without any there is no grant layer.
    pub policies: Vec<Arc<Policy>>,
    /// AIP-7 rules, in the order of their files.
    pub policy_rules: Vec<Arc<PolicyRule>>,
    /// The governance with its parents merged in.
    pub governance: Governance,
    /// The rules of haft.toml, in their order.
    pub rules: Vec<Rule>,
    /// The highest risk that runs without asking where no rule speaks.
    pub autonomy: Risk,
    /// Whether every governing document could be read. Where one could not, what it forbids is not
    /// known, and the answer is no.
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
    /// What rules about calls of a tool compare, so that nothing else is found out about a call.
    pub fn target_kinds(&self, tool: &str) -> TargetKinds {
        let mut kinds = TargetKinds::default();
        for rule in &self.rules {
            if rule.tool.as_deref().is_none_or(|pattern| Glob::new(pattern).matches(tool)) {
                kinds.paths |= rule.path.is_some();
                kinds.urls |= rule.url.is_some();
                kinds.commands |= rule.command.is_some();
            }
        }
        let mut subjects = self.policy_rules.iter().filter_map(|rule| rule.subject.as_deref());
        kinds.paths |= subjects.any(|subject| path_subject(subject).is_some());
        let mut granted = self.policies.iter().flat_map(|policy| &policy.grants);
        if granted.any(|grant| grant.actions.iter().any(|action| action.scope.is_some())) {
            (kinds.paths, kinds.urls) = (true, true);
        }
        kinds
    }
}
