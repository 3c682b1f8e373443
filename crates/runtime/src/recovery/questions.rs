//! Approval questions of a recovered call.

use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{Event, InputEnded, InvocationId, QuestionState, Status, Stop};

use crate::context::CallContext;

impl CallContext<'_> {
    /// The last approval question that was not withdrawn; forms do not count.
    pub(super) async fn last_question(
        &mut self,
        id: &InvocationId,
    ) -> Result<Option<QuestionRecord>, Stop> {
        let mut found = self.questions_of(id).await?;
        found.retain(|record| record.question.form.is_none());
        let withdrawn = |record: &QuestionRecord| record.state == QuestionState::Withdrawn;
        Ok(found.into_iter().rfind(|record| !withdrawn(record)))
    }

    async fn questions_of(&mut self, id: &InvocationId) -> Result<Vec<QuestionRecord>, Stop> {
        let filter = QuestionFilter { invocation: Some(id.clone()), ..QuestionFilter::default() };
        let found = self.runtime.questions(&filter).await?;
        self.approvals.questions_asked = found.len();
        Ok(found)
    }

    /// Withdraws an open elicitation: the backend's connection died with its process.
    pub(super) async fn close_forms(&mut self, id: &InvocationId) -> Result<(), Stop> {
        if self.recorder.status() != Status::NeedsInput {
            return Ok(());
        }
        let asked = self.questions_of(id).await?;
        if let Some(record) = asked.into_iter().rfind(|record| record.question.form.is_some()) {
            self.recorder.note(Event::InputEnded(InputEnded {
                question: record.question.id,
                state: QuestionState::Withdrawn,
                reason: "the process that held the backend is gone".to_owned(),
            }));
        }
        Ok(())
    }
}
