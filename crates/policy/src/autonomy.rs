//! Risk against autonomy: what holds where no rule speaks.

use haft_model::{Firmness, Layer, MutationClass, Opinion, Risk, Says};

use crate::{Matter, Rulebook};

/// A call up to the workspace's autonomy goes, and one above it asks.
pub(crate) fn opinion(rulebook: &Rulebook, matter: &Matter<'_>) -> Opinion {
    let (risk, level) = (risk(matter), level(rulebook));
    if risk <= level {
        let reason = format!("risk {risk} is within autonomy {level}");
        return Opinion::new(Layer::Autonomy, Says::Allow, reason);
    }
    let reason = format!("risk {risk} is above autonomy {level}");
    Opinion::new(Layer::Autonomy, Says::Ask, reason).firm(Firmness::Default)
}

/// How far agents go alone: the lower of what the settings and the governance say.
pub(crate) fn level(rulebook: &Rulebook) -> Risk {
    let governed = rulebook.governance.autonomy.level.map(|level| {
        let level = i64::try_from(level).ok().and_then(Risk::new);
        // A level beyond the ladder lowers nothing.
        level.unwrap_or(Risk::IRREVERSIBLE)
    });
    governed.map_or(rulebook.autonomy, |governed| governed.min(rulebook.autonomy))
}

/// The risk that counts: what a contract that is not trusted says is at least what its changes and
/// classes imply.
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
