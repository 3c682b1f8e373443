//! Effect derivation: risk, effect classes and safety facts of a contract, fail-closed.
//!
//! Absent is not the same as stated empty: a tool that says nothing about what it changes is taken
//! to change something. Whatever is filled in is recorded as inferred.

use std::collections::BTreeSet;

use haft_model::{
    EffectClass, EffectProfile, FactRule, Facts, InferredFact, MutationClass, Requires, Risk, Tri,
};

use crate::{Action, ToolManifest};

/// The effects of a tool under the floor of its action.
pub(crate) fn derive(tool: &ToolManifest, action: Option<&Action>) -> EffectProfile {
    let mut inferred = Vec::new();
    let mutates = mutates(tool, action);
    let stated = StatedEffects {
        mutates: mutates.as_ref(),
        risk: tool.risk.max(action.and_then(|action| action.risk)),
        trusted: tool.extras.imported.as_ref().is_none_or(|imported| imported.vouched),
        tool,
    };
    let requires = requires(tool, action);
    let risk = stated.risk(&mut inferred);
    let facts = Facts {
        read_only: stated.read_only(&mut inferred),
        destructive: stated.destructive(risk, &mut inferred),
        open_world: stated.open_world(requires.as_ref(), &mut inferred),
        concurrency_safe: tool.extras.concurrency.safe.clone(),
    };
    let classes = stated.classes(facts.read_only, &mut inferred);
    let floor = action.map(|action| action.approval.clone()).unwrap_or_default();
    EffectProfile {
        approval: tool.approval.clone().unwrap_or_default().and(&floor),
        mutates_stated: mutates.is_some() || facts.read_only == Tri::Yes,
        mutates: mutates.unwrap_or_default(),
        requires: requires.unwrap_or_default(),
        classes,
        risk,
        facts,
        inferred,
    }
}

fn mutates(tool: &ToolManifest, action: Option<&Action>) -> Option<BTreeSet<String>> {
    let floor = action.and_then(|action| action.mutates.clone());
    match (tool.mutates.clone(), floor) {
        (Some(own), Some(floor)) => Some(own.union(&floor).cloned().collect()),
        (own, floor) => own.or(floor),
    }
}

fn requires(tool: &ToolManifest, action: Option<&Action>) -> Option<Requires> {
    let floor = action.and_then(|action| action.requires.as_ref());
    match (&tool.requires, floor) {
        (Some(own), Some(floor)) => Some(own.and(floor)),
        (own, floor) => own.clone().or_else(|| floor.cloned()),
    }
}

/// The effects that tool and action state together.
struct StatedEffects<'a> {
    mutates: Option<&'a BTreeSet<String>>,
    risk: Option<Risk>,
    trusted: bool,
    tool: &'a ToolManifest,
}

