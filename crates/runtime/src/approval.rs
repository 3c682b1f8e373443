//! Phase 7, the half that waits: a decision becomes a permit, a refusal, or a question to people.

mod question;
mod settled;

use haft_ledger::QuestionRecord;
use haft_model::{
    Call, CallPhase, Closed, Code, Decided, Decision, Event, Firmness, HookPoint, Layer, Needs,
    Opinion, PayloadRef, PhaseOutcome, Question, QuestionState, Says, Status, Stop, Verdict,
};
use haft_policy::Permit;
use serde_json::json;

use crate::catch_panic::{CatchPanic, caught};
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;
use crate::pre_hooks::HookedPlan;
use crate::quota;
use crate::runtime::{called_off, later};
use crate::{CallOptions, NonInteractive, Patience, Prompt, Reply, World};
use question::PeoplesAnswer;

/// A call that may run, and exactly what of it.
pub(crate) struct PermittedCall {
    pub(crate) understood: BoundPlan,
    pub(crate) permit: Permit,
    pub(crate) call_input: PayloadRef,
    /// What hooks said of it, where the rules allowed it; none where people did.
    pub(crate) heard: Option<Vec<Opinion>>,
    /// The policies with a budget that let it through by themselves.
    pub(crate) let_through: Vec<String>,
}

