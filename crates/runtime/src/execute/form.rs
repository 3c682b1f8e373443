//! Elicitation: puts a backend's forms to people through the approval inbox while a call runs.
//!
//! The driver and its connection are held meanwhile, and the call's time stands still. One form of
//! a call is open at a time, until it is answered, expires or is withdrawn.

use std::collections::{BTreeMap, VecDeque};

use haft_driver::{BoxFuture, Failure, Inquiry, Pause};
use haft_ledger::QuestionRecord;
use haft_model::{
    Code, Decision, EffectState, ElicitationForm, Event, InputEnded, Layer, Opinion, Progress,
    Question, QuestionState, Says, Status, Stop, Verdict,
};
use haft_policy::{Settlement, settle};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::inquiry::Answers;
use super::running::Running;
use crate::catch_panic::{CatchPanic, caught};
use crate::context::CallContext;
use crate::queue::Aside;
use crate::recorder::unrecorded;
use crate::runtime::later;
use crate::{Forms as Who, Patience, Reply};

/// One elicitation request of a backend, as far as people answer it.
pub(super) struct Forms {
    /// Forms that are not open yet.
    pub(super) left: BTreeMap<String, Inquiry>,
    /// The caller's answers to the other inquiries; `None` where there are none, or once they
    /// arrived.
    pub(super) others: Option<oneshot::Receiver<Answers>>,
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) reply: oneshot::Sender<Answers>,
    pub(super) aside: Aside,
}

/// All elicitation requests of an attempt.
#[derive(Default)]
pub(super) struct OpenForms<'m> {
    waiting: VecDeque<Forms>,
    open: Option<OpenForm>,
    /// The prompt of an interactive approver, beside the inbox.
    prompting: Option<CatchPanic<BoxFuture<'m, Option<Reply>>>>,
    /// Why a form was not filled in; the failure that follows reports it.
    unanswered: Option<Stop>,
}

/// The form that is open in the inbox.
struct OpenForm {
    name: String,
    question: Question,
    /// The call's time stands still until the form is closed.
    _pause: Pause,
}

impl OpenForms<'_> {
    pub(super) fn add(&mut self, forms: Forms) {
        self.waiting.push_back(forms);
    }

    /// Whether a form is open or waiting.
    pub(super) fn waits(&self) -> bool {
        self.open.is_some() || !self.waiting.is_empty()
    }

    /// The reply of the interactive prompt; pends forever where there is no prompt.
    pub(super) async fn prompted(&mut self) -> Option<Reply> {
        let Some(prompting) = &mut self.prompting else { return std::future::pending().await };
        let reply = prompting.await.unwrap_or_default();
        self.prompting = None;
        reply
    }
}

