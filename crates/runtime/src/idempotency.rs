//! One intent, one effect: a call that was sent before is not carried out again, it is answered.

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
use dedup_table::{DedupVerdict, key_reused, standing};
pub(crate) use identity::backend_key;
use single_flight::FlightFollower;
pub(crate) use single_flight::{FlightOwner, SingleFlight};

impl CallPipeline<'_> {
    /// Recognises a call that means what another one meant. What goes on from here is the only call
    /// that carries its intent out.
    pub(crate) async fn recognise(
        &mut self,
        call: &Call,
        entry: &CatalogEntry,
        input: &Value,
        manner: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let (id, now) = (self.journal.id().clone(), self.journal.now());
        let Some(mut meant) = identity::meant(call, entry, input, &id, now)? else { return Ok(()) };
        let carrying = loop {
            match self.runtime.under_way.take(&meant, &id) {
                Ok(carrying) => break carrying,
                Err(other) if other.binding != meant.binding => {
                    return Err(key_reused(&other.id).into());
                }
                Err(other) => self.with_other(call, other, manner).await?,
            }
        };
        let record = self.intent_record(&meant).await?;
        let holder = match self.stands(entry, &meant, record.as_ref()) {
            DedupVerdict::New(holder) => holder,
            DedupVerdict::Conflict => return Err(conflict(record).into()),
            DedupVerdict::Same => {
                // Others of this process may ask for the same meanwhile.
                drop(carrying);
                return Err(self.first_answer(call, record, manner).await);
            }
            DedupVerdict::Unknown => {
                let Some(record) = record else { return Err(lost()) };
                self.find_out(call, entry, input, &record, manner).await?;
                // It did not happen. The backend may know the key all the same.
                meant.key.clone_from(&record.intent.key);
                Some(record.run.invocation_id)
            }
        };
        self.carry(meant, holder, carrying);
        Ok(())
    }

    /// The dedup entry of an intent.
    ///
    /// INVARIANT: a result that was delivered here never answers another call. The delivery is noted in
    /// memory until the store has it, so an entry that was read before and is looked at after that
    /// moment seems undelivered; a second read tells the truth.
    async fn intent_record(&self, meant: &Intent) -> Result<Option<IntentRecord>, Stop> {
        let read = || self.runtime.store.intent(&meant.intent, meant.source);
        let record = read().await.map_err(unrecorded)?;
        match &record {
            Some(found)
                if found.run.ended_at.is_some() && !self.runtime.delivery.is_heard(found) =>
            {
                read().await.map_err(unrecorded)
            }
            Some(_) | None => Ok(record),
        }
    }

    fn stands(
        &self,
        entry: &CatalogEntry,
        meant: &Intent,
        record: Option<&IntentRecord>,
    ) -> DedupVerdict {
        let heard = record.is_none_or(|record| self.runtime.delivery.is_heard(record));
        standing(meant, record, self.journal.now(), heard, entry.is_askable())
    }

    /// From here on this call is the one. That is put on record with the first thing that is.
    fn carry(&mut self, meant: Intent, holder: Option<InvocationId>, carrying: FlightOwner) {
        let guard = Guard::Intent { intent: meant.intent.clone(), source: meant.source, holder };
        self.journal.only_if(guard);
        self.journal.note(Event::IntentBound(Box::new(meant.clone())));
        self.intent = Some(meant);
        self.carrying = Some(carrying);
    }

    /// Waits for another call of this process; goes on where that one went away without an answer.
    async fn with_other(
        &mut self,
        call: &Call,
        other: FlightFollower,
        manner: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let id = other.id.clone();
        self.stand_aside(true);
        let answer = self.unless_called_off(manner, other.answer()).await;
        let answer = answer.ok_or_else(|| no_longer_wanted(&id))?;
        match answer {
            Some(envelope) if envelope.final_status.is_terminal() => {
                let envelope = haft_model::Envelope::clone(&envelope);
                Err(self.sent_again(call, envelope).await)
            }
            // It waits for a person, or its caller let go of it; the ledger knows more.
            Some(_) | None => {
                self.stand_aside(false);
                Ok(())
            }
        }
    }

    /// Holds nobody of its batch up while it waits for a call elsewhere, so that no two batches wait
    /// for each other.
    fn stand_aside(&self, aside: bool) {
        if let Some(seat) = &self.seat {
            seat.stand_aside(aside);
        }
    }

    /// Another process began to carry out the same intent at the same moment, and was faster.
    pub(crate) async fn beaten(&mut self, call: &Call, manner: &CallOptions<'_>) -> Halt {
        self.carrying = None;
        let Some(meant) = self.intent.take() else { return lost() };
        let record = match self.runtime.store.intent(&meant.intent, meant.source).await {
            Ok(record) => record,
            Err(fault) => return unrecorded(fault).into(),
        };
        let entry = self.entry.clone();
        let stands = entry.map(|entry| self.stands(&entry, &meant, record.as_ref()));
        // Whoever was faster may have been answered already, and still it was this very intent.
        let happened = record.as_ref().is_some_and(|record| {
            record.run.effect_state.may_have_happened() && record.intent.binding == meant.binding
        });
        match stands {
            Some(DedupVerdict::Conflict) => conflict(record).into(),
            Some(DedupVerdict::New(_)) | None if !happened => lost(),
            Some(_) | None => self.first_answer(call, record, manner).await,
        }
    }
}

fn conflict(record: Option<IntentRecord>) -> Stop {
    match record {
        Some(record) => key_reused(&record.run.invocation_id),
        None => Stop::new(Code::Conflict, "the idempotency key means something else"),
    }
}

/// What somebody hears who was not fast enough, where the faster one came to nothing.
fn lost() -> Halt {
    Stop::new(Code::Conflict, "another process began the same call, and it came to nothing")
        .help("send it again")
        .into()
}

fn no_longer_wanted(first: &InvocationId) -> Halt {
    called_off(&format!("while it waited for the answer of `{first}`, which goes on")).into()
}
