//! Hook layer: opinions of hooks and classifiers, confined to their own layers.

use haft_model::{Firmness, Layer, Opinion, Says};

use crate::Matter;

/// Opinions of hooks and classifiers. INVARIANT: a hook cannot speak for another layer, nor mark
/// its own ask as answered.
///
/// A hook judges one input, and a standing answer was given for others: unless the hook states the
/// firmness of its ask, a person answers it.
pub(crate) fn opinions(matter: &Matter<'_>) -> impl Iterator<Item = Opinion> {
    matter.opinions.iter().cloned().map(|heard| {
        let layer = match heard.layer {
            Layer::Hook | Layer::Classifier | Layer::Fault => heard.layer,
            Layer::Grant
            | Layer::Limit
            | Layer::Requirement
            | Layer::Policy
            | Layer::Governance
            | Layer::Rule
            | Layer::Contract
            | Layer::Autonomy
            | Layer::Standing
            | Layer::Person => Layer::Hook,
        };
        let asks = heard.says == Says::Ask;
        let firmness = asks.then(|| heard.firmness.unwrap_or(Firmness::Always));
        Opinion { layer, firmness, answered_by: None, ..heard }
    })
}
