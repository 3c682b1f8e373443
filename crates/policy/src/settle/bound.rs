//! Approval binding: compares what would run with what was approved.

use haft_model::{ApprovalAnswer, ApprovalBinding, Digest, Plan, Question};

/// Digest of the input that an answer approves, or of the form content that it fills in.
pub(super) fn approved_input<'a>(question: &'a Question, answer: &'a ApprovalAnswer) -> &'a Digest {
    let own = answer.content.as_ref().or(answer.edited_input.as_ref());
    own.unwrap_or(&question.bound.call_input)
}

/// Difference from what the question was about; `None` if there is none.
pub(super) fn difference(
    question: &Question,
    answers: &[&ApprovalAnswer],
    plan: &Plan,
    bound: &ApprovalBinding,
) -> Option<String> {
    let mut parts = parts(&question.bound, bound);
    parts.extend(strangers(plan, bound));
    if !parts.is_empty() {
        return Some(format!("{} changed since it was asked", parts.join(", ")));
    }
    let wanted = |answer: &&&ApprovalAnswer| approved_input(question, answer) == &bound.call_input;
    let edited = answers.iter().any(|answer| answer.edited_input.is_some());
    match answers.iter().find(wanted) {
        Some(_) => None,
        None if edited => Some("input edited".to_owned()),
        None if question.bound.call_input != bound.call_input => {
            Some("the input changed since it was asked".to_owned())
        }
        None => None,
    }
}

/// Changed parts except the input, which answers may substitute.
fn parts(asked: &ApprovalBinding, now: &ApprovalBinding) -> Vec<&'static str> {
    let ApprovalBinding {
        invocation,
        tool,
        driver,
        driver_version,
        driver_digest,
        call_input,
        targets,
        effects,
        actor,
        tenant,
    } = asked;
    let same_driver = *driver == now.driver
        && *driver_version == now.driver_version
        && *driver_digest == now.driver_digest;
    [
        ("the call", *invocation != now.invocation),
        ("the tool or its version", *tool != now.tool),
        ("the driver", !same_driver),
        // A substituted input has other targets, and the answers are matched to it separately.
        ("what it touches", *targets != now.targets && *call_input == now.call_input),
        ("the effects", *effects != now.effects),
        ("the actor", *actor != now.actor),
        ("the tenant", *tenant != now.tenant),
    ]
    .into_iter()
    .filter_map(|(part, differs)| differs.then_some(part))
    .collect()
}

/// Parts of the plan that differ from the binding; the permit would be for the plan.
fn strangers(plan: &Plan, bound: &ApprovalBinding) -> Vec<&'static str> {
    [
        ("the plan's tool", format!("{}@{}", plan.tool.id, plan.version) != bound.tool),
        ("the plan's driver", plan.route.driver != bound.driver),
        ("the plan's effects", plan.effects.fingerprint() != bound.effects),
        ("the plan's actor", plan.actor.id != bound.actor),
        ("the plan's tenant", *plan.actor.tenant != *bound.tenant),
    ]
    .into_iter()
    .filter_map(|(part, differs)| differs.then_some(part))
    .collect()
}
