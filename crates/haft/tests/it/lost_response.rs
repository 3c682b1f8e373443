//! Lost response tests: a backend commits and its response is lost; one effect, and the truth for
//! the caller.
//!
//! `scripts/show lost-response` prints the table.

mod sent_again;
mod timeouts;

use std::fmt;

use haft::{Host, HostOptions};
use haft_ledger::RunFilter;
use haft_model::{Call, Code, EffectState, Envelope};
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::json;

use crate::accepted;

/// How the answer to a payment gets lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Reset,
    BadGateway,
    Unavailable,
    GatewayTimeout,
    Hangs,
    HalfAnAnswer,
    RefusedAtFirst,
}

/// What the backend offers against it: status queries, or idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    status: bool,
    keys: bool,
}

/// What a caller is told, and what really happened.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    effects: usize,
    sent: usize,
    told: EffectState,
    code: Option<Code>,
    id: bool,
}

const LOSSES: [Loss; 7] = [
    Loss::Reset,
    Loss::BadGateway,
    Loss::Unavailable,
    Loss::GatewayTimeout,
    Loss::Hangs,
    Loss::HalfAnAnswer,
    Loss::RefusedAtFirst,
];

impl Loss {
    fn act(self) -> Option<Act> {
        let then = match self {
            Loss::Reset => Then::Reset,
            Loss::BadGateway => Then::status(502),
            Loss::Unavailable => Then::status(503),
            Loss::GatewayTimeout => Then::status(504),
            Loss::Hangs => Then::Hang,
            Loss::HalfAnAnswer => Then::Half(502),
            Loss::RefusedAtFirst => return None,
        };
        Some(Act::commits(then))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = match (self.told, self.code) {
            (EffectState::Committed, None) => "paid, with the receipt".to_owned(),
            (effect, Some(code)) => format!("{effect} ({code})"),
            (effect, None) => effect.to_string(),
        };
        write!(f, "{} | {} | {told}", self.effects, self.sent)
    }
}

/// A shop whose payments go to a backend over HTTP.
pub(crate) fn shop(backend: &Backend, status: bool, keys: bool, timeout_ms: u64) -> Folder {
    haft_testkit::payments(backend, status, keys, timeout_ms).with(haft_testkit::ALLOW)
}

pub(crate) fn open(folder: &Folder) -> Host {
    accepted::accept(folder);
    let host = Host::open(folder.path(), HostOptions::default()).unwrap();
    let wrong: Vec<_> = host
        .workspace()
        .diagnostics()
        .iter()
        .filter(|found| found.severity == haft_contract::Severity::Error)
        .map(|found| format!("{}: {}", found.file, found.message))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    host
}

pub(crate) fn payment(host: &Host) -> Call {
    Call::new(host.actor("agent:shop"), "pay", json!({"order": "o-7"}))
}

/// How many payments were sent.
pub(crate) fn payments(backend: &Backend) -> usize {
    backend.heard().iter().filter(|heard| heard.path == "/pay").count()
}

async fn row(loss: Loss, offer: Offer) -> Row {
    let keys = if offer.keys { Keys::Enforced } else { Keys::Ignored };
    let timeout_ms = if loss == Loss::Hangs { 500 } else { 10_000 };
    let mut backend = Backend::closed(keys);
    let folder = shop(&backend, offer.status, offer.keys, timeout_ms);
    let host = open(&folder);
    let paid: Envelope = match loss.act() {
        Some(act) => {
            backend.will(act);
            backend.open();
            host.call(payment(&host)).await
        }
        None => {
            let refused = async {
                // The port stays closed until one attempt was refused.
                while attempts(&host).await == 0 {
                    tokio::task::yield_now().await;
                }
                backend.open();
            };
            tokio::join!(host.call(payment(&host)), refused).0
        }
    };
    let filter = RunFilter { unknown: true, ..RunFilter::default() };
    let unknown = host.reader().runs(&filter).await.unwrap().len();
    assert_eq!(unknown == 1, paid.effect_state == EffectState::Unknown, "{loss:?} {offer:?}");
    let id = paid.structured_content.as_ref().and_then(|content| content.get("id")).cloned();
    Row {
        effects: backend.effects(),
        sent: payments(&backend),
        told: paid.effect_state,
        code: paid.error.map(|error| error.error_code),
        id: id == Some(json!("effect-1")),
    }
}

/// How many attempts have ended so far.
async fn attempts(host: &Host) -> usize {
    let runs = host.reader().runs(&RunFilter::default()).await.unwrap();
    let Some(run) = runs.iter().find(|run| run.tool_id == "pay@1") else { return 0 };
    let entries = host.reader().story(&run.invocation_id).await.unwrap();
    let story = haft_ledger::Story::fold(&entries).unwrap();
    story.attempts.iter().filter(|attempt| attempt.ended_at.is_some()).count()
}

/// The expected outcome: resolved by a status query where possible, retried under its key where the
/// backend deduplicates, and unknown otherwise. Never retried on the off chance.
fn right(loss: Loss, offer: Offer) -> Row {
    let paid = |sent| Row { effects: 1, sent, told: EffectState::Committed, code: None, id: true };
    let unknown =
        |code| Row { effects: 1, sent: 1, told: EffectState::Unknown, code: Some(code), id: false };
    match (loss, offer) {
        (Loss::RefusedAtFirst, _) | (_, Offer { status: true, .. }) => paid(1),
        // Its time is over, so there is no time for another attempt.
        (Loss::Hangs, _) => unknown(Code::TimeoutUnknownCommit),
        (_, Offer { keys: true, .. }) => paid(2),
        (_, Offer { status: false, keys: false }) => unknown(Code::DependencyUnavailable),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_response_yields_one_effect_and_truthful_result() {
    println!(
        "| answer | status operation | backend keeps keys | effects | sent | the caller hears |"
    );
    println!("|---|---|---|---|---|---|");
    for loss in LOSSES {
        for (status, keys) in [(true, true), (true, false), (false, true), (false, false)] {
            let offer = Offer { status, keys };
            let row = row(loss, offer).await;
            let word = |yes: bool| if yes { "yes" } else { "no" };
            println!("| {loss:?} | {} | {} | {row} |", word(status), word(keys));
            assert_eq!(row, right(loss, offer), "{loss:?} {offer:?}");
            assert_eq!(row.effects, 1, "{loss:?} {offer:?}");
        }
    }
}
