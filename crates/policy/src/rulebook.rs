//! Everything that is said about calls in general.

use std::sync::Arc;

use haft_model::{Governance, Policy, PolicyRule, Risk, Rule};

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
