//! Taking up calls whose own process is gone: still waiting, never sent, or nobody knows.

use std::sync::Arc;
use std::time::Instant;

use haft_catalog::Sender;
use haft_driver::Failure;
use haft_ledger::{Fence, QuestionFilter, QuestionRecord, RunFilter};
use haft_model::{
    Call, Code, Digest, EffectState, Envelope, Event, Fact, InvocationId, PhaseLine, Planned,
    QuestionState, Status, Stop, TakenOver, utc_day,
};
use serde_json::Value;

use crate::enlisted::Enlisted;
use crate::gate::Ending;
use crate::journal::{Journal, Opening, TakenUp, unrecorded};
use crate::runtime::called_off;
use crate::understand::Understood;
use crate::walk::{Halt, Walk};
use crate::{Manner, Patience, Reader, Runtime};

/// What came of taking a call up again.
#[derive(Debug)]
pub enum Recovered {
    /// It is over now.
    Finished(Box<Envelope>),
    /// People have to answer first.
    StillWaiting,
    /// Another process has it.
    Elsewhere,
}

/// What the ledger tells about an open call.
struct Past {
    planned: Planned,
    facts: Vec<Fact>,
}

/// A call that this process took, and nobody else has.
struct Grabbed<'r> {
    fence: Fence,
    enlisted: Enlisted<'r>,
}

impl Runtime {
    /// Takes up a call unless another process that is alive has it. Waits for as long as a dead
    /// process keeps its lease.
    pub async fn take_over(&self, id: &InvocationId) -> Result<Recovered, Stop> {
        let patience = Instant::now() + self.options.lease + self.options.look * 2;
        loop {
            if let Some(grabbed) = self.grab(id).await? {
                return self.resume(id, grabbed).await;
            }
            let moved = self.status_of(id).await? != Some(Status::AwaitingApproval);
            if moved || Instant::now() > patience {
                return Ok(Recovered::Elsewhere);
            }
            tokio::time::sleep(self.options.look).await;
        }
    }

    /// Settles every open call that no live process has. Calls that wait for people go on waiting.
    pub async fn recover(&self) -> Result<Vec<Envelope>, Stop> {
        let filter = RunFilter { open: true, most: 1000, ..RunFilter::default() };
        let mut settled = Vec::new();
        for run in self.store.runs(&filter).await.map_err(unrecorded)? {
            let Some(grabbed) = self.grab(&run.invocation_id).await? else { continue };
            if let Recovered::Finished(envelope) = self.resume(&run.invocation_id, grabbed).await? {
                settled.push(*envelope);
            }
        }
        Ok(settled)
    }

    /// Ends a call that waits for people and that nobody else has.
    pub(crate) async fn end_waiting(&self, id: &InvocationId) -> Result<bool, Stop> {
        self.end_waiting_with(id, |_| None).await
    }

