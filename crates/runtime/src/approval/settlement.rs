//! Approval settlement: applies the answers to the plan as it would run now.
//!
//! INVARIANT: an approval never overrides a deny; policy evaluates the approved plan again.

use haft_ledger::QuestionRecord;
use haft_model::{
    ApprovalAnswer, Code, Decision, Layer, Mutation, MutationSource, Opinion, Question,
    QuestionState, Says, Stop, Verdict, utc_day,
};
use haft_policy::{Permit, Settlement, settle};
use serde_json::Value;

use super::{Ending, PeoplesAnswer};
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::Halt;
use crate::plan::PlannedCall;
use crate::recorder::unrecorded;

impl CallContext<'_> {
    /// Settles a question; `None` while it is open.
    pub(crate) async fn ended(
        &mut self,
        planned: &PlannedCall,
        question: &Question,
        record: &QuestionRecord,
    ) -> Result<Option<Ending>, Halt> {
        let now = self.recorder.now();
        if record.answers.is_empty() && now <= question.expires_at {
            return Ok(None);
        }
        // Catalog and policy may have been reloaded while the question was open.
        self.world = self.runtime.world();
        let (current, mutation) = match self.as_of_now(planned, record).await {
            Ok(current) => current,
            Err(stop) => {
                self.close(question, QuestionState::Withdrawn, "what it was about cannot run now");
                return Err(stop.into());
            }
        };
        let bound = self.bound(&current);
        let rulebook = self.world.rulebook.clone();
        match settle(&rulebook, question, &record.answers, &current.plan, &bound, now) {
            Settlement::Open(_) => Ok(None),
            Settlement::Refused(stop) => {
                if stop.code == Code::ApprovalExpired {
                    self.close(question, QuestionState::Expired, "it expired without an answer");
                }
                Err(stop.into())
            }
            Settlement::Changed(why) => {
                self.close(question, QuestionState::Withdrawn, &why);
                Ok(Some(Ending::AskAgain(Box::new(current))))
            }
            Settlement::Permitted(permit) => {
                if let Err(stop) = self.still_in_time().await {
                    self.close(question, QuestionState::Withdrawn, "it cannot be undone any more");
                    return Err(stop.into());
                }
                self.still_lawful(&current, question).await?;
                let answer = PeoplesAnswer {
                    question: question.id.clone(),
                    asked_about: &planned.plan.input,
                    mutations: mutation.into_iter().collect(),
                };
                let decision = self.agreed(question, &record.answers);
                let permitted = self.permitted(current, permit, decision, answer).await?;
                Ok(Some(Ending::Permitted(Box::new(permitted))))
            }
        }
    }

    /// Binds the call against the current catalog, with the approver's edited input if there is
    /// one.
    async fn as_of_now(
        &mut self,
        planned: &PlannedCall,
        record: &QuestionRecord,
    ) -> Result<(PlannedCall, Option<Mutation>), Stop> {
        let today = utc_day(self.recorder.now());
        let tool = planned.plan.tool.to_string();
        let entry = self.world.snapshot.select(&tool, today)?.clone();
        let Some(answer) = edited(&record.answers) else {
            return Ok((
                self.plan_changed(planned.origin(), &entry, Value::clone(&planned.plan.input))?,
                None,
            ));
        };
        let input = self.edited_input(answer).await?;
        let by = answer.by.to_string();
        self.rebind_changed_input(&entry, planned, input, |_| {
            (MutationSource::PermissionPrompt, by, "the approver edited it".into())
        })
    }

    /// Evaluates policy again: an approver cannot approve what a rule denies, be it an edited input
    /// or a rule added while the question was open.
    async fn still_lawful(
        &mut self,
        planned: &PlannedCall,
        question: &Question,
    ) -> Result<(), Halt> {
        let world = self.world.clone();
        let decision = self.judged(&world, planned, &[]).await?;
        match decision.verdict {
            Verdict::Deny => {
                self.close(question, QuestionState::Withdrawn, "a rule denies it");
                Err(self.denied(planned, decision).await.into())
            }
            Verdict::Allow | Verdict::Ask => Ok(()),
        }
    }

    /// The allow decision that the approvers' answers add to the one they were asked about.
    fn agreed(&self, question: &Question, answers: &[ApprovalAnswer]) -> Decision {
        let mut opinions = question.decision.opinions.clone();
        for answer in answers.iter().filter(|answer| answer.approves) {
            let reason = answer.reason.clone().unwrap_or_else(|| format!("{} agrees", answer.by));
            opinions.push(Opinion::new(Layer::Person, Says::Allow, reason).by(answer.by.as_str()));
        }
        Decision {
            verdict: Verdict::Allow,
            deciding: opinions.len().checked_sub(1),
            opinions,
            needs: Vec::new(),
            code: None,
            suggested_updates: Vec::new(),
            decided_at: self.recorder.now(),
        }
    }

    async fn permitted(
        &mut self,
        planned: PlannedCall,
        permit: Permit,
        decision: Decision,
        answer: PeoplesAnswer<'_>,
    ) -> Result<PermittedCall, Halt> {
        let permitted = self.permit_by_people(planned, permit);
        let call_input = Some(permitted.call_input().clone());
        self.decided(permitted.planned(), decision, call_input, Some(answer)).await?;
        Ok(permitted)
    }

    async fn edited_input(&self, answer: &ApprovalAnswer) -> Result<Value, Stop> {
        let gone = || Stop::new(Code::InputMutation, "the edited input is gone");
        let digest = answer.edited_input.as_ref().ok_or_else(gone)?;
        let bytes = self.runtime.store.payload(self.recorder.id(), digest).await;
        let bytes = bytes.map_err(unrecorded)?.ok_or_else(gone)?;
        serde_json::from_slice(&bytes).map_err(|_| gone())
    }
}

fn edited(answers: &[ApprovalAnswer]) -> Option<&ApprovalAnswer> {
    answers.iter().rev().find(|answer| answer.approves && answer.edited_input.is_some())
}
