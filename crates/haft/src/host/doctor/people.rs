//! Separation of duties checks: approvals that need more distinct persons than there are, and
//! auditors with further roles.

use std::collections::BTreeSet;

use haft_model::{ActorId, Needs, Role, Signer, is_role, is_same_person, is_user};

use super::super::{Host, vault};
use super::{Degree, DoctorFinding};
use crate::Rulebook;

/// A rule that asks persons, by its name.
struct Quorum {
    rule: String,
    needs: Needs,
}

/// A person who may answer, with the roles that are known of them.
struct Person {
    id: ActorId,
    roles: BTreeSet<String>,
}

impl Host {
    /// Everything about persons and their roles.
    pub(super) fn people_examined(&self) -> Vec<DoctorFinding> {
        let mut found = self.auditors_examined();
        // Who shows a token of an authorization server is known only when they come.
        if self.workspace().settings().server.oauth.is_none() {
            found.extend(self.quorums_examined());
        }
        found
    }

    /// Actors who are auditors and something else: an auditor changes nothing, whatever else they are.
    fn auditors_examined(&self) -> Vec<DoctorFinding> {
        let workspace = self.workspace();
        let actors = workspace.settings().actors.iter();
        let mixed =
            actors.filter(|actor| actor.roles.contains(&Role::Auditor) && actor.roles.len() > 1);
        let told = mixed.map(|actor| {
            let others = actor.roles.iter().filter(|role| **role != Role::Auditor);
            let others: Vec<&str> = others.map(|role| role.name()).collect();
            let words = format!(
                "`{}` is an auditor, who changes nothing, and has the role `{}` too",
                actor.id,
                others.join("` and `")
            );
            let mend = format!("give `{}` one of them under `[[actor]]` in haft.toml", actor.id);
            DoctorFinding::new("actor", Degree::Warning, words).mended_by(mend)
        });
        told.collect()
    }

    /// Rules that need more persons than could answer, or as many: then none of them may call.
    fn quorums_examined(&self) -> Vec<DoctorFinding> {
        let workspace = self.workspace();
        let rulebook = workspace.rulebook();
        let persons = self.persons(rulebook);
        let mut found = Vec::new();
        for Quorum { rule, needs } in quorums(rulebook) {
            let able = persons.iter().filter(|person| person.counts_for(&needs)).count() as u64;
            let mend = "add persons with their roles under `[[actor]]` in haft.toml";
            let seen = match needs.count {
                count if able < count => {
                    let words = format!("{rule} needs {count} persons, and {able} can answer");
                    DoctorFinding::new("approvals", Degree::Broken, words)
                }
                count if able == count && needs.not_the_caller => {
                    let words = format!(
                        "{rule} needs {count}, never the caller, and only {able} can answer: \
                         no call of theirs is ever approved"
                    );
                    DoctorFinding::new("approvals", Degree::Warning, words)
                }
                _ => continue,
            };
            found.push(seen.mended_by(mend));
        }
        found
    }

    /// The persons whom the settings and the governance name, and the one who runs this.
    fn persons(&self, rulebook: &Rulebook) -> Vec<Person> {
        let login = ["USER", "LOGNAME"].iter().find_map(|name| vault::variable(name));
        let owner = login.map(|login| self.owner(&login));
        let workspace = self.workspace();
        let listed = workspace.settings().actors.iter().map(|actor| self.actor(actor.id.as_str()));
        let known = owner.into_iter().chain(listed).map(|actor| Person {
            roles: actor.roles.iter().map(|role| role.name().to_owned()).collect(),
            id: actor.id,
        });
        let governed = rulebook.governance.approvers.values();
        let governed = governed.filter(|approver| !approver.can_approve.is_empty());
        let governed = governed.map(|approver| {
            let name = approver.id.trim_start_matches("user:");
            let roles = approver.role.iter().cloned().chain(["approver".to_owned()]).collect();
            Person { id: ActorId::from(format!("user:{name}").as_str()), roles }
        });
        let mut persons: Vec<Person> = Vec::new();
        for person in known.chain(governed).filter(|one| one.id.as_str().starts_with("user:")) {
            match persons.iter_mut().find(|known| is_same_person(&known.id, &person.id)) {
                Some(known) => known.roles.extend(person.roles),
                None => persons.push(person),
            }
        }
        persons
    }
}

impl Person {
    fn counts_for(&self, needs: &Needs) -> bool {
        let holds = |role: &str| self.roles.iter().any(|held| is_role(held, role));
        let may_approve = holds("admin") || holds("approver");
        let signs = |signer: &Signer| match signer {
            Signer::User(name) => is_user(&self.id, name),
            Signer::Role(role) => holds(role),
        };
        may_approve && (needs.signers.is_empty() || needs.signers.iter().any(signs))
    }
}

/// Every rule that asks a number of persons.
fn quorums(rulebook: &Rulebook) -> Vec<Quorum> {
    let rules = rulebook.rules.iter().filter(|rule| rule.quorum > 1 || !rule.signers.is_empty());
    let rules = rules.map(|rule| Quorum {
        rule: format!("the policy `{}`", rule.slug),
        needs: Needs {
            count: rule.quorum.max(1),
            signers: rule.signers.clone(),
            not_the_caller: true,
        },
    });
    let grants = rulebook.policies.iter().flat_map(|policy| {
        let conditions = policy.grants.iter().flat_map(|grant| &grant.conditions);
        conditions.filter(|one| one.kind == "approval-from").filter_map(|condition| {
            let role = condition.parameters.get("role")?.as_str()?.to_owned();
            let count = condition.parameters.get("count")?.as_u64()?.max(1);
            let needs = Needs { count, signers: vec![Signer::Role(role)], not_the_caller: true };
            Some(Quorum { rule: format!("the policy `{}`", policy.id), needs })
        })
    });
    let approvers = rulebook.governance.approvers.values().filter_map(|approver| {
        let count = approver.quorum?.need;
        let needs = Needs { count, ..Needs::default() };
        Some(Quorum { rule: format!("an approval by `{}`", approver.id), needs })
    });
    rules.chain(grants).chain(approvers).collect()
}