impl CallPipeline<'_> {
    pub(crate) async fn clear(
        &mut self,
        call: &Call,
        heard: HookedPlan,
        manner: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let cleared = self.decide(call, heard, manner).await;
        match &cleared {
            Ok(cleared) => {
                self.plan = Some(cleared.understood.plan.clone());
                self.journal.phase(CallPhase::Permission, PhaseOutcome::Ok);
            }
            Err(Halt::Stopped(_)) => {
                self.journal.phase(CallPhase::Permission, PhaseOutcome::Failed)
            }
            Err(Halt::Pending(_) | Halt::Answered(_)) => {}
        }
        cleared
    }

    async fn decide(
        &mut self,
        call: &Call,
        heard: HookedPlan,
        manner: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let HookedPlan { understood, mut opinions } = heard;
        let world = self.world.clone();
        self.within_limits(&understood).await?;
        let mut decision = self.judged(&world, &understood, &opinions).await?;
        if decision.verdict == Verdict::Ask {
            let told = self.hear_about(HookPoint::PermissionRequest, &understood, &decision).await;
            if !told.opinions.is_empty() {
                opinions.extend(told.opinions);
                decision = self.judged(&world, &understood, &opinions).await?;
            }
        }
        match decision.verdict {
            Verdict::Allow => self.allowed(understood, decision).await,
            Verdict::Deny => Err(self.denied(&understood, decision).await.into()),
            Verdict::Ask => self.ask(call, understood, opinions, decision, manner).await,
        }
    }

    /// The rules say yes: what was judged is frozen, and a permit is for exactly that.
    pub(crate) async fn allowed(
        &mut self,
        understood: BoundPlan,
        decision: Decision,
    ) -> Result<PermittedCall, Halt> {
        let until = later(self.journal.now(), self.runtime.options.permit);
        let permit = Permit::of_decision(&decision, &understood.plan, self.journal.id(), until);
        let permit = permit.ok_or_else(|| Stop::new(Code::Internal, "an allow gave no permit"))?;
        let call_input = self.keep(&understood.plan.input);
        let heard = decision.opinions.iter();
        let heard = heard.filter(|said| said.is_heard());
        let heard = Some(heard.cloned().collect());
        let let_through = quota::let_through(&self.world, &decision);
        self.decided(&understood, decision, Some(call_input.clone()), None).await?;
        Ok(PermittedCall { understood, permit, call_input, heard, let_through })
    }

    pub(crate) async fn denied(&mut self, understood: &BoundPlan, decision: Decision) -> Stop {
        let stop = self.with_wait(refusal(&decision), understood).await;
        match self.decided(understood, decision, None, None).await {
            Ok(()) => stop,
            Err(Halt::Stopped(failure)) => failure.stop,
            Err(Halt::Pending(_) | Halt::Answered(_)) => stop,
        }
    }

    /// Puts a decision on record, and tells those who want to know. Whoever says no to a yes is why
    /// it does not run after all; a no is one whatever they say.
    async fn decided(
        &mut self,
        understood: &BoundPlan,
        decision: Decision,
        call_input: Option<PayloadRef>,
        answer: Option<PeoplesAnswer<'_>>,
    ) -> Result<(), Halt> {
        // What was judged is what people were asked about, whatever they put in its place.
        let judged = answer.as_ref().map_or(&understood.plan.input, |answer| answer.asked_about);
        let permission_input = self.keep(judged);
        self.policies = crate::authorize::spoke(&decision);
        let (mode, question, mutations) = match answer {
            Some(answer) => ("interactive", Some(answer.question), answer.mutations),
            None => ("rules", None, Vec::new()),
        };
        let expires_at =
            call_input.is_some().then(|| later(decision.decided_at, self.runtime.options.permit));
        if call_input.is_some() && !self.journal.may_note(Status::Approved) {
            // A call that is taken up after it had begun was decided before; that stands.
            return Ok(());
        }
        self.journal.note(Event::PermissionDecided(Box::new(Decided {
            decision: decision.clone(),
            permission_input,
            call_input,
            mutations,
            question,
            expires_at,
            mode: mode.to_owned(),
        })));
        let told = self.hear_about(HookPoint::PermissionDecision, understood, &decision).await;
        match told.no.filter(|_| decision.verdict == Verdict::Allow) {
            Some(no) => Err(no.into()),
            None => Ok(()),
        }
    }

    /// A person has to answer: the question is put on record, and waited for.
    pub(crate) async fn ask(
        &mut self,
        call: &Call,
        mut understood: BoundPlan,
        opinions: Vec<Opinion>,
        mut decision: Decision,
        manner: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        loop {
            if let Err(stop) = self.somebody_can_be_asked(&understood, manner) {
                self.decided(&understood, decision, None, None).await?;
                return Err(stop.into());
            }
            // The question names what was judged by its digest.
            self.keep(&understood.plan.input);
            let question = self.question(&understood, decision);
            self.journal.note(Event::PermissionRequested(Box::new(question.clone())));
            self.journal.claim(&self.runtime.options);
            self.journal.save().await?;
            match self.answered(call, &understood, question, manner).await? {
                Ending::Cleared(cleared) => return Ok(*cleared),
                Ending::AskAgain(changed) => understood = *changed,
            }
            // What would run is not what was asked about: it is judged like a new call.
            let world = self.world.clone();
            decision = self.judged(&world, &understood, &opinions).await?;
            match decision.verdict {
                Verdict::Allow => return self.allowed(understood, decision).await,
                Verdict::Deny => return Err(self.denied(&understood, decision).await.into()),
                Verdict::Ask => {}
            }
        }
    }

    /// What the rules say of the call as it is now.
    pub(crate) async fn judged(
        &self,
        world: &World,
        understood: &BoundPlan,
        opinions: &[Opinion],
    ) -> Result<Decision, Stop> {
        let plan = self.judged_as(&understood.plan);
        let targets = &understood.targets;
        self.runtime.judge(world, &understood.entry, &plan, targets, opinions).await
    }

    /// Where neither a person is at hand nor the inbox may be used, an ask is an end.
    fn somebody_can_be_asked(
        &self,
        understood: &BoundPlan,
        manner: &CallOptions<'_>,
    ) -> Result<(), Stop> {
        let contract = &understood.entry.contract;
        if manner.prompt.is_some() || self.inbox_may_be_used(understood) {
            return Ok(());
        }
        let words =
            format!("a person has to approve `{}`, and nobody can be asked", contract.key());
        Err(Stop::new(Code::ApprovalRequired, words)
            .help("call it at a terminal, or set `non_interactive = \"ask\"`"))
    }

    /// Whether questions about a tool may be left to the inbox.
    pub(crate) fn inbox_may_be_used(&self, understood: &BoundPlan) -> bool {
        let extras = &understood.entry.contract.tool.extras;
        self.runtime.options.non_interactive == NonInteractive::Ask
            && extras.non_interactive.as_deref() != Some("deny")
    }

    /// Waits until a question is settled one way or another.
    pub(crate) async fn answered(
        &mut self,
        call: &Call,
        understood: &BoundPlan,
        question: Question,
        manner: &CallOptions<'_>,
    ) -> Result<Ending, Halt> {
        let mut prompt = manner.prompt;
        let mut tell = manner.tell;
        loop {
            let record = self.record_of(&question.id).await?;
            if let Some(ending) = self.ended(call, understood, &question, &record).await? {
                return Ok(ending);
            }
            let pending = manner.patience == Patience::Leave && prompt.is_none();
            if pending {
                return Err(Halt::Pending(Box::new(question)));
            }
            let replied = match prompt.take() {
                Some(prompt) => self.prompted(prompt, &question, &record, manner).await?,
                None => {
                    if let Some(tell) = tell.take() {
                        let _ = caught(|| tell(&question));
                    }
                    self.wait(&question, manner).await?;
                    None
                }
            };
            if let Some(reply) = replied {
                self.take(&question, reply).await?;
            }
        }
    }

    /// Asks whoever is at hand, until they reply or somebody else does.
    async fn prompted(
        &mut self,
        prompt: &dyn Prompt,
        question: &Question,
        before: &QuestionRecord,
        manner: &CallOptions<'_>,
    ) -> Result<Option<Reply>, Halt> {
        // Whoever asks so badly that it panics has not been answered: the inbox has to do.
        let Ok(asking) = caught(|| prompt.ask(question)) else { return Ok(None) };
        let mut asking = CatchPanic(asking);
        loop {
            tokio::select! {
                reply = &mut asking => return Ok(reply.unwrap_or_default()),
                waited = self.wait(question, manner) => waited?,
            }
            let now = self.record_of(&question.id).await?;
            if now.answers.len() > before.answers.len() || now.state != before.state {
                return Ok(None);
            }
        }
    }

    /// A reply of somebody at hand. One that does not count ends nothing: the question stays open.
    async fn take(&self, question: &Question, reply: Reply) -> Result<(), Stop> {
        match self.runtime.answer(&question.id, reply).await {
            Err(stop) if stop.code == Code::Internal => Err(stop),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A permission that ran out before the call had its turn is asked for anew, whoever gave it.
    pub(crate) async fn ask_again(
        &mut self,
        call: &Call,
        understood: BoundPlan,
        manner: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let reason = "the permission ran out while the call waited for its turn";
        if !self.journal.may_note(Status::AwaitingApproval) {
            return Err(Stop::new(Code::ApprovalExpired, reason).into());
        }
        let world = self.world.clone();
        let mut decision = self.judged(&world, &understood, &[]).await?;
        if decision.verdict == Verdict::Deny {
            return Err(self.denied(&understood, decision).await.into());
        }
        let lapse = Opinion::new(Layer::Fault, Says::Ask, reason).firm(Firmness::Always);
        decision.verdict = Verdict::Ask;
        decision.deciding = Some(decision.opinions.len());
        decision.opinions.push(lapse);
        if decision.needs.is_empty() {
            decision.needs.push(Needs::default());
        }
        self.ask(call, understood, Vec::new(), decision, manner).await
    }

    /// Waits a while for news, or for the caller to lose interest.
    async fn wait(&mut self, question: &Question, manner: &CallOptions<'_>) -> Result<(), Halt> {
        let id = self.journal.id().clone();
        let look =
            tokio::time::timeout(self.runtime.options.look, self.runtime.closing.cancelled());
        match self.unless_called_off(manner, look).await {
            None => return Err(self.withdrawn(question).into()),
            // People may answer while nobody is here.
            Some(Ok(())) => return Err(Halt::Pending(Box::new(question.clone()))),
            Some(Err(_)) => {}
        }
        if self.runtime.cancel_requested(&id).await? {
            return Err(self.withdrawn(question).into());
        }
        Ok(self.journal.prolong(&self.runtime.options).await?)
    }

    pub(crate) fn withdrawn(&mut self, question: &Question) -> Stop {
        self.close(question, QuestionState::Withdrawn, "the call was called off");
        called_off("while a person was asked")
    }

    pub(crate) fn close(&mut self, question: &Question, state: QuestionState, reason: &str) {
        self.journal.note(Event::Closed(Closed {
            question: question.id.clone(),
            state,
            reason: reason.to_owned(),
        }));
    }
}

/// How a question ended, other than with a refusal.
pub(crate) enum Ending {
    /// The call may run.
    Cleared(Box<PermittedCall>),
    /// What would run has changed.
    AskAgain(Box<BoundPlan>),
}

/// A denial as an answer.
fn refusal(decision: &Decision) -> Stop {
    let code = decision.code.unwrap_or(Code::PermissionDenied);
    let settled = decision.settled_by();
    let cause = json!({
        "layer": settled.map(|opinion| opinion.layer),
        "rule": settled.and_then(|opinion| opinion.rule.clone()),
    });
    Stop::new(code, decision.reason()).because(cause).help("`haft why` shows every opinion")
}
