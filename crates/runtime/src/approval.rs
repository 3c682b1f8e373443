//! Approval (phase 7): turns a policy decision into a permit, a refusal or a question to approvers.
//!
//! INVARIANT: a permit covers exactly the plan and the input that were authorized; a change to
//! either is authorized again.

mod question;
mod settlement;

use haft_ledger::QuestionRecord;
use haft_model::{
    CallPhase, CauseDetail, Closed, Code, Decided, Decision, Event, Firmness, HookPoint, Layer,
    Needs, Opinion, PayloadRef, PhaseOutcome, Question, QuestionState, Says, Status, Stop, Verdict,
};

use crate::catch_panic::{CatchPanic, caught};
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::{Halt, StoppedCall};
use crate::plan::PlannedCall;
use crate::pre_hooks::ReviewedPlan;
use crate::runtime::{called_off, later};
use crate::{CallOptions, NonInteractive, Patience, Prompt, Reply, World};
use question::PeoplesAnswer;

impl ReviewedPlan {
    /// Evaluates policy, and asks approvers where it says so.
    pub async fn authorize(
        self,
        context: &mut CallContext<'_>,
        options: &CallOptions<'_>,
    ) -> Result<PermittedCall, StoppedCall> {
        let (planned, opinions) = self.into_parts();
        let reached = planned.reached();
        let permitted = context.decide(planned, opinions, options).await;
        let outcome = match &permitted {
            Ok(_) => Some(PhaseOutcome::Ok),
            Err(Halt::Stopped(_)) => Some(PhaseOutcome::Failed),
            Err(Halt::Pending(_) | Halt::Answered(_)) => None,
        };
        if let Some(outcome) = outcome {
            context.recorder.phase(CallPhase::Permission, outcome);
        }
        permitted.map_err(|halt| reached.stopped(halt))
    }
}