impl StatedEffects<'_> {
    /// The highest of what is declared and what the stated classes imply. Where nothing is declared,
    /// or the manifest is not trusted, what it changes sets a floor too.
    fn risk(&self, inferred: &mut Vec<InferredFact>) -> Risk {
        let classes = self.tool.extras.classes.iter().map(|class| class.risk()).max();
        let changes = match self.mutates {
            Some(entries) => entries.iter().map(|entry| MutationClass::of(entry).risk()).max(),
            None if self.tool.extras.classes.is_empty() && !self.says_read_only() => {
                Some(Risk::IRREVERSIBLE)
            }
            None => None,
        };
        if let (Some(declared), true) = (self.risk, self.trusted) {
            return declared.max(classes.unwrap_or(Risk::READ));
        }
        let risk = self.risk.max(classes).max(changes).unwrap_or(Risk::READ);
        if self.risk.is_none() {
            let source = match (self.mutates, classes) {
                (None, None) => "neither `risk_level` nor `mutates` is stated",
                (None, Some(_)) => "`risk_level` is not stated; the tool's class implies it",
                (Some(_), _) => "`risk_level` is not stated; `mutates` implies it",
            };
            inferred.push(fact("risk_level", risk, source));
        }
        risk
    }

    /// Only a trusted contract that states an empty `mutates` and risk 0, or the fact itself and
    /// nothing against it, is read-only.
    fn read_only(&self, inferred: &mut Vec<InferredFact>) -> Tri {
        let nothing_changes = self.mutates.is_some_and(BTreeSet::is_empty);
        let something_changes = self.mutates.is_some_and(|entries| !entries.is_empty());
        let risky = self.risk.is_some_and(|risk| risk > Risk::READ);
        let stated = &self.tool.extras.facts.read_only;
        if something_changes || risky || !self.trusted || *stated == FactRule::Stated(false) {
            return Tri::No;
        }
        if *stated == FactRule::Stated(true) || (nothing_changes && self.risk.is_some()) {
            return match stated {
                FactRule::Stated(_) | FactRule::Unstated => Tri::Yes,
                FactRule::Expression(_) | FactRule::Classifier(_) | FactRule::SameAs(_) => {
                    Tri::Unknown
                }
            };
        }
        inferred.push(fact(
            "is_read_only",
            false,
            "`mutates: []` and `risk_level: 0` are not both stated",
        ));
        Tri::No
    }

    fn destructive(&self, risk: Risk, inferred: &mut Vec<InferredFact>) -> Tri {
        let classes = &self.tool.extras.classes;
        if classes.iter().any(|class| class.destructive())
            || self.risk == Some(Risk::IRREVERSIBLE)
            || self.tool.extras.facts.destructive == FactRule::Stated(true)
        {
            return Tri::Yes;
        }
        let harmless = classes.contains(&EffectClass::ReversibleWrite)
            || self.tool.extras.facts.destructive == FactRule::Stated(false)
            || self.read_only(&mut Vec::new()) == Tri::Yes;
        if harmless && self.trusted {
            return Tri::No;
        }
        let source = format!("nothing says that it can be undone; effective risk is {risk}");
        inferred.push(InferredFact { field: "is_destructive", value: "unknown".into(), source });
        Tri::Unknown
    }

    fn open_world(&self, requires: Option<&Requires>, inferred: &mut Vec<InferredFact>) -> Tri {
        let stated = &self.tool.extras.facts.open_world;
        if *stated == FactRule::Stated(true) {
            return Tri::Yes;
        }
        match requires {
            Some(requires) if requires.network.contains("*") => Tri::Yes,
            Some(_) if self.trusted => Tri::No,
            None if *stated == FactRule::Stated(false) && self.trusted => Tri::No,
            _ => {
                inferred.push(fact(
                    "is_open_world",
                    true,
                    "`requires.network` does not name the hosts it reaches",
                ));
                Tri::Unknown
            }
        }
    }

    /// The classes stated, or those that the changes imply. Nothing is `read-only` by saying so: it
    /// has to be true.
    fn classes(&self, read_only: Tri, inferred: &mut Vec<InferredFact>) -> BTreeSet<EffectClass> {
        let mut stated = self.tool.extras.classes.clone();
        if read_only != Tri::Yes {
            stated.remove(&EffectClass::ReadOnly);
        }
        if !stated.is_empty() {
            return stated;
        }
        let undoable = self.tool.extras.compensation.is_some();
        let write = if undoable { EffectClass::ReversibleWrite } else { EffectClass::Irreversible };
        let implied: BTreeSet<EffectClass> = match self.mutates {
            _ if read_only == Tri::Yes => BTreeSet::from([EffectClass::ReadOnly]),
            None => BTreeSet::from([EffectClass::Irreversible]),
            Some(entries) if entries.is_empty() => BTreeSet::from([EffectClass::Irreversible]),
            Some(entries) => entries
                .iter()
                .map(|entry| match MutationClass::of(entry) {
                    MutationClass::Workspace | MutationClass::Database => write,
                    MutationClass::Network | MutationClass::External => {
                        EffectClass::ExternalCommunication
                    }
                    MutationClass::Secret => EffectClass::Administrative,
                    MutationClass::Other => EffectClass::Irreversible,
                })
                .collect(),
        };
        let names: Vec<&str> = implied.iter().map(|class| class.name()).collect();
        let source = if self.tool.extras.classes.is_empty() {
            "`metadata.haft.class` is not stated"
        } else {
            "the tool is called `read-only`, and does not show that it is"
        };
        inferred.push(fact("class", names.join(", "), source));
        implied
    }

    fn says_read_only(&self) -> bool {
        self.tool.extras.facts.read_only == FactRule::Stated(true)
    }
}

fn fact(field: &'static str, value: impl ToString, source: &str) -> InferredFact {
    InferredFact { field, value: value.to_string(), source: source.to_owned() }
}

#[cfg(test)]
mod tests;
