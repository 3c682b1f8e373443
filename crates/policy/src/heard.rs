//! What hooks and classifiers said, as the room before heard it.

use haft_model::{Firmness, Layer, Opinion, Says};

use crate::Matter;

/// The opinions from outside; whoever gave one cannot speak for a layer of ours, nor say that its
/// own ask has been answered.
///
/// A hook looks at one input, and a standing answer was given about others: unless the hook says
/// how firm its ask is, a person answers it.
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
