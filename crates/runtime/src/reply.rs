//! Approval reply: answers a question of the approval inbox and resumes its call where no process
//! holds it.

use haft_ledger::{QuestionFilter, QuestionRecord, RunFilter};
use haft_model::{Code, Envelope, QuestionId, QuestionState, Stop};

use crate::{AnswerOutcome, RecoveryOutcome, Reply, Runtime};

/// Result of an approver's answer.
#[derive(Debug)]
pub enum Led {
    /// The call ran in this process.
    To(Box<Envelope>),
    /// The caller's process resumes the call.
    On,
    /// The call needs further approvers.
    ToOthers,
    /// The call changed since the question, so a new one is open.
    ToAnother(QuestionId),
}

impl Runtime {
    /// Answers a question. A repeated approval resumes a call whose process died after the first.
    pub async fn reply(&self, record: &QuestionRecord, reply: Reply) -> Result<Led, Stop> {
        let agreed = record.answers.iter().any(|one| one.approves && one.by == reply.by.id);
        let agreed = agreed && record.state == QuestionState::Open;
        let approved = agreed || record.state == QuestionState::Approved;
        if reply.approves && approved && reply.by.may_answer() {
            return self.take_up(record).await;
        }
        still_open(record)?;
        match self.answer_and_run(&record.question.id, reply).await? {
            AnswerOutcome::CarriedOut(envelope) => Ok(Led::To(envelope)),
            AnswerOutcome::StillOpen => {
                Ok(self.asked_anew(record).await?.map_or(Led::ToOthers, Led::ToAnother))
            }
            // The caller's process holds the call whether or not the answer was the last one
            // needed.
            AnswerOutcome::Passed if self.still_waits(record).await? => Ok(Led::ToOthers),
            AnswerOutcome::Passed => Ok(Led::On),
        }
    }

    /// Resumes a call that was approved before, if no process holds it.
    async fn take_up(&self, record: &QuestionRecord) -> Result<Led, Stop> {
        let id = &record.question.bound.invocation;
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let runs = self.reader().runs(&filter).await?;
        if let Some(ended) = runs.iter().find(|run| run.status.is_terminal()) {
            return Err(settled(record, &format!("approved, and the call has {}", ended.status)));
        }
        match self.take_over(id).await? {
            RecoveryOutcome::Finished(envelope) => Ok(Led::To(envelope)),
            RecoveryOutcome::StillWaiting => Ok(Led::ToOthers),
            RecoveryOutcome::Elsewhere => {
                Err(settled(record, "approved, and another process has the call"))
            }
        }
    }

    /// The open question that replaced an answered one.
    async fn asked_anew(&self, record: &QuestionRecord) -> Result<Option<QuestionId>, Stop> {
        let invocation = Some(record.question.bound.invocation.clone());
        let filter = QuestionFilter { invocation, open: true, ..QuestionFilter::default() };
        let open = self.questions(&filter).await?;
        let mut others = open.into_iter().map(|other| other.question.id);
        Ok(others.find(|id| *id != record.question.id))
    }

    async fn still_waits(&self, record: &QuestionRecord) -> Result<bool, Stop> {
        let id = Some(record.question.id.clone());
        let filter = QuestionFilter { id, ..QuestionFilter::default() };
        let open = self.questions(&filter).await?;
        let open = open.iter().any(|record| record.state == QuestionState::Open);
        let id = Some(record.question.bound.invocation.clone());
        let runs = self.reader().runs(&RunFilter { id, ..RunFilter::default() }).await?;
        Ok(open && runs.iter().any(|run| run.status.waits_for_people()))
    }
}

/// Refuses an answer to a question that is no longer open.
fn still_open(record: &QuestionRecord) -> Result<(), Stop> {
    match record.state {
        QuestionState::Open => Ok(()),
        state @ (QuestionState::Approved
        | QuestionState::Rejected
        | QuestionState::Expired
        | QuestionState::Withdrawn) => Err(settled(record, state.name())),
    }
}

fn settled(record: &QuestionRecord, how: &str) -> Stop {
    let question = &record.question;
    Stop::new(Code::Conflict, format!("`{}` is settled already: {how}", question.id))
        .help(format!("`haft trace {}` tells it all", question.bound.invocation))
}