    /// The same for a reason of its own.
    pub(crate) async fn end_waiting_with(
        &self,
        id: &InvocationId,
        reason: impl FnOnce(&mut Walk<'_>) -> Option<Stop>,
    ) -> Result<bool, Stop> {
        let Some(grabbed) = self.grab(id).await? else { return Ok(false) };
        let past = self.past(id).await?;
        let mut walk = self.walk_again(id, grabbed, &past).await?;
        let stop = match walk.last_question(id).await? {
            Some(record) => walk.withdrawn(&record.question),
            None => called_off("while a person was asked"),
        };
        let stop = reason(&mut walk).unwrap_or(stop);
        walk.finish(Err(Halt::from(stop))).await;
        Ok(true)
    }

    /// Takes a call that nobody has: no process that is alive, and nobody in this one.
    async fn grab(&self, id: &InvocationId) -> Result<Option<Grabbed<'_>>, Stop> {
        let Some(enlisted) = self.enlist(id) else { return Ok(None) };
        let node = &self.options.node;
        let (now, until) = (self.clock.now(), self.lease_end());
        let fence = self.store.lease(id, node, now, until).await.map_err(unrecorded)?;
        // The lease may have been free because the call had just ended.
        match (fence, self.status_of(id).await?) {
            (Some(fence), Some(status)) if !status.is_terminal() => {
                Ok(Some(Grabbed { fence, enlisted }))
            }
            (Some(fence), _) => {
                self.store.release(id, fence).await.map_err(unrecorded)?;
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    async fn status_of(&self, id: &InvocationId) -> Result<Option<Status>, Stop> {
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let runs = self.store.runs(&filter).await.map_err(unrecorded)?;
        Ok(runs.first().map(|run| run.status))
    }

    async fn resume(&self, id: &InvocationId, grabbed: Grabbed<'_>) -> Result<Recovered, Stop> {
        let past = self.past(id).await?;
        let mut walk = self.walk_again(id, grabbed, &past).await?;
        let outcome = match past.submitted() {
            true => Err(Halt::Stopped(Box::new(Failure::new(
                Stop::new(
                    Code::ExecutionFailed,
                    "the process died after the effect had begun; nobody knows what became of it",
                )
                .help("look at the backend before you call again"),
                EffectState::Unknown,
            )))),
            false => match walk.go_on(&past, id).await {
                Ok(Some(output)) => output,
                Ok(None) => {
                    walk.journal.release().await;
                    return Ok(Recovered::StillWaiting);
                }
                Err(stop) => Err(Halt::from(stop)),
            },
        };
        if let Err(Halt::Pending(_)) = &outcome {
            walk.finish(outcome).await;
            return Ok(Recovered::StillWaiting);
        }
        Ok(Recovered::Finished(Box::new(walk.finish(outcome).await)))
    }

    async fn past(&self, id: &InvocationId) -> Result<Past, Stop> {
        let entries = self.store.story(id).await.map_err(unrecorded)?;
        let mut facts = Vec::new();
        for entry in &entries {
            facts.extend(Reader::facts(entry)?);
        }
        let planned = facts.iter().find_map(|fact| match &fact.event {
            Event::Planned(planned) => Some(Planned::clone(planned)),
            _ => None,
        });
        let planned = planned.ok_or_else(|| {
            Stop::new(Code::Internal, format!("the log does not say how `{id}` began"))
        })?;
        Ok(Past { planned, facts })
    }

    /// A walk that stands where the one before it ended.
    async fn walk_again<'r>(
        &'r self,
        id: &InvocationId,
        grabbed: Grabbed<'r>,
        past: &Past,
    ) -> Result<Walk<'r>, Stop> {
        let Grabbed { fence, enlisted } = grabbed;
        let began = past.facts.first().map_or_else(|| self.clock.now(), |fact| fact.at);
        let age = self.clock.now().as_microsecond().saturating_sub(began.as_microsecond());
        let phases = past.facts.iter().flat_map(|fact| &fact.phases);
        let opening = Opening {
            id: id.clone(),
            actor: Arc::new(past.planned.actor.clone()),
            taken_up: Some(TakenUp {
                subject: past.subject(),
                fence,
                status: past.status(),
                progress: past.progress(),
                came_in: began,
                age: u64::try_from(age).unwrap_or_default(),
                phases: phases.map(|line: &PhaseLine| line.phase).collect(),
            }),
        };
        let journal = Journal::open(self.clock.clone(), self.store.clone(), opening);
        let mut walk = Walk::with(self, journal, enlisted, &past.planned.requested);
        walk.executed = past.submitted();
        walk.attempt = past.attempts() + 1;
        walk.entry = walk.world.snapshot.find(&past.planned.requested).cloned();
        walk.policy = past.planned.batch.as_ref().and_then(|place| place.policy.clone());
        if let Some(original) = &past.planned.compensates {
            walk.discretion.unknown = true;
            walk.undo_on(&past.planned.actor, original).await?;
        }
        let sent = self.value(id, &past.planned.model_input.digest).await?;
        walk.redactor.learn(&sent);
        walk.journal.note(Event::TakenOver(TakenOver {
            fence: fence.0,
            reason: "nobody held its lease".to_owned(),
        }));
        Ok(walk)
    }

    /// Bytes of this call that the ledger keeps, as JSON.
    async fn value(&self, id: &InvocationId, digest: &Digest) -> Result<Value, Stop> {
        let gone = || {
            Stop::new(Code::Internal, format!("`{digest}` of `{id}` is gone, so it cannot go on"))
        };
        let bytes = self.store.payload(id, digest).await.map_err(unrecorded)?.ok_or_else(gone)?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

type Outcome = Result<haft_driver::Output, Halt>;

impl Walk<'_> {
    /// Goes on from the question that the call waits for; none while it is open.
    async fn go_on(&mut self, past: &Past, id: &InvocationId) -> Result<Option<Outcome>, Stop> {
        let died = || {
            Stop::new(Code::Internal, "the process died before anything was sent")
                .help("call it again")
        };
        let record = self.last_question(id).await?.ok_or_else(died)?;
        match self.as_it_was(past, id).await {
            Ok((call, understood)) => self.answered_since(call, understood, record).await,
            Err(stop) => {
                self.close(&record.question, QuestionState::Withdrawn, "it cannot run any more");
                Err(stop)
            }
        }
    }

    /// The call and the plan that people were asked about, as far as they can be had today.
    async fn as_it_was(
        &mut self,
        past: &Past,
        id: &InvocationId,
    ) -> Result<(Call, Understood), Stop> {
        let call = self.call_again(past, id).await?;
        let input = past.judged().ok_or_else(|| Stop::new(Code::Internal, "nothing was judged"))?;
        let input = self.runtime.value(id, &input).await?;
        self.redactor.learn(&input);
        let today = utc_day(self.journal.now());
        let entry = self.world.snapshot.select(&past.planned.requested, today)?.clone();
        let input = entry.parse(input, Sender::Host)?;
        let understood = self.bind(&call, &entry, input)?;
        Ok((call, understood))
    }

    /// What the answers amount to that came since.
    async fn answered_since(
        &mut self,
        call: Call,
        understood: Understood,
        record: QuestionRecord,
    ) -> Result<Option<Outcome>, Stop> {
        let question = record.question.clone();
        match self.ended(&call, &understood, &question, &record).await {
            Ok(None) => Ok(None),
            Ok(Some(Ending::Cleared(cleared))) => {
                self.plan = Some(cleared.understood.plan.clone());
                let phase = haft_model::CallPhase::Permission;
                self.journal.phase(phase, haft_model::PhaseOutcome::Ok);
                Ok(Some(self.carry_out(&call, *cleared, &Manner::default()).await))
            }
            Ok(Some(Ending::AskAgain(understood))) => {
                let heard = crate::hear::HeardOut { understood: *understood, opinions: Vec::new() };
                let manner = Manner { patience: Patience::Leave, ..Manner::default() };
                match self.clear(&call, heard, &manner).await {
                    Ok(cleared) => Ok(Some(self.carry_out(&call, cleared, &manner).await)),
                    Err(halt) => Ok(Some(Err(halt))),
                }
            }
            Err(halt) => Ok(Some(Err(halt))),
        }
    }

    async fn last_question(&mut self, id: &InvocationId) -> Result<Option<QuestionRecord>, Stop> {
        let filter = QuestionFilter { invocation: Some(id.clone()), ..QuestionFilter::default() };
        let found = self.runtime.questions(&filter).await?;
        self.asked = found.len();
        let withdrawn = |record: &QuestionRecord| record.state == QuestionState::Withdrawn;
        Ok(found.into_iter().rfind(|record| !withdrawn(record)))
    }

    async fn call_again(&self, past: &Past, id: &InvocationId) -> Result<Call, Stop> {
        let planned = &past.planned;
        let mut call = Call::new(planned.actor.clone(), planned.requested.clone(), Value::Null);
        if let Some(context) = &planned.context {
            call.context = self.runtime.value(id, &context.digest).await?;
        }
        call.pinned = planned.pinned.clone();
        call.region = planned.region.clone();
        call.native = planned.native.clone();
        call.key = planned.key.clone();
        call.parent = planned.parent.clone();
        call.batch = planned.batch.clone();
        call.compensates = planned.compensates.clone();
        Ok(call)
    }
}

impl Past {
    /// Whether an effect may have begun of which nobody knows the end.
    fn submitted(&self) -> bool {
        self.facts.iter().fold(false, |open, fact| match &fact.event {
            Event::Submitted(_) => true,
            Event::AttemptEnded(ended) if !ended.effect.may_have_happened() => false,
            _ => open,
        })
    }

    fn attempts(&self) -> u32 {
        let started = |fact: &&Fact| matches!(fact.event, Event::Started(_));
        self.facts.iter().filter(started).count().try_into().unwrap_or(u32::MAX - 1)
    }

    fn status(&self) -> Status {
        let last = self.facts.iter().rev().find_map(|fact| fact.event.status());
        last.unwrap_or(Status::Planned)
    }

    fn progress(&self) -> u64 {
        let last = self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::Progressed(reported) | Event::PartialResult(reported) => Some(reported.sequence),
            _ => None,
        });
        last.unwrap_or(0)
    }

    fn subject(&self) -> String {
        let selected = self.facts.iter().find_map(|fact| match &fact.event {
            Event::Selected(selected) => {
                let id = selected.tool.split('@').next().unwrap_or_default();
                Some(format!("{id}@{}", selected.version))
            }
            _ => None,
        });
        selected.unwrap_or_else(|| format!("unresolved:{}", self.planned.requested))
    }

    /// The digest of the input that was judged last.
    fn judged(&self) -> Option<Digest> {
        self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::PermissionDecided(decided) => Some(decided.permission_input.digest.clone()),
            Event::PermissionRequested(question) => Some(question.bound.call_input.clone()),
            _ => None,
        })
    }
}
