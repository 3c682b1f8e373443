//! Effect profile: what a call may change, how certain that is, and the fingerprint people accept.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Approval, Digest};

/// The seven tool classes, from least to most severe; the order is the rule for combining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectClass {
    /// Changes nothing at its source.
    ReadOnly,
    /// Changes something, with a documented way back.
    ReversibleWrite,
    /// A message or publication leaves the task's boundary.
    ExternalCommunication,
    /// Runs commands or code.
    CodeExecution,
    /// Cannot be reliably undone.
    Irreversible,
    /// Touches identity, access, policy, infrastructure or security settings.
    Administrative,
    /// Moves value or decides about people.
    FinancialHighImpact,
}

impl EffectClass {
    /// Every class, mildest first.
    pub const ALL: [EffectClass; 7] = [
        EffectClass::ReadOnly,
        EffectClass::ReversibleWrite,
        EffectClass::ExternalCommunication,
        EffectClass::CodeExecution,
        EffectClass::Irreversible,
        EffectClass::Administrative,
        EffectClass::FinancialHighImpact,
    ];

    /// The spelling in manifests.
    pub fn name(self) -> &'static str {
        match self {
            EffectClass::ReadOnly => "read-only",
            EffectClass::ReversibleWrite => "reversible-write",
            EffectClass::ExternalCommunication => "external-communication",
            EffectClass::CodeExecution => "code-execution",
            EffectClass::Irreversible => "irreversible",
            EffectClass::Administrative => "administrative",
            EffectClass::FinancialHighImpact => "financial-high-impact",
        }
    }

    /// Reads kebab-case, camelCase or snake_case.
    pub fn parse(text: &str) -> Option<EffectClass> {
        let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
        EffectClass::ALL.into_iter().find(|class| plain(class.name()) == plain(text))
    }

    /// The lowest risk level that a tool of this class can have.
    pub fn risk(self) -> Risk {
        match self {
            EffectClass::ReadOnly => Risk::READ,
            EffectClass::ReversibleWrite => Risk::SCOPED_WRITE,
            EffectClass::ExternalCommunication | EffectClass::CodeExecution => Risk::EXTERNAL,
            EffectClass::Irreversible
            | EffectClass::Administrative
            | EffectClass::FinancialHighImpact => Risk::IRREVERSIBLE,
        }
    }

    /// Whether a tool of this class can destroy something.
    pub fn destructive(self) -> bool {
        self.risk() == Risk::IRREVERSIBLE
    }
}

/// Risk level: 0 read, 1 scoped write, 2 external effect, 3 irreversible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Risk(u8);

impl Risk {
    /// Reads only.
    pub const READ: Risk = Risk(0);
    /// Writes inside a known scope.
    pub const SCOPED_WRITE: Risk = Risk(1);
    /// Reaches outside.
    pub const EXTERNAL: Risk = Risk(2);
    /// Cannot be taken back.
    pub const IRREVERSIBLE: Risk = Risk(3);

    /// A level from 0 to 3.
    pub fn new(level: i64) -> Option<Risk> {
        u8::try_from(level).ok().filter(|level| *level <= 3).map(Risk)
    }

    /// The level as a number.
    pub fn level(self) -> u8 {
        self.0
    }

    /// Agent Tool's word for the level.
    pub fn word(self) -> &'static str {
        match self.0 {
            0 => "low",
            1 => "medium",
            2 => "high",
            _ => "critical",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The part before the colon of a `mutates` entry, as far as the specs know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationClass {
    /// Files of the workspace.
    Workspace,
    /// State behind a host.
    Network,
    /// A table.
    Database,
    /// A credential.
    Secret,
    /// A service outside.
    External,
    /// A class that no spec defines; it counts as the worst.
    Other,
}

impl MutationClass {
    /// The class of an entry such as `external:payments`.
    pub fn of(entry: &str) -> MutationClass {
        match entry.split(':').next() {
            Some("workspace" | "storage") => MutationClass::Workspace,
            Some("network") => MutationClass::Network,
            Some("database") => MutationClass::Database,
            Some("secret") => MutationClass::Secret,
            Some("external") => MutationClass::External,
            _ => MutationClass::Other,
        }
    }

    /// The lowest risk that this kind of change implies where none is stated.
    pub fn risk(self) -> Risk {
        match self {
            MutationClass::Workspace => Risk::SCOPED_WRITE,
            MutationClass::Network
            | MutationClass::Database
            | MutationClass::Secret
            | MutationClass::External => Risk::EXTERNAL,
            MutationClass::Other => Risk::IRREVERSIBLE,
        }
    }

    /// Agent Tool's `access_kinds` word.
    pub fn access_kind(self) -> &'static str {
        match self {
            MutationClass::Workspace => "file_write",
            MutationClass::Network => "network",
            MutationClass::Database => "x:database",
            MutationClass::Secret => "credential",
            MutationClass::External => "external_send",
            MutationClass::Other => "x:other",
        }
    }

    /// Agent Tool's `write_effects` word.
    pub fn write_effect(self) -> &'static str {
        match self {
            MutationClass::Workspace => "local_persistent",
            MutationClass::Network
            | MutationClass::Database
            | MutationClass::Secret
            | MutationClass::External
            | MutationClass::Other => "remote_mutation",
        }
    }
}

