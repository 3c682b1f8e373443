//! Who somebody is when they answer: a person, in roles, whom the governance may know.

use haft_model::{
    Actor, ActorId, ApprovalAnswer, ApprovalBinding, Approver, Glob, Needs, Question, Signer,
    is_role, is_same_person, is_user,
};

use crate::Rulebook;

/// Somebody who answers, or has answered.
#[derive(Clone, Debug)]
pub(super) struct Voter<'a> {
    /// Whose answer it is.
    by: &'a ActorId,
    /// Who really typed it.
    speaking: Option<&'a ActorId>,
    /// Their roles, as the edge knows or knew them.
    roles: Vec<&'a str>,
}

impl<'a> Voter<'a> {
    pub(super) fn of_actor(actor: &'a Actor) -> Voter<'a> {
        let roles = actor.roles.iter().map(|role| role.name()).collect();
        Voter { by: &actor.id, speaking: actor.speaking.as_ref(), roles }
    }

    pub(super) fn of_answer(answer: &'a ApprovalAnswer) -> Voter<'a> {
        let roles = answer.roles.iter().map(String::as_str).collect();
        Voter { by: &answer.by, speaking: answer.speaking.as_ref(), roles }
    }

    /// Both names under which they act.
    fn names(&self) -> impl Iterator<Item = &ActorId> {
        [Some(self.by), self.speaking].into_iter().flatten()
    }

    /// Whether neither name is an agent's.
    pub(super) fn is_person(&self) -> bool {
        self.names().all(|id| id.as_str().starts_with("user:"))
    }

    /// Whether they hold the role of an auditor and no other, so that they change nothing.
    pub(super) fn only_audits(&self) -> bool {
        !self.roles.is_empty() && self.roles.iter().all(|held| is_role(held, "auditor"))
    }

    /// Whether one of them could be the other: no person counts twice by speaking as another, or in
    /// another role.
    pub(super) fn is_same_person(&self, other: &Voter<'_>) -> bool {
        other.names().any(|id| self.is(id))
    }

    /// Whether one of their names stands for this person.
    pub(super) fn is(&self, actor: &ActorId) -> bool {
        self.names().any(|id| is_same_person(id, actor))
    }

    /// Whether they may approve what a question is about at all.
    pub(super) fn may_approve(&self, rulebook: &Rulebook, question: &Question) -> bool {
        let admin = self.holds("admin");
        match self.listed(rulebook) {
            Some(listed) if listed.can_approve.is_empty() => false,
            Some(listed) => admin || approves(listed, question),
            None => admin || self.holds("approver"),
        }
    }

    /// Whether their answer counts for what somebody needs.
    pub(super) fn counts_for(
        &self,
        rulebook: &Rulebook,
        needs: &Needs,
        bound: &ApprovalBinding,
    ) -> bool {
        let allowed = !(needs.not_the_caller && self.is(&bound.actor));
        let signer = |signer: &Signer| match signer {
            Signer::User(name) => is_user(self.by, name),
            Signer::Role(role) => self.plays(rulebook, role),
        };
        allowed && (needs.signers.is_empty() || needs.signers.iter().any(signer))
    }

    /// How many have to agree where this person does, by the governance.
    pub(super) fn quorum(&self, rulebook: &Rulebook) -> u64 {
        let quorum = self.listed(rulebook).and_then(|listed| listed.quorum);
        quorum.map_or(1, |quorum| quorum.need)
    }

    fn holds(&self, role: &str) -> bool {
        self.roles.iter().any(|held| is_role(held, role))
    }

    /// Whether they hold a role, by what the edge knows or by what the governance says.
    fn plays(&self, rulebook: &Rulebook, role: &str) -> bool {
        let listed = self.listed(rulebook).and_then(|listed| listed.role.as_deref());
        self.holds(role) || listed.is_some_and(|listed| is_role(listed, role))
    }

    fn listed<'r>(&self, rulebook: &'r Rulebook) -> Option<&'r Approver> {
        rulebook.governance.approvers.values().find(|approver| is_user(self.by, &approver.id))
    }
}

/// Who has to answer, in words.
pub(crate) fn in_words(needs: &Needs) -> String {
    let signers: Vec<String> = needs
        .signers
        .iter()
        .map(|signer| match signer {
            Signer::Role(role) => format!("role `{role}`"),
            Signer::User(name) => format!("`{name}`"),
        })
        .collect();
    let from = if signers.is_empty() { "any approver".to_owned() } else { signers.join(" or ") };
    let count = if needs.count > 1 { format!("{} of ", needs.count) } else { String::new() };
    let apart = if needs.not_the_caller { ", not the caller" } else { "" };
    format!("{count}{from}{apart}")
}

/// Whether what the governance lets somebody approve covers a question: by the tool, or by what a
/// grant of it would name.
fn approves(approver: &Approver, question: &Question) -> bool {
    let tool = &question.bound.tool;
    let tool = tool.rsplit_once('@').map_or(tool.as_str(), |(id, _)| id);
    let grant = format!("tool:{tool}");
    let covers = |glob: Glob| {
        [tool, grant.as_str(), question.grant.as_str()].iter().any(|name| glob.matches(name))
    };
    approver.can_approve.iter().any(|pattern| covers(Glob::new(pattern)))
}
