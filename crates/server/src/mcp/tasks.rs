//! Tasks: long calls that the ledger keeps, so that any process can tell their state.

use haft_catalog::export::shows_output_schema;
use haft_ledger::Run;
use haft_model::{Actor, Audience, Envelope, Event, InvocationId, Stop, Timestamp};
use haft_runtime::Reader;
use rmcp::ErrorData;
use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task, TaskPayload,
};

use super::answer::{self, OutputPromise};
use crate::AppState;
use crate::app_state::told;

/// Poll interval for clients, in milliseconds.
const LOOK_MS: u64 = 1000;

impl AppState {
    /// The result that creates a task.
    pub(super) async fn created(
        &self,
        envelope: &Envelope,
        actor: &Actor,
    ) -> Result<CreateTaskResult, ErrorData> {
        let run = self.own_task(envelope.invocation_id.as_str(), actor).await?;
        let DetailedTask { task, .. } = self.standing(&run).await.map_err(fault)?;
        Ok(CreateTaskResult::new(task.with_status_message(envelope.summary.clone())))
    }

    /// `tasks/get`. Reading the result of a finished task delivers it.
    pub(super) async fn read_task(
        &self,
        id: &str,
        actor: &Actor,
    ) -> Result<GetTaskResult, ErrorData> {
        let run = self.own_task(id, actor).await?;
        let task = self.standing(&run).await.map_err(fault)?;
        if task.status().is_terminal() {
            self.runtime.mark_delivered(&run.invocation_id);
        }
        Ok(GetTaskResult::new(task))
    }

    /// `tasks/update`. An answer without an open inquiry is no error of the client.
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

    /// `tasks/cancel`. A task that has ended meanwhile is no error.
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

    /// The task state of a call.
    async fn standing(&self, run: &Run) -> Result<DetailedTask, Stop> {
        let (id, reader) = (&run.invocation_id, self.runtime.reader());
        let (payload, seen) = match run.ended_at {
            Some(ended) => {
                let gone = || ErrorData::internal_error("the answer is no longer kept", None);
                let lost = || TaskPayload::Failed { error: answer::object(gone()) };
                // A call made at a terminal may hold more than a model may read.
                let told = |envelope: Envelope| envelope.told_to(Audience::Agent);
                let envelope = reader.result(id).await?.map(told);
                let world = self.world();
                let payload = envelope.as_ref().map_or_else(lost, |envelope| {
                    let entry = world.snapshot.find(&envelope.tool_id);
                    let promises = entry.is_some_and(|entry| shows_output_schema(&entry.contract));
                    answer::outcome(envelope, OutputPromise::made(promises, entry))
                });
                (payload, TaskView { at: ended, message: None })
            }
            None => {
                let asks = |input_requests| TaskPayload::InputRequired { input_requests };
                let asked = self.inquiries.unanswered(id);
                (asked.map_or(TaskPayload::Working, asks), TaskView::last(&reader, run).await?)
            }
        };
        let (status, created) = (payload.status(), run.created_at.to_string());
        // Records do not expire by themselves, so a task has no time to live.
        let mut task = Task::new(id.to_string(), status, created, seen.at.to_string());
        task.status_message = seen.message;
        Ok(DetailedTask::new(task.with_poll_interval_ms(LOOK_MS), payload))
    }
}

/// The last recorded state of a call.
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
