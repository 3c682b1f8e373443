//! History checker: the promises that hold for every history, whatever faults struck.

use std::collections::BTreeMap;

use haft_model::EffectState;

use crate::backend::Effect;
use crate::history::History;
use crate::scene::CallerReport;
use crate::workspace::Tool;

/// A promise that a history breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The sentence.
    pub(crate) promise: &'static str,
    /// What was found.
    pub(crate) found: String,
}

const ONCE: &str = "each intent at most one effect";
const COMMITTED: &str = "told committed: it is in the book";
const NONE: &str = "told none: it is never in the book, also later";
const REFUSED: &str = "a store that is down: calls are refused, and no answer hides it";
const RECORDED: &str = "every accepted call is answered and recorded";

/// The first promise that a history breaks.
pub(crate) fn violation(history: &History) -> Option<Violation> {
    let broken = |promise, found: Option<String>| found.map(|found| Violation { promise, found });
    broken(ONCE, twice(history))
        .or_else(|| broken(COMMITTED, told_in_vain(history)))
        .or_else(|| broken(NONE, told_none(history)))
        .or_else(|| broken(REFUSED, taken_while_down(history)))
        .or_else(|| broken(RECORDED, unrecorded(history)))
}

fn is_none(effect: EffectState) -> bool {
    !effect.may_have_happened()
}

/// Whether a caller had the answer when an effect was sent. Without a key that makes it another
/// intent: a call that was still in flight in some process is one more equal call.
fn is_another(history: &History, effect: &Effect) -> bool {
    let answered = |told: &CallerReport| {
        told.intent == effect.intent && told.effect.is_done() && told.at <= effect.sent
    };
    !effect.keyed && history.told.iter().any(answered)
}

fn twice(history: &History) -> Option<String> {
    let mut seen = BTreeMap::new();
    history.book.iter().find_map(|effect| {
        let before = seen.insert(effect.intent, effect.id.clone())?;
        if is_another(history, effect) {
            return None;
        }
        Some(format!("intent {} took effect by {before} and by {}", effect.intent, effect.id))
    })
}

fn told_in_vain(history: &History) -> Option<String> {
    let done = history.told.iter().filter(|told| told.effect.is_done());
    let mut vain =
        done.filter(|told| history.book.iter().all(|effect| effect.intent != told.intent));
    vain.next()
        .map(|told| format!("{} was told as {}, and did not take effect", told.id, told.effect))
}

fn told_none(history: &History) -> Option<String> {
    let none = history.told.iter().filter(|told| is_none(told.effect));
    let mut wrong = none.filter(|told| history.book.iter().any(|effect| effect.id == told.id));
    wrong.next().map(|told| format!("{} was told as {}, and took effect", told.id, told.effect))
}

/// Nothing begins while the store is down, and calls in flight say that they are not on record.
fn taken_while_down(history: &History) -> Option<String> {
    history.told.iter().find_map(|told| {
        let taken = told.began_down && !(told.refused && is_none(told.effect));
        let hidden = told.ended_down && !told.unrecorded;
        match (taken, hidden) {
            (true, _) => {
                Some(format!("{} was not refused, and was told as {}", told.id, told.effect))
            }
            (false, true) => Some(format!("{} does not say that it is not on record", told.id)),
            (false, false) => None,
        }
    })
}

fn unrecorded(history: &History) -> Option<String> {
    if let Some(id) = history.unanswered.iter().next() {
        return Some(format!("{id} was never answered, and its process lives"));
    }
    if let Some(name) = history.down.first() {
        return Some(format!("the store of {name} is down, and nothing is wrong with the disk"));
    }
    if let Some((id, _)) = history.pending.iter().find(|(_, killed)| !**killed) {
        return Some(format!("the end of {id} was accepted and never written"));
    }
    // A read is answered when its record is queued, and a kill takes the queue along.
    let unwritten = history.told.iter().find(|told| {
        !told.unrecorded
            && !history.pending.contains_key(&told.id)
            && !history.records.get(&told.id).is_some_and(|record| record.over)
    });
    if let Some(told) = unwritten {
        return Some(format!(
            "{} was told as {}, and its end is not on record",
            told.id, told.effect
        ));
    }
    let untold = history.book.iter().find(|effect| !history.records.contains_key(&effect.id));
    if let Some(effect) = untold {
        return Some(format!("{} took effect, and nothing is on record", effect.id));
    }
    let forgotten = history.told.iter().find(|told| {
        let record = history.records.get(&told.id);
        told.effect.is_done()
            && !told.unrecorded
            && !record.is_some_and(|record| record.effect.is_done())
    });
    if let Some(told) = forgotten {
        let record = history.records.get(&told.id);
        return Some(format!(
            "{} was told as {}, and its record says {record:?}",
            told.id, told.effect
        ));
    }
    history.records.iter().find_map(|(id, record)| {
        let happened = history.book.iter().any(|effect| effect.id == *id);
        let looked_up = [Tool::Pay, Tool::Charge].iter().any(|tool| {
            debug_assert!(tool.has_status());
            record.tool.starts_with(tool.name())
        });
        let wrong = match record.effect {
            _ if !record.over => true,
            effect if effect.is_done() => !happened && !record.tool.starts_with(Tool::Put.name()),
            effect if is_none(effect) => happened,
            _ => looked_up,
        };
        wrong.then(|| format!("{id} is on record as {record:?}, and in the book: {happened}"))
    })
}
