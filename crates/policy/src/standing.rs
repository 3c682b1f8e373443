//! Standing answers: an earlier approval that also answers calls like this one.

use haft_model::{Layer, Opinion, Says};

use crate::Matter;

/// Allow of a standing answer for this actor, tenant, tool and exactly these effects.
pub(crate) fn opinion(matter: &Matter<'_>) -> Option<Opinion> {
    let plan = matter.plan;
    let tool = plan.tool.to_string();
    let effects = plan.effects.fingerprint();
    let found = matter.standing.iter().find(|answer| {
        answer.actor == plan.actor.id
            && *answer.tenant == *plan.actor.tenant
            && answer.tool == tool
            && answer.effects == effects
    })?;
    let reason = format!("`{}` said so for calls like this one", found.by);
    Some(Opinion::new(Layer::Standing, Says::Allow, reason).by(found.id.as_str()))
}
