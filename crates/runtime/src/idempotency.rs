//! Idempotency: executes each intent once and replays the recorded result to repeats.

mod dedup_table;
mod identity;
mod replay;
mod single_flight;
mod status_lookup;

use std::sync::Arc;

use haft_catalog::{CatalogEntry, DriverStates};
use haft_ledger::{Guard, IntentRecord};
use haft_model::{Call, Code, Event, Intent, InvocationId, Stop};

use crate::CallOptions;
use crate::context::CallContext;
use crate::parse::{ParsedCall, ValidInput};
use crate::pipeline::{Halt, Reached, StoppedCall};
use crate::recorder::unrecorded;
use crate::runtime::called_off;
use dedup_table::{DedupVerdict, classify, key_reused};
pub(crate) use identity::backend_key;
use single_flight::FlightFollower;
pub(crate) use single_flight::{FlightOwner, SingleFlight};

/// A call that is the only one to execute its intent: a repeat does not come this far.
pub struct DeduplicatedCall {
    origin: Arc<Origin>,
    input: ValidInput,
}

/// What every plan of a call comes from. Only a deduplicated call has one, and a recovered call,
/// whose record holds its intent.
pub(crate) struct Origin {
    pub(crate) call: Arc<Call>,
    /// Idempotency identity; `None` where repeats may execute.
    pub(crate) intent: Option<Arc<Intent>>,
    /// Driver states for this caller.
    pub(crate) states: DriverStates,
    _made_here: (),
}

impl Origin {
    /// The origin of a recovered call, with the intent on its record.
    pub(crate) fn of_record(
        call: Call,
        intent: Option<Arc<Intent>>,
        states: DriverStates,
    ) -> Arc<Origin> {
        Arc::new(Origin { call: Arc::new(call), intent, states, _made_here: () })
    }
}

impl DeduplicatedCall {
    pub(crate) fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    pub(crate) fn into_parts(self) -> (Arc<Origin>, ValidInput) {
        (self.origin, self.input)
    }
}

impl ParsedCall {
    /// Recognises a repeated call. A call that passes is the only one that executes its intent; a
    /// repeat ends with the first call's result.
    pub async fn deduplicate(
        self,
        context: &mut CallContext<'_>,
        options: &CallOptions<'_>,
    ) -> Result<DeduplicatedCall, StoppedCall> {
        let (call, input) = self.into_parts();
        let now = context.recorder.now();
        // Read here, so that routing need not query them.
        let states = context.world.states_for_use(&input.entry, &call.actor, now).await;
        let mut origin = Origin { call, intent: None, states, _made_here: () };
        match context.bind_intent(&origin, &input, options).await {
            Ok(intent) => {
                origin.intent = intent.map(Arc::new);
                Ok(DeduplicatedCall { origin: Arc::new(origin), input })
            }
            Err(halt) => {
                let reached = Reached { entry: Some(input.entry), ..Reached::default() };
                Err(reached.stopped(halt))
            }
        }
    }
}

