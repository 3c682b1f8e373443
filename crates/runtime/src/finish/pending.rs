//! Pending envelopes: for a call that waits for a person or runs on in the background, and for one
//! that another call carried out.

use haft_driver::Output;
use haft_model::{Audience, Content, EffectState, Envelope, QuestionId, ResultStatus, Status};

use super::Completion;
use super::mapping::mapped;
use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::render;
use crate::validate::Workload;

impl CallContext<'_> {
    /// The pending envelope of a call that waits for approval while its caller does not.
    pub(super) async fn pending(
        mut self,
        reached: &Reached,
        question: haft_model::Question,
    ) -> Envelope {
        let words = self.waits_for(&question.summary, &question.id, "approve it");
        let mut envelope =
            self.waiting(reached, Some(question.id), words, Status::AwaitingApproval);
        if let Err(stop) = self.recorder.close(false).await {
            envelope.unrecorded = Some(stop.message);
        }
        self.recorder.release().await;
        envelope
    }

    /// Message of a pending call: tells a person how to approve, and a model that a person decides.
    pub(crate) fn waits_for(&self, summary: &str, question: &QuestionId, act: &str) -> String {
        match self.request.audience {
            Audience::Person => format!("{summary}; {act} with `haft approve {question}`"),
            Audience::Agent => format!("{summary}; a person has to decide ({question})"),
        }
    }

    /// Composes the envelope of an output without recording anything.
    pub(crate) fn came_to(&self, reached: Reached, output: Output) -> Envelope {
        let effect = output.effect;
        let output = mapped(&reached, output);
        let error = reached.check_output(&output).err().map(|stop| self.error(stop, effect));
        let held =
            Workload::of_output(Some(&output)).run(|| self.looked_at(&reached, Some(&output)));
        let output = Some(output);
        self.composed(&Completion { reached, output, error, effect, is_report: false }, held)
    }

    /// A pending envelope, for a call that waits for a person or runs on in the background.
    pub(crate) fn waiting(
        &self,
        reached: &Reached,
        question: Option<QuestionId>,
        words: String,
        status: Status,
    ) -> Envelope {
        let effect = self.unsent(reached, EffectState::None);
        let completion = Completion {
            reached: reached.clone(),
            output: None,
            error: None,
            effect,
            is_report: false,
        };
        let mut envelope = self.composed(&completion, self.looked_at(reached, None));
        envelope.status = ResultStatus::Pending;
        envelope.final_status = status;
        envelope.model_facing_content = vec![Content::text(words.clone())];
        envelope.ui_facing_summary = render::line(&words);
        envelope.summary = words;
        envelope.empty = false;
        envelope.approval_id = question;
        envelope
    }
}
