//! Answering a question of the inbox, whatever became of it and of its call meanwhile.

use haft_ledger::{QuestionFilter, QuestionRecord, RunFilter};
use haft_model::{Code, Envelope, QuestionId, QuestionState, Stop};

use crate::{AnswerOutcome, RecoveryOutcome, Reply, Runtime};

/// What an answer led to.
#[derive(Debug)]
pub enum Led {
    /// The call was carried out here.
    To(Box<Envelope>),
    /// Whoever made the call goes on with it.
    On,
    /// Others have to answer too.
    ToOthers,
    /// The call is not what it was when that was asked, so it is asked about anew.
    ToAnother(QuestionId),
}

impl Runtime {
    /// Answers a question. A yes that was said before, while nobody was there to carry the call out,
    /// carries it out.
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
            // The caller's process keeps the call whether the answer was the last it needs or not.
            AnswerOutcome::Passed if self.still_waits(record).await? => Ok(Led::ToOthers),
            AnswerOutcome::Passed => Ok(Led::On),
        }
    }

    /// Somebody said yes before, and nobody may have been there to carry the call out.
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

    /// The question that was asked in place of one that was answered, if there is one.
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

/// A question that is settled is answered by nobody any more.
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