impl CallContext<'_> {
    /// Binds the intent of a call to it; `None` where repeats may execute.
    async fn bind_intent(
        &mut self,
        origin: &Origin,
        input: &ValidInput,
        options: &CallOptions<'_>,
    ) -> Result<Option<Intent>, Halt> {
        let (id, now) = (self.recorder.id().clone(), self.recorder.now());
        let (call, entry) = (&*origin.call, &*input.entry);
        let Some(mut identity) = identity::identify(call, entry, &input.value, &id, now)? else {
            return Ok(None);
        };
        let flight = loop {
            match self.runtime.single_flight.take(&identity, &id) {
                Ok(flight) => break flight,
                Err(other) if other.binding != identity.binding => {
                    return Err(key_reused(&other.id).into());
                }
                Err(other) => self.await_flight(call, other, options).await?,
            }
        };
        let record = self.intent_record(&identity).await?;
        let holder = match self.dedup_verdict(entry, &identity, record.as_ref()) {
            DedupVerdict::New(holder) => holder,
            DedupVerdict::Conflict => return Err(conflict(record).into()),
            DedupVerdict::Same => {
                // Releases the flight, so that equal calls of this process can read the record
                // meanwhile.
                drop(flight);
                return Err(self.replay_result(call, &input.entry, record, options).await);
            }
            DedupVerdict::Unknown => {
                let Some(record) = record else { return Err(lost()) };
                self.look_up_unknown(origin, input, &record, options).await?;
                // The first call did not commit, but the backend may know its key.
                identity.key.clone_from(&record.intent.key);
                Some(record.run.invocation_id)
            }
        };
        self.own_intent(&identity, holder, flight);
        Ok(Some(identity))
    }

    /// Reads the deduplication record of an intent.
    ///
    /// INVARIANT: a result that was delivered here never answers another call. The delivery is
    /// noted in memory until the store has it, so a record that was read before that moment and is
    /// checked after it seems undelivered; a second read returns the truth.
    async fn intent_record(&self, identity: &Intent) -> Result<Option<IntentRecord>, Stop> {
        let read = || self.runtime.store.intent(&identity.intent, identity.source);
        let record = read().await.map_err(unrecorded)?;
        match &record {
            Some(found)
                if found.run.ended_at.is_some()
                    && !self.runtime.undelivered.is_delivered(found) =>
            {
                read().await.map_err(unrecorded)
            }
            Some(_) | None => Ok(record),
        }
    }

    fn dedup_verdict(
        &self,
        entry: &CatalogEntry,
        identity: &Intent,
        record: Option<&IntentRecord>,
    ) -> DedupVerdict {
        let delivered = record.is_none_or(|record| self.runtime.undelivered.is_delivered(record));
        classify(identity, record, self.recorder.now(), delivered, entry.is_askable())
    }

    /// Binds the intent to this call. The binding goes to the ledger with the first append, guarded
    /// against another holder.
    fn own_intent(&mut self, identity: &Intent, holder: Option<InvocationId>, flight: FlightOwner) {
        let guard =
            Guard::Intent { intent: identity.intent.clone(), source: identity.source, holder };
        self.recorder.only_if(guard);
        self.recorder.note(Event::IntentBound(Box::new(identity.clone())));
        self.waiters.flight = Some(flight);
    }

    /// Awaits an equal call of this process; returns `Ok` where that one ended without a final
    /// envelope.
    async fn await_flight(
        &mut self,
        call: &Call,
        other: FlightFollower,
        options: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let id = other.id.clone();
        self.stand_aside(true);
        let answer = self.unless_called_off(options, other.answer()).await;
        let answer = answer.ok_or_else(|| no_longer_wanted(&id))?;
        match answer {
            Some(envelope) if envelope.final_status.is_terminal() => {
                let envelope = haft_model::Envelope::clone(&envelope);
                Err(self.record_replay(call, envelope).await)
            }
            // The other call waits for approval or was dropped; the ledger knows more.
            Some(_) | None => {
                self.stand_aside(false);
                Ok(())
            }
        }
    }

    /// Does not block its siblings while it waits for an equal call elsewhere, so that two batches
    /// cannot deadlock.
    fn stand_aside(&self, aside: bool) {
        if let Some(membership) = self.recorder.membership() {
            membership.stand_aside(aside);
        }
    }

    /// The store refused the append: another process bound the same intent first.
    pub(crate) async fn lost_race(
        &mut self,
        reached: &Reached,
        origin: &Origin,
        options: &CallOptions<'_>,
    ) -> Halt {
        self.waiters.flight = None;
        let (Some(identity), Some(entry)) = (&origin.intent, &reached.entry) else {
            return lost();
        };
        let record = match self.runtime.store.intent(&identity.intent, identity.source).await {
            Ok(record) => record,
            Err(fault) => return unrecorded(fault).into(),
        };
        // The other call's result may be delivered already, and still it executed this very intent.
        let happened = record.as_ref().is_some_and(|record| {
            record.run.effect_state.may_have_happened() && record.intent.binding == identity.binding
        });
        match self.dedup_verdict(entry, identity, record.as_ref()) {
            DedupVerdict::Conflict => conflict(record).into(),
            DedupVerdict::New(_) if !happened => lost(),
            DedupVerdict::New(_) | DedupVerdict::Same | DedupVerdict::Unknown => {
                self.replay_result(&origin.call, entry, record, options).await
            }
        }
    }
}

fn conflict(record: Option<IntentRecord>) -> Stop {
    match record {
        Some(record) => key_reused(&record.run.invocation_id),
        None => Stop::new(Code::Conflict, "the idempotency key means something else"),
    }
}

/// The refusal of a call that lost the race against one that came to nothing.
fn lost() -> Halt {
    Stop::new(Code::Conflict, "another process began the same call, and it came to nothing")
        .help("send it again")
        .into()
}

fn no_longer_wanted(first: &InvocationId) -> Halt {
    called_off(&format!("while it waited for the answer of `{first}`, which goes on")).into()
}
