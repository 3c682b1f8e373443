//! Policy decision: the opinions about a call and the verdict. `policy` makes it, the ledger keeps
//! it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{Code, Signer, Timestamp, Verdict};

words! {
    /// The layer that an opinion comes from.
    Layer {
        /// A document that could not be read, or a source that failed; fails closed.
        Fault "fault",
        /// AIP-38 grants.
        Grant "grant",
        /// AIP-38 limits.
        Limit "limit",
        /// AIP-38 requirements.
        Requirement "requirement",
        /// An AIP-7 policy.
        Policy "policy",
        /// GOVERNANCE.md.
        Governance "governance",
        /// A rule of haft.toml.
        Rule "rule",
        /// The contract's own floor.
        Contract "contract",
        /// A classifier.
        Classifier "classifier",
        /// A hook.
        Hook "hook",
        /// Risk against autonomy, where no rule applies.
        Autonomy "autonomy",
        /// A standing approval.
        Standing "standing",
        /// A person's answer.
        Person "person",
    }
}

words! {
    /// What an opinion says; a layer without an opinion passes.
    Says {
        /// Allow the call.
        Allow "allow",
        /// Leave the decision to another layer.
        Passthrough "passthrough",
        /// Ask a person.
        Ask "ask",
        /// Deny the call.
        Deny "deny",
    }
}

words! {
    /// What may answer an ask instead of a person, from most to least.
    Firmness {
        /// An allow rule, a hook's allow, or a standing answer.
        Default "default",
        /// A standing answer.
        Rememberable "rememberable",
        /// Nothing: a person answers each time.
        Always "always",
    }
}

/// One layer's opinion about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// The layer that speaks.
    pub layer: Layer,
    /// The opinion itself.
    pub says: Says,
    /// Name or place of the rule, grant, policy or hook behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether the workspace trusts the hook behind it, so that its allow answers more than default
    /// asks; only the runtime sets it, from the hook. Absent in a record means false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// The reason, in one line.
    pub reason: String,
    /// For an ask: what else may answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmness: Option<Firmness>,
    /// For an ask: who has to answer.
    #[serde(default, skip_serializing_if = "Needs::is_nobody_special")]
    pub needs: Needs,
    /// Set when another opinion answered this ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

impl Opinion {
    /// Whether a source was asked for it at call time, in contrast to a rule on file.
    pub fn is_heard(&self) -> bool {
        matches!(self.layer, Layer::Hook | Layer::Classifier)
    }

    /// An opinion with a reason.
    pub fn new(layer: Layer, says: Says, reason: impl Into<String>) -> Opinion {
        Opinion {
            layer,
            says,
            rule: None,
            trusted: false,
            reason: reason.into(),
            firmness: None,
            needs: Needs::default(),
            answered_by: None,
        }
    }

    /// Names the rule behind the opinion.
    pub fn by(self, rule: impl Into<String>) -> Opinion {
        Opinion { rule: Some(rule.into()), ..self }
    }

    /// Sets what else may answer an ask.
    pub fn firm(self, firmness: Firmness) -> Opinion {
        Opinion { firmness: Some(firmness), ..self }
    }

    /// Sets who has to answer an ask.
    pub fn needing(self, needs: Needs) -> Opinion {
        Opinion { needs, ..self }
    }
}

/// Quorum of an ask: who has to answer it, and how many of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Number of different people.
    pub count: u64,
    /// Signers that count; empty means any approver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
    /// Separation of duties: whether the caller may not be among the signers.
    #[serde(default)]
    pub not_the_caller: bool,
}

impl Default for Needs {
    /// Any one approver, the caller included.
    fn default() -> Needs {
        Needs { count: 1, signers: Vec::new(), not_the_caller: false }
    }
}

impl Needs {
    /// Whether any one approver satisfies it.
    pub fn is_nobody_special(&self) -> bool {
        *self == Needs::default()
    }
}

/// The verdict about a call, with every opinion behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The opinion that settled it, as an index into `opinions`; `None` when no layer had an
    /// opinion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<usize>,
    /// Every opinion, in layer order.
    pub opinions: Vec<Opinion>,
    /// For an ask: every quorum that has to be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Needs>,
    /// For a denial: its error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For an ask: changes that would make it unnecessary. Offers, never decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_updates: Vec<Value>,
    /// When the policy stage decided.
    pub decided_at: Timestamp,
}

impl Decision {
    /// The opinion that settled it.
    pub fn settled_by(&self) -> Option<&Opinion> {
        self.deciding.and_then(|index| self.opinions.get(index))
    }

    /// The reason of the deciding opinion, in one line.
    pub fn reason(&self) -> &str {
        self.settled_by().map_or("no rule or policy allows the call", |opinion| &opinion.reason)
    }

    /// Whether a standing answer could settle the ask.
    pub fn rememberable(&self) -> bool {
        let asks = || {
            self.opinions
                .iter()
                .filter(|opinion| opinion.says == Says::Ask && opinion.answered_by.is_none())
        };
        self.verdict == Verdict::Ask
            && asks()
                .all(|ask| ask.firmness != Some(Firmness::Always) && ask.needs.is_nobody_special())
    }
}