/// Three-valued fact: yes, no, or unstated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tri {
    /// Known to be so.
    Yes,
    /// Known not to be so.
    No,
    /// Not stated and not provable.
    Unknown,
}

/// How a safety fact is settled for one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactRule {
    /// The same for every input.
    Stated(bool),
    /// An expression over the input.
    Expression(String),
    /// A named classifier.
    Classifier(String),
    /// The value of another fact.
    SameAs(String),
    /// Not stated: the unsafe value holds.
    #[default]
    Unstated,
}

impl FactRule {
    /// Parses a boolean or a rule string.
    pub fn parse(text: &str) -> FactRule {
        if let Some(name) = text.strip_prefix("classifier:") {
            FactRule::Classifier(name.to_owned())
        } else if let Some(field) = text.strip_prefix("same_as:") {
            FactRule::SameAs(field.to_owned())
        } else {
            FactRule::Expression(text.to_owned())
        }
    }
}

/// The safety facts of a contract before any input is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Changes nothing anywhere.
    pub read_only: Tri,
    /// May destroy something.
    pub destructive: Tri,
    /// May reach a host that no allowlist names.
    pub open_world: Tri,
    /// May run in parallel with other calls.
    pub concurrency_safe: FactRule,
}

/// A fact that no manifest states and that the reader filled in, fail-closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InferredFact {
    /// Name of the fact.
    pub field: &'static str,
    /// The fail-closed value.
    pub value: String,
    /// Why the reader filled it in.
    pub source: String,
}

/// Capabilities that a call needs: hosts, secrets, other tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requires {
    /// Hosts, or `*`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub network: BTreeSet<String>,
    /// Slugs of secrets.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub secrets: BTreeSet<String>,
    /// Ids of tools.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<String>,
}

impl Requires {
    /// The union of both sets.
    pub fn and(&self, other: &Requires) -> Requires {
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.union(b).cloned().collect();
        Requires {
            network: both(&self.network, &other.network),
            secrets: both(&self.secrets, &other.secrets),
            tools: both(&self.tools, &other.tools),
        }
    }
}

/// Everything a contract says or implies about its effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectProfile {
    /// `<class>:<scope>` entries.
    pub mutates: BTreeSet<String>,
    /// Whether the entries are complete. Where the contract does not say, anything may change.
    pub mutates_stated: bool,
    /// Tool classes, stated or implied.
    pub classes: BTreeSet<EffectClass>,
    /// The effective risk level.
    pub risk: Risk,
    /// Required capabilities.
    pub requires: Requires,
    /// The contract's approval requirement.
    pub approval: Approval,
    /// The safety facts.
    pub facts: Facts,
    /// Facts that the reader filled in, fail-closed.
    pub inferred: Vec<InferredFact>,
}

impl EffectProfile {
    /// The digest of the effects alone: equal fingerprints mean equal effects.
    pub fn fingerprint(&self) -> Digest {
        Digest::of(&(
            (&self.mutates, self.mutates_stated, &self.classes, self.risk),
            (&self.requires, &self.approval, self.facts.read_only, self.facts.open_world),
        ))
    }

    /// Whether one call may change something, as far as the contract can tell.
    pub fn may_mutate(&self) -> bool {
        self.facts.read_only != Tri::Yes
    }
}

/// Effect tier: the most that a call may do; the order is the rule for comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// It changes nothing.
    Read,
    /// It changes something and destroys nothing.
    Write,
    /// It may destroy something, or the contract does not rule that out.
    Destructive,
}

impl Tier {
    /// All tiers, from least to most.
    pub const ALL: [Tier; 3] = [Tier::Read, Tier::Write, Tier::Destructive];

    /// The lowest tier that covers a contract.
    pub fn of(effects: &EffectProfile) -> Tier {
        match (effects.may_mutate(), effects.facts.destructive) {
            (false, _) => Tier::Read,
            (true, Tri::No) => Tier::Write,
            (true, Tri::Yes | Tri::Unknown) => Tier::Destructive,
        }
    }

    /// The name of the call tool for this tier, where calls are split by what they may do.
    pub fn way(self) -> &'static str {
        match self {
            Tier::Read => "call_read",
            Tier::Write => "call_write",
            Tier::Destructive => "call_destructive",
        }
    }

    /// What a tool of this tier may do, in words.
    pub fn about(self) -> &'static str {
        match self {
            Tier::Read => "a read",
            Tier::Write => "a write",
            Tier::Destructive => "destructive, or not declared otherwise",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_in_all_three_spellings() {
        for text in ["financial-high-impact", "financialHighImpact", "financial_high_impact"] {
            assert_eq!(EffectClass::parse(text), Some(EffectClass::FinancialHighImpact));
        }
        assert_eq!(EffectClass::parse("harmless"), None);
    }

    #[test]
    fn an_unknown_mutation_class_is_taken_to_be_irreversible() {
        assert_eq!(MutationClass::of("ledger:all").risk(), Risk::IRREVERSIBLE);
        assert_eq!(MutationClass::of("workspace:/docs").risk(), Risk::SCOPED_WRITE);
    }
}
