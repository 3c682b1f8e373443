//! Elicitation and remarks of a running driver: routes its requests to the caller or the inbox.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Abilities, Caller, Cancel, Inquiry, InquiryKind, Remark};
use haft_model::{Cause, CauseDetail, ClientAbility, Code, EffectState, Progress, Reported, Stop};
use serde_json::Value;
use tokio::sync::oneshot;

use super::form::Forms;
use super::running::Running;
use crate::context::CallContext;
use crate::{Background, background};

pub(super) type Answers = Result<BTreeMap<String, Value>, Stop>;

impl Running<'_> {
    /// What the caller can answer, extended by what people can answer through the inbox.
    pub(super) fn abilities(&self) -> Abilities {
        let caller = self.caller.as_ref();
        let mut able = caller.map(|caller| caller.abilities().clone()).unwrap_or_default();
        if self.people {
            able.kinds.insert(InquiryKind::Form);
            able.people = true;
        }
        able.patient = self.options.background != Background::Unknown
            || background::takes_long(&self.permitted.planned().entry);
        able
    }

    pub(super) fn tell(&self, reported: &Reported) {
        if let Some(caller) = &self.caller {
            caller.progress(reported);
        }
    }

    /// Whether the backend may ask the caller anything.
    pub(super) fn is_asked(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| !caller.abilities().kinds.is_empty())
    }

    /// Whether the caller itself answers this kind of inquiry.
    fn caller_answers(&self, inquiry: &Inquiry) -> bool {
        let able = |caller: &Arc<dyn Caller>| caller.abilities().kinds.contains(&inquiry.kind);
        self.caller.as_ref().is_some_and(able)
    }
}

impl CallContext<'_> {
    /// Asks the caller in a separate task, so that the call can still be cancelled. Its time stands
    /// still meanwhile, for as long as a form may stay open. Forms that people fill in go to the
    /// inbox.
    pub(super) async fn ask_caller(
        &mut self,
        running: &mut Running<'_>,
        mut asked: BTreeMap<String, Inquiry>,
        reply: oneshot::Sender<Answers>,
    ) {
        let of_people = |inquiry: &Inquiry| running.people && inquiry.kind == InquiryKind::Form;
        if !asked.values().all(|one| of_people(one) || running.caller_answers(one)) {
            let _ = reply.send(Err(nobody(&asked)));
            return;
        }
        for inquiry in asked.values_mut() {
            self.privacy.redactor.everywhere(&mut inquiry.params);
        }
        let (forms, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            asked.into_iter().partition(|(_, inquiry)| of_people(inquiry));
        // People take their time, so the call gives its slot to others meanwhile.
        let aside = self.runtime.queue.aside();
        let Some(caller) = running.caller.clone().filter(|_| !others.is_empty()) else {
            let answers = BTreeMap::new();
            running.asked.add(Forms { left: forms, others: None, answers, reply, aside });
            return self.ask_people(running).await;
        };
        let message = Some("the backend asks the caller".to_owned());
        self.progressed(running, Progress { message, ..Progress::default() }, None).await;
        let form = self.runtime.options.form;
        if running.effect.state == EffectState::Submitted {
            // The backend waits as long as the caller may, and may commit after that.
            self.extend_submission(form);
        }
        let asking = CallerInquiry { caller, closing: running.closing.clone(), form };
        let pause = running.timer.left.pause();
        if forms.is_empty() {
            tokio::spawn(async move {
                let (mut reply, kept) = (reply, (aside, pause));
                let answers = asking.answers(others, &mut reply).await;
                drop(kept);
                let _ = reply.send(answers);
            });
            return;
        }
        // The caller comes first: one that does not wait for the inbox leaves once people are
        // asked.
        let (mut sender, others_answered) = oneshot::channel();
        tokio::spawn(async move {
            let answers = asking.answers(others, &mut sender).await;
            drop(pause);
            sender.send(answers)
        });
        let (answers, others) = (BTreeMap::new(), Some(others_answered));
        running.asked.add(Forms { left: forms, others, answers, reply, aside });
    }

    pub(super) fn remark(&self, running: &Running<'_>, mut remark: Remark) {
        if let Some(caller) = &running.caller {
            self.privacy.redactor.everywhere(&mut remark.data);
            caller.remark(remark);
        }
    }
}

/// The question of a backend to a caller, which may take unbounded time.
struct CallerInquiry {
    caller: Arc<dyn Caller>,
    closing: Cancel,
    /// How long the caller may take.
    form: Duration,
}

impl CallerInquiry {
    /// The caller's answers, or a refusal once the time is over, at shutdown, or when the backend
    /// does not wait any more.
    async fn answers(
        &self,
        asked: BTreeMap<String, Inquiry>,
        waiting: &mut oneshot::Sender<Answers>,
    ) -> Answers {
        tokio::select! {
            biased;
            answers = self.caller.ask(asked) => answers,
            () = tokio::time::sleep(self.form) => {
                let seconds = self.form.as_secs_f64();
                let words = format!("the caller did not answer the backend within {seconds} s");
                Err(Stop::new(Code::ApprovalExpired, words).help("call it again, and answer in time"))
            }
            () = self.closing.cancelled() => {
                Err(Stop::new(Code::CanceledCaller, "haft is about to stop")
                    .help("call again once it is back"))
            }
            () = waiting.closed() => {
                Err(Stop::new(Code::CanceledCaller, "the backend does not wait for it any more"))
            }
        }
    }
}

fn nobody(asked: &BTreeMap<String, Inquiry>) -> Stop {
    let kinds: Vec<String> =
        asked.values().map(|inquiry| format!("{:?}", inquiry.kind).to_lowercase()).collect();
    let abilities = asked.values().map(|inquiry| match inquiry.kind {
        InquiryKind::Form => ClientAbility::Form,
        InquiryKind::Page => ClientAbility::Page,
        InquiryKind::Sample => ClientAbility::Sample,
        InquiryKind::Roots => ClientAbility::Roots,
    });
    Stop::new(
        Code::ApprovalRequired,
        format!(
            "the backend asks for something ({}) that the caller cannot give",
            kinds.join(", ")
        ),
    )
    .help("call from a client that can do that; a caller that waits can leave forms to the inbox")
    .because(Cause::running().with(CauseDetail::MissingAbilities(abilities.collect())))
}
