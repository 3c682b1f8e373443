//! Governance layer: missing policies and the default approval of GOVERNANCE.md.

use haft_model::{ApprovalClass, Layer, Opinion, Says};

use crate::{Matter, Rulebook, contract, policies};

/// Denies for policies that the governance names and no file defines, and applies the default
/// approval where no AIP-7 policy decided the call.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>, judged: bool) -> Vec<Opinion> {
    let mut opinions = policies::missing(rulebook, matter);
    let Some(approval) = &rulebook.governance.autonomy.default_approval else { return opinions };
    if judged {
        return opinions;
    }
    let asked = contract::asked_by(Layer::Governance, approval.class, matter);
    let asked = asked.map(|ask| ask.by("defaultApproval"));
    let quiet = asked.is_none() && approval.policies.is_empty();
    opinions.extend(asked);
    opinions.extend(contract::obligations(rulebook, matter, Layer::Governance, approval));
    if quiet {
        let reason = match approval.class {
            ApprovalClass::Auto => "approval is `auto` by default: others decide",
            ApprovalClass::OnMutate | ApprovalClass::Always => {
                "approval is `on-mutate` by default, and the call changes nothing: others decide"
            }
        };
        let pass = Opinion::new(Layer::Governance, Says::Passthrough, reason);
        opinions.push(pass.by("defaultApproval"));
    }
    opinions
}