impl CallContext<'_> {
    async fn decide(
        &mut self,
        planned: PlannedCall,
        mut opinions: Vec<Opinion>,
        options: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let world = self.world.clone();
        self.within_limits(&planned).await?;
        let mut decision = self.judged(&world, &planned, &opinions).await?;
        if decision.verdict == Verdict::Ask {
            let told = self.notify_hooks(HookPoint::PermissionRequest, &planned, &decision).await;
            if !told.opinions.is_empty() {
                opinions.extend(told.opinions);
                decision = self.judged(&world, &planned, &opinions).await?;
            }
        }
        match decision.verdict {
            Verdict::Allow => self.allowed(planned, decision).await,
            Verdict::Deny => Err(self.denied(&planned, decision).await.into()),
            Verdict::Ask => self.ask(planned, opinions, decision, options).await,
        }
    }

    /// Allow by policy: issues a permit for exactly that plan, and records the decision.
    pub(crate) async fn allowed(
        &mut self,
        planned: PlannedCall,
        decision: Decision,
    ) -> Result<PermittedCall, Halt> {
        let opinions = decision.opinions.iter().filter(|opinion| opinion.is_heard());
        let opinions = opinions.cloned().collect();
        let permitted = self.permit(planned, &decision, opinions)?;
        let call_input = Some(permitted.call_input().clone());
        self.decided(permitted.planned(), decision, call_input, None).await?;
        Ok(permitted)
    }

    pub(crate) async fn denied(&mut self, planned: &PlannedCall, decision: Decision) -> Stop {
        let stop = self.with_wait(refusal(&decision), planned).await;
        match self.decided(planned, decision, None, None).await {
            Ok(()) => stop,
            Err(Halt::Stopped(failure)) => failure.stop,
            Err(Halt::Pending(_) | Halt::Answered(_)) => stop,
        }
    }

    /// Records a decision and runs the `PermissionDecision` hooks. A hook's deny overrides an
    /// allow; a deny stays a deny whatever the hooks say.
    async fn decided(
        &mut self,
        planned: &PlannedCall,
        decision: Decision,
        call_input: Option<PayloadRef>,
        answer: Option<PeoplesAnswer<'_>>,
    ) -> Result<(), Halt> {
        // The question is about the input before the approver edited it, so that input is recorded.
        let judged = answer.as_ref().map_or(&planned.plan.input, |answer| answer.asked_about);
        let permission_input = self.keep_input(judged);
        self.approvals.policies = crate::authorize::spoke(&decision);
        let (mode, question, mutations) = match answer {
            Some(answer) => ("interactive", Some(answer.question), answer.mutations),
            None => ("rules", None, Vec::new()),
        };
        let expires_at =
            call_input.is_some().then(|| later(decision.decided_at, self.runtime.options.permit));
        if call_input.is_some() && !self.recorder.may_note(Status::Approved) {
            // A resumed call that had started keeps its earlier decision.
            return Ok(());
        }
        self.recorder.note(Event::PermissionDecided(Box::new(Decided {
            decision: decision.clone(),
            permission_input,
            call_input,
            mutations,
            question,
            expires_at,
            driver_state: planned.plan.driver_state.clone(),
            mode: mode.to_owned(),
        })));
        let told = self.notify_hooks(HookPoint::PermissionDecision, planned, &decision).await;
        match told.no.filter(|_| decision.verdict == Verdict::Allow) {
            Some(no) => Err(no.into()),
            None => Ok(()),
        }
    }

    /// Records a question to approvers and waits for the answer.
    pub(crate) async fn ask(
        &mut self,
        mut planned: PlannedCall,
        opinions: Vec<Opinion>,
        mut decision: Decision,
        options: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        loop {
            if let Err(stop) = self.approver_is_reachable(&planned, options) {
                self.decided(&planned, decision, None, None).await?;
                return Err(stop.into());
            }
            // The question refers to the authorized input by its digest, so the payload has to
            // exist.
            self.keep_input(&planned.plan.input);
            let question = self.question(&planned, decision);
            self.recorder.note(Event::PermissionRequested(Box::new(question.clone())));
            self.recorder.claim(&self.runtime.options);
            self.recorder.save().await?;
            match self.answered(&planned, question, options).await? {
                Ending::Permitted(permitted) => return Ok(*permitted),
                Ending::AskAgain(changed) => planned = *changed,
            }
            // The plan changed while the question was open, so policy evaluates it like a new call.
            let world = self.world.clone();
            decision = self.judged(&world, &planned, &opinions).await?;
            match decision.verdict {
                Verdict::Allow => return self.allowed(planned, decision).await,
                Verdict::Deny => return Err(self.denied(&planned, decision).await.into()),
                Verdict::Ask => {}
            }
        }
    }

    /// Evaluates policy for the current plan.
    pub(crate) async fn judged(
        &self,
        world: &World,
        planned: &PlannedCall,
        opinions: &[Opinion],
    ) -> Result<Decision, Stop> {
        let plan = self.judged_as(&planned.plan);
        let targets = &planned.targets;
        self.runtime.judge(world, &planned.entry, &plan, targets, opinions).await
    }

    /// Refuses an ask that has neither an interactive prompt nor an inbox to go to.
    fn approver_is_reachable(
        &self,
        planned: &PlannedCall,
        options: &CallOptions<'_>,
    ) -> Result<(), Stop> {
        let contract = &planned.entry.contract;
        if options.prompt.is_some() || self.inbox_may_be_used(planned) {
            return Ok(());
        }
        let words =
            format!("a person has to approve `{}`, and no approver can be asked", contract.key());
        Err(Stop::new(Code::ApprovalRequired, words)
            .help("call it at a terminal, or set `non_interactive = \"ask\"`"))
    }

    /// Whether the workspace and the contract let questions about this tool wait in the inbox.
    pub(crate) fn inbox_may_be_used(&self, planned: &PlannedCall) -> bool {
        let extras = &planned.entry.contract.tool.extras;
        self.runtime.options.non_interactive == NonInteractive::Ask
            && extras.non_interactive != Some(NonInteractive::Deny)
    }

    /// Waits until the question is approved, rejected, expired or withdrawn.
    pub(crate) async fn answered(
        &mut self,
        planned: &PlannedCall,
        question: Question,
        options: &CallOptions<'_>,
    ) -> Result<Ending, Halt> {
        let mut prompt = options.prompt;
        let mut tell = options.tell;
        loop {
            let record = self.record_of(&question.id).await?;
            if let Some(ending) = self.ended(planned, &question, &record).await? {
                return Ok(ending);
            }
            let pending = options.patience == Patience::Leave && prompt.is_none();
            if pending {
                return Err(Halt::Pending(Box::new(question)));
            }
            let replied = match prompt.take() {
                Some(prompt) => self.prompt_caller(prompt, &question, &record, options).await?,
                None => {
                    if let Some(tell) = tell.take() {
                        let _ = caught(|| tell(&question));
                    }
                    self.wait(&question, options).await?;
                    None
                }
            };
            if let Some(reply) = replied {
                self.take(&question, reply).await?;
            }
        }
    }

    /// Prompts the approver at the terminal or client until that approver replies or the question
    /// changes elsewhere.
    async fn prompt_caller(
        &mut self,
        prompt: &dyn Prompt,
        question: &Question,
        before: &QuestionRecord,
        options: &CallOptions<'_>,
    ) -> Result<Option<Reply>, Halt> {
        // A prompt that panics gives no answer; the question stays in the inbox.
        let Ok(asking) = caught(|| prompt.ask(question)) else { return Ok(None) };
        let mut asking = CatchPanic(asking);
        loop {
            tokio::select! {
                reply = &mut asking => return Ok(reply.unwrap_or_default()),
                waited = self.wait(question, options) => waited?,
            }
            let now = self.record_of(&question.id).await?;
            if now.answers.len() > before.answers.len() || now.state != before.state {
                return Ok(None);
            }
        }
    }

    /// Submits the reply of the prompt. An invalid reply is dropped and the question stays open.
    async fn take(&self, question: &Question, reply: Reply) -> Result<(), Stop> {
        match self.runtime.answer(&question.id, reply).await {
            Err(stop) if stop.code == Code::Internal => Err(stop),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Asks again for a permission that expired while the call waited in the queue, no matter
    /// whether policy or an approver had granted it.
    pub(crate) async fn ask_again(
        &mut self,
        planned: PlannedCall,
        options: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let reason = "the permission ran out while the call waited for its turn";
        if !self.recorder.may_note(Status::AwaitingApproval) {
            return Err(Stop::new(Code::ApprovalExpired, reason).into());
        }
        let world = self.world.clone();
        let mut decision = self.judged(&world, &planned, &[]).await?;
        if decision.verdict == Verdict::Deny {
            return Err(self.denied(&planned, decision).await.into());
        }
        let lapse = Opinion::new(Layer::Fault, Says::Ask, reason).firm(Firmness::Always);
        decision.verdict = Verdict::Ask;
        decision.deciding = Some(decision.opinions.len());
        decision.opinions.push(lapse);
        if decision.needs.is_empty() {
            decision.needs.push(Needs::default());
        }
        self.ask(planned, Vec::new(), decision, options).await
    }

    /// Sleeps for one poll interval (`options.look`), or until shutdown or cancellation.
    async fn wait(&mut self, question: &Question, options: &CallOptions<'_>) -> Result<(), Halt> {
        let id = self.recorder.id().clone();
        let look =
            tokio::time::timeout(self.runtime.options.look, self.runtime.shutdown.cancelled());
        match self.unless_called_off(options, look).await {
            None => return Err(self.withdrawn(question).into()),
            // Approvers may answer while no process waits for the question.
            Some(Ok(())) => return Err(Halt::Pending(Box::new(question.clone()))),
            Some(Err(_)) => {}
        }
        if self.runtime.cancel_requested(&id).await? {
            return Err(self.withdrawn(question).into());
        }
        Ok(self.recorder.prolong(&self.runtime.options).await?)
    }

    pub(crate) fn withdrawn(&mut self, question: &Question) -> Stop {
        self.close(question, QuestionState::Withdrawn, "the call was called off");
        called_off("while a person was asked")
    }

    pub(crate) fn close(&mut self, question: &Question, state: QuestionState, reason: &str) {
        self.recorder.note(Event::Closed(Closed {
            question: question.id.clone(),
            state,
            reason: reason.to_owned(),
        }));
    }
}

/// Outcome of a question that was not refused.
pub(crate) enum Ending {
    /// Approved: the call may run with this permit.
    Permitted(Box<PermittedCall>),
    /// The plan changed while the question was open, so the approval does not cover it.
    AskAgain(Box<PlannedCall>),
}

/// The refusal that reports a deny decision, with the deciding layer and rule as its cause.
fn refusal(decision: &Decision) -> Stop {
    let code = decision.code.unwrap_or(Code::PermissionDenied);
    let settled = decision.settled_by();
    let cause = [
        CauseDetail::Layer(settled.map(|opinion| opinion.layer)),
        CauseDetail::Rule(settled.and_then(|opinion| opinion.rule.clone())),
    ];
    Stop::new(code, decision.reason()).because(cause).help("`haft why` shows every opinion")
}
