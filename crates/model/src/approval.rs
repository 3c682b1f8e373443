//! Approval requirement of a contract: when a person has to approve before the call runs.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// Approval class, from least to most strict; the order is the rule for combining.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalClass {
    /// The contract asks for no approval.
    #[default]
    Auto,
    /// Ask when this call may change something.
    OnMutate,
    /// Ask for every call.
    Always,
}

/// A contract's approval: one class, and policies that must agree as well.
///
/// `policy:<ref>` cannot be ranked against the classes, so it is an extra obligation instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// The strictest class stated.
    pub class: ApprovalClass,
    /// Named policies that have to agree as well.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub policies: BTreeSet<String>,
}

impl Approval {
    /// Reads `auto`, `on-mutate`, `always` or `policy:<ref>`.
    pub fn parse(text: &str) -> Option<Approval> {
        let class = match text {
            "auto" => ApprovalClass::Auto,
            "on-mutate" => ApprovalClass::OnMutate,
            "always" => ApprovalClass::Always,
            _ => {
                let policy = text.strip_prefix("policy:")?;
                return Some(Approval {
                    class: ApprovalClass::Auto,
                    policies: BTreeSet::from([policy.to_owned()]),
                });
            }
        };
        Some(Approval { class, policies: BTreeSet::new() })
    }

    /// Both obligations at once: the stricter class and all policies.
    pub fn and(&self, other: &Approval) -> Approval {
        Approval {
            class: self.class.max(other.class),
            policies: self.policies.union(&other.policies).cloned().collect(),
        }
    }

    /// Whether this is at least as strict as a floor.
    ///
    /// A floor that names a policy is met by naming the same policy or by `always`, which asks
    /// a person in any case; a floor that is a class is met by that class, a stricter one, or a
    /// policy, since both are then evaluated and the stricter answer wins.
    pub fn meets(&self, floor: &Approval) -> bool {
        if floor.policies.is_empty() {
            return self.class >= floor.class
                || (!self.policies.is_empty() && floor.class < ApprovalClass::Always);
        }
        self.class == ApprovalClass::Always || floor.policies.is_subset(&self.policies)
    }
}

impl From<ApprovalClass> for Approval {
    fn from(class: ApprovalClass) -> Approval {
        Approval { class, policies: BTreeSet::new() }
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            ApprovalClass::Auto => "auto",
            ApprovalClass::OnMutate => "on-mutate",
            ApprovalClass::Always => "always",
        };
        if self.policies.is_empty() {
            return f.write_str(class);
        }
        if self.class != ApprovalClass::Auto {
            write!(f, "{class} and ")?;
        }
        let policies: Vec<_> = self.policies.iter().map(|name| format!("policy:{name}")).collect();
        f.write_str(&policies.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(own: &str, floor: &str) -> bool {
        Approval::parse(own).unwrap().meets(&Approval::parse(floor).unwrap())
    }

    #[test]
    fn approval_strictness_orders_auto_on_mutate_always() {
        assert!(meets("always", "on-mutate") && meets("on-mutate", "auto"));
        assert!(!meets("auto", "on-mutate") && !meets("on-mutate", "always"));
    }

    #[test]
    fn a_policy_floor_needs_the_same_policy_or_always() {
        assert!(meets("policy:a", "policy:a") && meets("always", "policy:a"));
        for looser in ["auto", "on-mutate", "policy:b"] {
            assert!(!meets(looser, "policy:a"), "{looser}");
        }
    }

    #[test]
    fn a_policy_meets_a_class_floor_below_always() {
        assert!(meets("policy:a", "on-mutate") && !meets("policy:a", "always"));
    }
}
