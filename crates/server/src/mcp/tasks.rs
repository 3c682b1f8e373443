//! Calls as tasks: the ledger keeps them, so that any process can tell where one stands.

use haft_ledger::Run;
use haft_model::{Actor, Audience, Envelope, Event, InvocationId, Stop, Timestamp};
use haft_runtime::{Background, Reader};
use rmcp::model::{
    ClientCapabilities, CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task,
    TaskPayload,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::answer;
use crate::Desk;
use crate::app_state::told;

/// How often a client should look.
const LOOK_MS: u64 = 1000;

/// What becomes of a client of 2026-07-28 while a call takes long: it goes on where it knows tasks.
pub(super) fn background(told: &ClientCapabilities) -> Background {
    if told.supports_tasks() { Background::Leave } else { Background::Unknown }
}

/// The same of whoever sent a request. Before 2026-07-28 no result could be a task, and a client that
/// says in `initialize` that it knows them takes one for a broken result all the same.
pub(super) fn background_of(context: &RequestContext<RoleServer>) -> Background {
    let told = context.client_capabilities().filter(|_| super::is_modern(context));
    told.map_or(Background::Unknown, |told| background(&told))
}

impl Desk {
    /// The answer to a call that its client comes back for.
    pub(super) async fn created(
        &self,
        envelope: &Envelope,
        actor: &Actor,
    ) -> Result<CreateTaskResult, ErrorData> {
        let run = self.own_task(envelope.invocation_id.as_str(), actor).await?;
        let DetailedTask { task, .. } = self.standing(&run).await.map_err(fault)?;
        Ok(CreateTaskResult::new(task.with_status_message(envelope.summary.clone())))
    }

    /// `tasks/get`. Whoever is told what a task came to has its answer.
    pub(super) async fn read_task(
        &self,
        id: &str,
        actor: &Actor,
    ) -> Result<GetTaskResult, ErrorData> {
        let run = self.own_task(id, actor).await?;
        let task = self.standing(&run).await.map_err(fault)?;
        if task.status().is_terminal() {
            self.runtime.hand_over(&run.invocation_id);
        }
        Ok(GetTaskResult::new(task))
    }

    /// `tasks/update`. What nobody asked, or asks no more, is no mistake of the client.
    pub(super) async fn update_task(
        &self,
        id: &str,
        answers: InputResponses,
        actor: &Actor,
    ) -> Result<(), ErrorData> {
        let run = self.own_task(id, actor).await?;
        self.inquiries.answer(&run.invocation_id, answers);
        Ok(())
    }

    /// `tasks/cancel`. A task that is over by then is none that could not be called off.
    pub(super) async fn cancel_task(&self, id: &str, actor: &Actor) -> Result<(), ErrorData> {
        let run = self.own_task(id, actor).await?;
        let Err(stop) = self.runtime.cancel(&run.invocation_id, actor).await else { return Ok(()) };
        match self.own_task(id, actor).await?.status.is_terminal() {
            true => Ok(()),
            false => Err(ErrorData::invalid_params(told(stop), None)),
        }
    }

    /// A call that this actor made.
    async fn own_task(&self, id: &str, actor: &Actor) -> Result<Run, ErrorData> {
        let found = self.runtime.reader().run(&InvocationId::from(id), actor).await;
        let unknown = || ErrorData::invalid_params(format!("there is no task `{id}`"), None);
        found.map_err(fault)?.ok_or_else(unknown)
    }

    /// Where a call stands.
    async fn standing(&self, run: &Run) -> Result<DetailedTask, Stop> {
        let (id, reader) = (&run.invocation_id, self.runtime.reader());
        let (payload, seen) = match run.ended_at {
            Some(ended) => {
                let gone = || ErrorData::internal_error("the answer is no longer kept", None);
                let lost = || TaskPayload::Failed { error: answer::object(gone()) };
                // A call from a terminal may have been told more than a model reads.
                let told = |envelope: Envelope| envelope.told_to(Audience::Agent);
                let envelope = reader.result(id).await?.map(told);
                let payload = envelope.as_ref().map_or_else(lost, answer::outcome);
                (payload, TaskView { at: ended, message: None })
            }
            None => {
                let asks = |input_requests| TaskPayload::InputRequired { input_requests };
                let asked = self.inquiries.unanswered(id);
                (asked.map_or(TaskPayload::Working, asks), TaskView::last(&reader, run).await?)
            }
        };
        let (status, created) = (payload.status(), run.created_at.to_string());
        // No record goes by itself, so a task has no time to live.
        let mut task = Task::new(id.to_string(), status, created, seen.at.to_string());
        task.status_message = seen.message;
        Ok(DetailedTask::new(task.with_poll_interval_ms(LOOK_MS), payload))
    }
}

/// What was last seen of a call.
struct TaskView {
    at: Timestamp,
    message: Option<String>,
}

impl TaskView {
    async fn last(reader: &Reader, run: &Run) -> Result<TaskView, Stop> {
        let mut seen = TaskView { at: run.created_at, message: None };
        for entry in &reader.story(&run.invocation_id).await? {
            for fact in Reader::facts(entry)? {
                seen.at = fact.at;
                if let Event::Progressed(reported) = fact.event {
                    seen.message = reported.progress.message.or(seen.message);
                }
            }
        }
        if let Some(question) = &run.approval_id {
            seen.message = Some(format!("a person has to decide ({question})"));
        }
        Ok(seen)
    }
}

fn fault(stop: Stop) -> ErrorData {
    ErrorData::internal_error(told(stop), None)
}