impl CallContext<'_> {
    /// Whether people fill in forms during this call: the inbox may be used, an answer would count,
    /// and the process that holds the driver lives on.
    pub(super) fn people_fill_in(&self, running: &Running<'_>) -> bool {
        let options = running.options;
        let caller = running.caller.as_ref().map(|caller| caller.abilities());
        let shows = caller.is_some_and(|able| able.kinds.contains(&haft_driver::InquiryKind::Form));
        let person = running.permitted.planned().plan.actor.is_person();
        let wanted = match self.runtime.options.forms {
            Who::Off => false,
            Who::Inbox => !shows,
            Who::People => !shows || !person,
        };
        wanted
            && !self.request.nested
            && !self.request.unattended
            && (options.patience == Patience::Wait || options.leave.is_some())
            && self.inbox_may_be_used(running.permitted.planned())
            && !self.world.rulebook.governance.signing_required
    }

    /// Opens the next form if none is open, and answers a request whose forms are complete.
    pub(super) async fn ask_people(&mut self, running: &mut Running<'_>) {
        while running.asked.open.is_none() {
            let Some(forms) = running.asked.waiting.front_mut() else { return };
            if let Some(others) = &mut forms.others {
                match others.try_recv() {
                    Ok(Ok(answers)) => forms.answers.extend(answers),
                    Err(oneshot::error::TryRecvError::Empty) => return,
                    Ok(Err(stop)) => return self.no_answers(running, stop),
                    Err(oneshot::error::TryRecvError::Closed) => {
                        let gone = Stop::new(Code::ApprovalRequired, "the caller is gone");
                        return self.no_answers(running, gone);
                    }
                }
                forms.others = None;
            }
            let Some((name, inquiry)) = forms.left.pop_first() else {
                let done = running.asked.waiting.pop_front();
                if let Some(Forms { answers, reply, aside, .. }) = done {
                    drop(aside);
                    let _ = reply.send(Ok(answers));
                }
                continue;
            };
            match ElicitationForm::read(&inquiry.params) {
                Ok(form) => match self.open(running, name, form).await {
                    Ok(()) => self.announce(running),
                    Err(stop) => self.no_answers(running, stop),
                },
                Err(stop) => {
                    forms.answers.insert(name, json!({ "action": "decline" }));
                    let message = Some(stop.message.clone());
                    running.asked.unanswered = Some(stop);
                    let progress = Progress { message, ..Progress::default() };
                    self.progressed(running, progress, None).await;
                }
            }
        }
    }

    fn no_answers(&mut self, running: &mut Running<'_>, stop: Stop) {
        if let Some(forms) = running.asked.waiting.pop_front() {
            let _ = forms.reply.send(Err(stop));
        }
    }

    /// Records a form as a question and pauses the call's time.
    async fn open(
        &mut self,
        running: &mut Running<'_>,
        name: String,
        form: ElicitationForm,
    ) -> Result<(), Stop> {
        let planned = running.permitted.planned();
        let contract = &planned.entry.contract;
        // The form needs the same approvers as the call itself.
        let judged = self.judged(&self.world.clone(), planned, &[]).await?;
        let (id, now) = (self.next_question(), self.recorder.now());
        let plan = &planned.plan;
        let asks = format!("`{}` asks on behalf of its backend", plan.route.driver);
        let said = form.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = crate::render::capped(&said, 300).0.to_owned();
        let question = Question {
            id,
            bound: self.bound(planned),
            grant: contract.grant_key(),
            needs: judged.needs,
            rememberable: false,
            summary: format!(
                "while {} runs for {}, its backend asks: \u{201c}{said}\u{201d}",
                contract.key(),
                plan.actor.id,
            ),
            shown_input: self.redacted_input(plan),
            driver_state: plan.driver_state.clone(),
            decision: Decision {
                verdict: Verdict::Ask,
                deciding: Some(0),
                opinions: vec![Opinion::new(Layer::Contract, Says::Ask, asks)],
                needs: Vec::new(),
                code: None,
                suggested_updates: Vec::new(),
                decided_at: now,
            },
            asked_at: now,
            expires_at: later(now, self.runtime.options.form),
            form: Some(form),
        };
        self.keep_input(&plan.input);
        if running.effect.state == EffectState::Submitted {
            // The backend waits as long as the form is open, and may commit after that.
            self.extend_submission(self.runtime.options.form);
        }
        self.recorder.note(Event::InputRequested(Box::new(question.clone())));
        self.recorder.claim(&self.runtime.options);
        if let Err(stop) = self.recorder.save().await {
            // A form that is not on record cannot be answered.
            let (question, state) = (question.id, QuestionState::Withdrawn);
            let reason = "it could not be put on record".to_owned();
            self.recorder.note(Event::InputEnded(InputEnded { question, state, reason }));
            return Err(stop);
        }
        let _pause = running.timer.left.pause();
        running.asked.open = Some(OpenForm { name, question, _pause });
        Ok(())
    }

    /// Announces an open form to the prompt or the `tell` callback, and releases a caller that does
    /// not wait.
    fn announce(&mut self, running: &mut Running<'_>) {
        let Some(OpenForm { question, .. }) = &running.asked.open else { return };
        let options = running.options;
        if let Some(prompt) = options.prompt {
            let question = question.clone();
            let asking = caught(|| -> BoxFuture<'_, _> {
                Box::pin(async move { prompt.ask(&question).await })
            });
            running.asked.prompting = asking.ok().map(CatchPanic);
        } else if let Some(tell) = options.tell {
            let _ = caught(|| tell(question));
        }
        let reached = running.permitted.planned().reached();
        let words = self.waits_for(&question.summary, &question.id, "answer");
        let mut envelope =
            self.waiting(&reached, Some(question.id.clone()), words, Status::NeedsInput);
        envelope.effect_state = running.effect.state;
        // Equal calls find the question in the ledger from here on, and need not await this flight.
        if let Some(flight) = self.waiters.flight.take() {
            flight.answered(&envelope);
        }
        let leaves = options.patience == Patience::Leave && !self.waiters.detached;
        if let Some(leave) = options.leave.as_ref().filter(|_| leaves) {
            self.waiters.detached = true;
            let _ = caught(|| leave(envelope));
        }
    }

    /// Submits the reply of the prompt. An invalid reply leaves the form open.
    pub(super) async fn replied(&mut self, running: &mut Running<'_>, reply: Option<Reply>) {
        let open = running.asked.open.as_ref().map(|open| open.question.id.clone());
        if let (Some(id), Some(reply)) = (open, reply) {
            let _ = self.runtime.answer(&id, reply).await;
        }
        self.look_at_forms(running).await;
    }

    /// Polls the open form: closes it if it is answered or expired, and opens the next.
    pub(super) async fn look_at_forms(&mut self, running: &mut Running<'_>) {
        if let Some(OpenForm { question, .. }) = &running.asked.open {
            // A failed read is retried at the next poll.
            let Ok(record) = self.record_of(&question.id).await else { return };
            let question = question.clone();
            if let Some(ended) = self.came_of(running, &question, &record).await {
                self.close_form(running, ended);
            } else {
                return;
            }
        }
        self.ask_people(running).await;
    }

    /// Outcome of a form; `None` while it is open.
    async fn came_of(
        &mut self,
        running: &mut Running<'_>,
        question: &Question,
        record: &QuestionRecord,
    ) -> Option<FormOutcome> {
        let now = self.recorder.now();
        if record.answers.is_empty() && now <= question.expires_at {
            return None;
        }
        let rulebook = self.runtime.world().rulebook.clone();
        // The approvals have to carry the same content.
        let last = record.answers.iter().rev().find(|answer| answer.approves);
        let content = last.and_then(|answer| answer.content.clone());
        let mut bound = question.bound.clone();
        bound.call_input = content.clone().unwrap_or(bound.call_input);
        let plan = &running.permitted.planned().plan;
        match settle(&rulebook, question, &record.answers, plan, &bound, now) {
            Settlement::Open(_) => None,
            Settlement::Refused(stop) if stop.code == Code::ApprovalRejected => {
                Some(FormOutcome::unanswered(QuestionState::Rejected, "decline", stop))
            }
            Settlement::Refused(stop) if stop.code == Code::ApprovalExpired => {
                let words =
                    format!("the backend's form was not filled in by {}", question.expires_at);
                let stop =
                    Stop { message: words, ..stop }.help("call it again, and answer in time");
                Some(FormOutcome::unanswered(QuestionState::Expired, "cancel", stop))
            }
            Settlement::Refused(stop) => {
                Some(FormOutcome::unanswered(QuestionState::Withdrawn, "cancel", stop))
            }
            Settlement::Changed(why) => {
                let stop = Stop::new(Code::ApprovalExpired, why);
                Some(FormOutcome::unanswered(QuestionState::Withdrawn, "cancel", stop))
            }
            Settlement::Permitted(_) => Some(match self.content(content).await {
                Ok(content) => {
                    let by = last.map(|answer| format!("{} filled it in", answer.by));
                    FormOutcome {
                        state: QuestionState::Approved,
                        answer: json!({ "action": "accept", "content": content }),
                        reason: by.unwrap_or_default(),
                        stop: None,
                    }
                }
                Err(stop) => FormOutcome::unanswered(QuestionState::Withdrawn, "cancel", stop),
            }),
        }
    }

    async fn content(&self, digest: Option<haft_model::Digest>) -> Result<Value, Stop> {
        let gone = || Stop::new(Code::Internal, "what was filled in is gone");
        let digest = digest.ok_or_else(gone)?;
        let bytes = self.runtime.store.payload(self.recorder.id(), &digest).await;
        let bytes = bytes.map_err(unrecorded)?.ok_or_else(gone)?;
        serde_json::from_slice(&bytes).map_err(|_| gone())
    }

    /// Withdraws all forms and answers the backend with `cancel`.
    pub(super) fn withdraw_forms(&mut self, running: &mut Running<'_>, why: &str) {
        if running.asked.open.is_some() {
            let stop = Stop::new(Code::CanceledCaller, why);
            self.close_form(
                running,
                FormOutcome::unanswered(QuestionState::Withdrawn, "cancel", stop),
            );
            running.asked.unanswered = None;
        }
        for Forms { left, mut answers, reply, .. } in std::mem::take(&mut running.asked.waiting) {
            answers.extend(left.into_keys().map(|name| (name, json!({ "action": "cancel" }))));
            let _ = reply.send(Ok(answers));
        }
    }

    fn close_form(&mut self, running: &mut Running<'_>, ended: FormOutcome) {
        let Some(OpenForm { name, question, .. }) = running.asked.open.take() else { return };
        running.asked.prompting = None;
        let FormOutcome { state, answer, reason, stop } = ended;
        self.recorder.note(Event::InputEnded(InputEnded { question: question.id, state, reason }));
        running.asked.unanswered = stop;
        if let Some(forms) = running.asked.waiting.front_mut() {
            forms.answers.insert(name, answer);
        }
    }
}

/// Outcome of a form.
struct FormOutcome {
    state: QuestionState,
    /// The elicitation result that the backend receives.
    answer: Value,
    reason: String,
    /// Why it was not filled in; `None` for an accepted form.
    stop: Option<Stop>,
}

impl FormOutcome {
    fn unanswered(state: QuestionState, action: &str, stop: Stop) -> FormOutcome {
        let reason = stop.message.clone();
        FormOutcome { state, answer: json!({ "action": action }), reason, stop: Some(stop) }
    }
}

impl Running<'_> {
    /// Puts the reason of an unanswered form before the backend's own failure.
    pub(super) fn why_unanswered(&mut self, failure: Failure) -> Failure {
        let called_off = failure.stop.code == Code::CanceledCaller;
        let Some(why) = self.asked.unanswered.take().filter(|_| !called_off) else {
            return failure;
        };
        let message = format!("{}; {}", why.message, failure.stop.message);
        let mut cause = failure.stop.cause;
        cause.extend(why.cause.clone());
        let stop = Stop { message, cause, ..why };
        Failure { stop, ..failure }
    }
}
