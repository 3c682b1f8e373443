//! Approver identity: the person, roles and governance entry behind an answer.

use haft_model::{
    Actor, ActorId, ApprovalAnswer, ApprovalBinding, Approver, Glob, Needs, Question, Signer,
    is_role, is_same_person, is_user,
};

use crate::Rulebook;

/// An actor who answers, or has answered.
#[derive(Clone, Debug)]
pub(super) struct Voter<'a> {
    /// Actor of the answer.
    by: &'a ActorId,
    /// Person who speaks as that actor.
    speaking: Option<&'a ActorId>,
    /// Roles, as the edge knows or knew them.
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

    /// Both ids under which the voter acts.
    fn names(&self) -> impl Iterator<Item = &ActorId> {
        [Some(self.by), self.speaking].into_iter().flatten()
    }

    /// Returns true if both ids are a user's.
    pub(super) fn is_person(&self) -> bool {
        self.names().all(|id| id.as_str().starts_with("user:"))
    }

    /// Returns true for an auditor without another role, who changes nothing.
    pub(super) fn only_audits(&self) -> bool {
        !self.roles.is_empty() && self.roles.iter().all(|held| is_role(held, "auditor"))
    }

    /// Returns true if two voters may be one person: speaking as another, or in another role, does
    /// not count twice.
    pub(super) fn is_same_person(&self, other: &Voter<'_>) -> bool {
        other.names().any(|id| self.is(id))
    }

    /// Returns true if one of the ids stands for this person.
    pub(super) fn is(&self, actor: &ActorId) -> bool {
        self.names().any(|id| is_same_person(id, actor))
    }

    /// Returns true if the voter may approve the question's tool.
    pub(super) fn may_approve(&self, rulebook: &Rulebook, question: &Question) -> bool {
        let admin = self.holds("admin");
        match self.listed(rulebook) {
            Some(listed) if listed.can_approve.is_empty() => false,
            Some(listed) => admin || approves(listed, question),
            None => admin || self.holds("approver"),
        }
    }

    /// Returns true if the voter's answer counts for a requirement.
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

    /// Number of approvers that the governance requires where this voter is one; 1 by default.
    pub(super) fn quorum(&self, rulebook: &Rulebook) -> u64 {
        let quorum = self.listed(rulebook).and_then(|listed| listed.quorum);
        quorum.map_or(1, |quorum| quorum.need)
    }

    fn holds(&self, role: &str) -> bool {
        self.roles.iter().any(|held| is_role(held, role))
    }

    /// Returns true if the voter holds a role, according to the edge or the governance.
    fn plays(&self, rulebook: &Rulebook, role: &str) -> bool {
        let listed = self.listed(rulebook).and_then(|listed| listed.role.as_deref());
        self.holds(role) || listed.is_some_and(|listed| is_role(listed, role))
    }

    fn listed<'r>(&self, rulebook: &'r Rulebook) -> Option<&'r Approver> {
        rulebook.governance.approvers.values().find(|approver| is_user(self.by, &approver.id))
    }
}

/// Required approvers as text.
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

/// Returns true if the approver's entry covers a question, by tool or by grant key.
fn approves(approver: &Approver, question: &Question) -> bool {
    let tool = &question.bound.tool;
    let tool = tool.rsplit_once('@').map_or(tool.as_str(), |(id, _)| id);
    let grant = format!("tool:{tool}");
    let covers = |glob: &Glob| {
        [tool, grant.as_str(), question.grant.as_str()].iter().any(|name| glob.matches(name))
    };
    approver.can_approve.iter().any(covers)
}
