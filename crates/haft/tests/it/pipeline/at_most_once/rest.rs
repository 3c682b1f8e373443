//! Final checks of the model: what must hold once everything has come to rest.

use std::collections::HashMap;

use haft_ledger::{Draft, MemoryStore, Run, RunFilter, Store, Wait};
use haft_model::{EffectState, Envelope, Event, InvocationId, KeySource, ResultStatus};
use haft_runtime::Reader;
use serde_json::Value;

use super::book::{Book, Happened};

fn all() -> RunFilter {
    RunFilter { most: 100_000, ..RunFilter::default() }
}

/// Every answer is true by the backend's own book.
pub(crate) fn answers_are_true(book: &Book, told: &[Envelope], story: &str) {
    for envelope in told.iter().filter(|envelope| envelope.status != ResultStatus::Pending) {
        let (id, effect) = (&envelope.invocation_id, envelope.effect_state);
        let effects = book.effects(id);
        let natural = envelope.tool_id.starts_with("natural");
        let fits = match effect {
            EffectState::Unknown => effects <= 1 || natural,
            EffectState::None | EffectState::NotSubmitted | EffectState::NotCommitted => {
                effects == 0
            }
            _ => effects == 1 || (natural && effects > 0),
        };
        assert!(
            fits,
            "{story}: `{id}` was told as {effect}, with {effects} effects: {envelope:#?}"
        );
    }
}

/// What a call meant, by its own record.
struct Meant {
    tool: String,
    input: String,
    key: Option<String>,
}

/// Nothing that was meant once took effect twice.
pub(crate) async fn effects_are_single(store: &dyn Store, book: &Book, story: &str) {
    let mut last: HashMap<String, InvocationId> = HashMap::new();
    let happened = book.happened();
    for (at, one) in happened.iter().enumerate() {
        let Happened::Effect { id, tool, input } = one else { continue };
        if tool == "natural" {
            continue;
        }
        assert_eq!(book.effects(id), 1, "{story}: `{id}` took effect more than once");
        let key = key_of(store, id).await;
        let meant = Meant { tool: tool.clone(), input: input.to_string(), key };
        let own = matches!(tool.as_str(), "none") && meant.key.is_none();
        let name = format!("{}/{}/{:?}", meant.tool, meant.input, meant.key);
        let Some(before) = last.insert(name.clone(), id.clone()).filter(|_| !own) else { continue };
        assert!(meant.key.is_none(), "{story}: {name} took effect by `{before}` and by `{id}`");
        let told = |one: &Happened| matches!(one, Happened::Told { id, .. } if *id == before);
        let answered = happened[..at].iter().any(told);
        assert!(
            answered,
            "{story}: {name} took effect by `{id}`, and nobody had heard of `{before}`"
        );
    }
}

/// The key that a caller gave.
async fn key_of(store: &dyn Store, id: &InvocationId) -> Option<String> {
    let facts = facts(store, id).await;
    facts.iter().find_map(|fact| match &fact.event {
        Event::Planned(planned) => planned.key.clone(),
        _ => None,
    })
}

async fn facts(store: &dyn Store, id: &InvocationId) -> Vec<haft_model::Fact> {
    let entries = store.story(id).await.unwrap();
    entries.iter().flat_map(|entry| Reader::facts(entry).unwrap()).collect()
}

/// Every call is over, once, and those without an effect hold nothing.
pub(crate) async fn calls_are_over(store: &dyn Store, story: &str) {
    let runs: Vec<Run> = store.runs(&all()).await.unwrap();
    for run in runs {
        let id = &run.invocation_id;
        assert!(run.ended_at.is_some(), "{story}: `{id}` is open: {run:?}");
        let facts = facts(store, id).await;
        let ends: Vec<_> = facts.iter().filter_map(|fact| fact.event.end()).collect();
        assert_eq!(ends.len(), 1, "{story}: `{id}` ended more than once");
        let bound = facts.iter().find_map(|fact| match &fact.event {
            Event::IntentBound(intent) => Some(intent.clone()),
            _ => None,
        });
        let Some(bound) = bound else { continue };
        // One without a key is forgotten once its answer was handed over, or came to nothing.
        let record = store.intent(&bound.intent, bound.source).await.unwrap();
        assert!(record.is_some() || bound.source == KeySource::Intent, "{story}: `{id}`");
        let Some(record) = record else { continue };
        if record.run.invocation_id == *id && !ends[0].effect.may_have_happened() {
            assert_eq!(record.lease, None, "{story}: `{id}` did nothing and holds a lease");
        }
        if bound.source == KeySource::Intent {
            assert!(bound.until > run.created_at);
        }
    }
}

/// The lists are those that the log gives.
pub(crate) async fn log_gives_the_same_lists(store: &dyn Store, story: &str) {
    let again = MemoryStore::new();
    for entry in store.entries(None, 1_000_000).await.unwrap() {
        let line: Value = serde_json::from_str(&entry.line).unwrap();
        let invocation = line["metadata"]["haft"]["invocation"].as_str();
        let facts = Reader::facts(&entry).unwrap();
        let draft = Draft { invocation: invocation.map(Into::into), facts, ..Draft::default() };
        again.append(draft, Wait::Disk).await.unwrap();
    }
    assert_eq!(again.runs(&all()).await.unwrap(), store.runs(&all()).await.unwrap(), "{story}");
    let questions = store.questions(&Default::default()).await.unwrap();
    assert_eq!(again.questions(&Default::default()).await.unwrap(), questions, "{story}");
}
