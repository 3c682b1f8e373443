//! The examples of a contract, as a driver carries them out.

use haft_model::{Digest, Plan};
use haft_policy::Permit;
use serde_json::Value;

use super::round::{Round, SubmitReply, carry_out};
use super::{Breach, ConformanceCase, PATIENCE};
use crate::Driver;

/// A call that a contract shows.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// What it shows.
    pub name: &'a str,
    /// The call.
    pub plan: &'a Plan,
    /// The permit for it.
    pub permit: &'a Permit,
    /// What has to come out, if the contract says.
    pub output: Option<&'a Value>,
}

/// Carries examples out, each once, and lists those of which something else came than they show.
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

/// How what came out differs from what an example shows; not at all where it shows nothing. Spelling
/// does not matter: neither the order of fields nor 1 against 1.0.
pub fn differs(shown: Option<&Value>, given: &Value) -> Option<String> {
    let shown = shown.filter(|shown| Digest::of(shown) != Digest::of(given))?;
    Some(format!("expected {shown}, got {given}"))
}
