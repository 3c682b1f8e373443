//! Idempotency: executes each intent once and replays the recorded result to repeats.

mod dedup_table;
mod identity;
mod replay;
mod single_flight;
mod status_lookup;

use haft_catalog::CatalogEntry;
use haft_ledger::{Guard, IntentRecord};
use haft_model::{Call, Code, Event, Intent, InvocationId, Stop};
use serde_json::Value;

use crate::CallOptions;
use crate::pipeline::{CallPipeline, Halt};
use crate::recorder::unrecorded;
use crate::runtime::called_off;
use dedup_table::{DedupVerdict, classify, key_reused};
pub(crate) use identity::backend_key;
use single_flight::FlightFollower;
pub(crate) use single_flight::{FlightOwner, SingleFlight};

impl CallPipeline<'_> {
    /// Deduplicates a call. A call that passes is the only one that executes its intent.
    pub(crate) async fn deduplicate(
        &mut self,
        call: &Call,
        entry: &CatalogEntry,
        input: &Value,
        options: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let (id, now) = (self.recorder.id().clone(), self.recorder.now());
        let Some(mut identity) = identity::identify(call, entry, input, &id, now)? else {
            return Ok(());
        };
        let carrying = loop {
            match self.runtime.single_flight.take(&identity, &id) {
                Ok(carrying) => break carrying,
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
                drop(carrying);
                return Err(self.replay_result(call, record, options).await);
            }
            DedupVerdict::Unknown => {
                let Some(record) = record else { return Err(lost()) };
                self.look_up_unknown(call, entry, input, &record, options).await?;
                // The first call did not commit, but the backend may know its key.
                identity.key.clone_from(&record.intent.key);
                Some(record.run.invocation_id)
            }
        };
        self.own_intent(identity, holder, carrying);
        Ok(())
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
    fn own_intent(
        &mut self,
        identity: Intent,
        holder: Option<InvocationId>,
        carrying: FlightOwner,
    ) {
        let guard =
            Guard::Intent { intent: identity.intent.clone(), source: identity.source, holder };
        self.recorder.only_if(guard);
        self.recorder.note(Event::IntentBound(Box::new(identity.clone())));
        self.intent = Some(identity);
        self.flight = Some(carrying);
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
        if let Some(membership) = &self.membership {
            membership.stand_aside(aside);
        }
    }

    /// The store refused the append: another process bound the same intent first.
    pub(crate) async fn lost_race(&mut self, call: &Call, options: &CallOptions<'_>) -> Halt {
        self.flight = None;
        let Some(identity) = self.intent.take() else { return lost() };
        let record = match self.runtime.store.intent(&identity.intent, identity.source).await {
            Ok(record) => record,
            Err(fault) => return unrecorded(fault).into(),
        };
        let entry = self.entry.clone();
        let stands = entry.map(|entry| self.dedup_verdict(&entry, &identity, record.as_ref()));
        // The other call's result may be delivered already, and still it executed this very intent.
        let happened = record.as_ref().is_some_and(|record| {
            record.run.effect_state.may_have_happened() && record.intent.binding == identity.binding
        });
        match stands {
            Some(DedupVerdict::Conflict) => conflict(record).into(),
            Some(DedupVerdict::New(_)) | None if !happened => lost(),
            Some(_) | None => self.replay_result(call, record, options).await,
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
