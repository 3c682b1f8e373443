//! Judging: a matter and the rulebook in, a decision with every reason out.

use haft_model::{Code, Decision, Layer, Opinion, Says, Timestamp, Verdict};

use crate::{Matter, Rulebook};

/// What becomes of a call.
pub fn decide(rulebook: &Rulebook, matter: &Matter<'_>, now: Timestamp) -> Decision {
    let _ = (rulebook, matter);
    Decision {
        verdict: Verdict::Deny,
        deciding: Some(0),
        opinions: vec![Opinion::new(Layer::Fault, Says::Deny, "nothing judges yet")],
        needs: Vec::new(),
        code: Some(Code::PermissionDenied),
        suggested_updates: Vec::new(),
        decided_at: now,
    }
}
