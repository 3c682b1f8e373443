//! Contract examples: runs each example on a driver and compares the output.

use haft_model::Plan;
use haft_policy::Permit;
use serde_json::Value;

use super::round::{Round, SubmitReply, carry_out};
use super::{Breach, ConformanceCase, PATIENCE};
use crate::{Driver, differs};

/// An example of a contract.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// Name of the example.
    pub name: &'a str,
    /// Plan of the call.
    pub plan: &'a Plan,
    /// Permit for the plan.
    pub permit: &'a Permit,
    /// Expected output; `None` accepts any.
    pub output: Option<&'a Value>,
}

/// Runs each example once and lists those with another output.
pub async fn examples(driver: &dyn Driver, samples: &[Sample<'_>]) -> Vec<Breach> {
    let alone = Round { answer: SubmitReply::Recorded, cancel: None, deadline: PATIENCE };
    let mut breaches = Vec::new();
    for Sample { name, plan, permit, output } in samples {
        let case = ConformanceCase { name, plan, permit, most_bytes: usize::MAX, effects: None };
        let what = match carry_out(driver, &case, alone, None).await.result {
            None => Some("it did not end".to_owned()),
            Some(Err(failure)) => Some(format!("{}: {}", failure.stop.code, failure.stop.message)),
            Some(Ok(came)) => differs(*output, &came.structured.unwrap_or_default()),
        };
        breaches.extend(what.map(|what| Breach {
            case: (*name).to_owned(),
            round: "as the contract shows",
            what,
        }));
    }
    breaches
}
