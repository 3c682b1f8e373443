//! Approval quorum: counts whether the required approvers approved.

use haft_model::{Needs, Plan, Question};

use super::people::{Voter, in_words};
use crate::Rulebook;

/// Requirements of a question; by default any one approver.
pub(super) fn needs(question: &Question) -> Vec<Needs> {
    if question.needs.is_empty() { vec![Needs::default()] } else { question.needs.clone() }
}

/// Missing approvers as text; `None` where every requirement is met.
pub(super) fn unmet(
    rulebook: &Rulebook,
    question: &Question,
    approving: &[Voter<'_>],
    plan: &Plan,
) -> Option<String> {
    let missing: Vec<String> = needs(question)
        .iter()
        .filter(|needs| !is_met(rulebook, question, needs, approving, plan))
        .map(in_words)
        .collect();
    (!missing.is_empty()).then(|| format!("it needs {}", missing.join(", and ")))
}

fn is_met(
    rulebook: &Rulebook,
    question: &Question,
    needs: &Needs,
    approving: &[Voter<'_>],
    plan: &Plan,
) -> bool {
    let typist = plan.actor.speaking.as_ref();
    let mut counted: Vec<&Voter<'_>> = Vec::new();
    for voter in approving.iter().filter(|voter| voter.counts_for(rulebook, needs, &question.bound))
    {
        // A person who speaks as the caller counts as the caller.
        let called = needs.not_the_caller && typist.is_some_and(|typist| voter.is(typist));
        if !called && !counted.iter().any(|other| other.is_same_person(voter)) {
            counted.push(voter);
        }
    }
    let quorums: Vec<u64> = counted.iter().map(|voter| voter.quorum(rulebook)).collect();
    reaches(needs.count, &quorums)
}

/// Returns true if a subset of the approvers meets both the required count and the quorum of each
/// member. Leaving out the approver with the largest quorum is never worse.
fn reaches(count: u64, quorums: &[u64]) -> bool {
    quorums.iter().any(|most| {
        let agree = quorums.iter().filter(|quorum| *quorum <= most).count() as u64;
        agree >= count.max(*most)
    })
}

#[cfg(test)]
mod tests {
    use super::reaches;

    #[test]
    fn quorum_raises_count_and_extra_approval_never_hurts() {
        assert!(reaches(1, &[1]) && !reaches(2, &[1]) && reaches(2, &[1, 1]));
        assert!(!reaches(1, &[2]) && reaches(1, &[2, 2]) && reaches(1, &[2, 1]));
        assert!(reaches(1, &[1, 3]), "one who needs nobody else is enough");
        assert!(!reaches(1, &[]) && !reaches(0, &[]));
    }
}
