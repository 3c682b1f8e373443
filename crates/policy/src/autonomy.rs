//! Autonomy check: compares the risk of a call with the workspace's autonomy where no rule or
//! policy decides.

use haft_model::{Firmness, Layer, MutationClass, Opinion, Risk, Says};

use crate::{Matter, Rulebook};

/// Allows a call up to the autonomy level; asks about one above it.
pub(crate) fn opinion(rulebook: &Rulebook, matter: &Matter<'_>) -> Opinion {
    let (risk, level) = (risk(matter), level(rulebook));
    if risk <= level {
        let reason = format!("risk {risk} is within autonomy {level}");
        return Opinion::new(Layer::Autonomy, Says::Allow, reason);
    }
    let reason = format!("risk {risk} is above autonomy {level}");
    Opinion::new(Layer::Autonomy, Says::Ask, reason).firm(Firmness::Default)
}

/// Autonomy level of agents: the lower of the settings' and the governance's.
pub(crate) fn level(rulebook: &Rulebook) -> Risk {
    let governed = rulebook.governance.autonomy.level.map(|level| {
        let level = i64::try_from(level).ok().and_then(Risk::new);
        // A level above the scale restricts nothing.
        level.unwrap_or(Risk::IRREVERSIBLE)
    });
    governed.map_or(rulebook.autonomy, |governed| governed.min(rulebook.autonomy))
}

/// Effective risk: for an untrusted contract at least what its mutations and classes imply.
pub(crate) fn risk(matter: &Matter<'_>) -> Risk {
    let effects = &matter.plan.effects;
    if matter.trusted {
        return effects.risk;
    }
    let changes = effects.mutates.iter().map(|entry| MutationClass::of(entry).risk());
    let classes = effects.classes.iter().map(|class| class.risk());
    let silence = (!effects.mutates_stated).then_some(Risk::IRREVERSIBLE);
    changes.chain(classes).chain(silence).fold(effects.risk, Risk::max)
}
