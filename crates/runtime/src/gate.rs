//! Phase 7, the half that waits: a decision becomes a permit, a refusal, or a question to people.

use haft_driver::Heard;
use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{
    Answer, Bound, Call, CallPhase, Closed, Code, Decided, Decision, Digest, Event, HookPoint,
    HookStarted, Kept, Layer, Mutation, MutationSource, Opinion, PhaseOutcome, Question,
    QuestionId, QuestionState, Says, Status, Stop, Verdict, utc_day,
};
use haft_policy::{Permit, Settlement, settle};
use serde_json::{Value, json};

use crate::hear::{HeardOut, ask, concerned, opinion, record};
use crate::journal::unrecorded;
use crate::runtime::{called_off, later};
use crate::understand::Understood;
use crate::walk::{Halt, Walk};
use crate::{Manner, NonInteractive, Patience, Prompt, Reply};

/// A call that may run, and exactly what of it.
pub(crate) struct Cleared {
    pub(crate) understood: Understood,
    pub(crate) permit: Permit,
    pub(crate) call_input: Kept,
}

impl Walk<'_> {
    pub(crate) async fn clear(
        &mut self,
        call: &Call,
        heard: HeardOut,
        manner: &Manner<'_>,
    ) -> Result<Cleared, Halt> {
        let cleared = self.decide(call, heard, manner).await;
        match &cleared {
            Ok(cleared) => {
                self.plan = Some(cleared.understood.plan.clone());
                self.journal.phase(CallPhase::Permission, PhaseOutcome::Ok);
            }
            Err(Halt::Stopped(_)) => {
                self.journal.phase(CallPhase::Permission, PhaseOutcome::Failed)
            }
            Err(Halt::Pending(_)) => {}
        }
        cleared
    }

    async fn decide(
        &mut self,
        call: &Call,
        heard: HeardOut,
        manner: &Manner<'_>,
    ) -> Result<Cleared, Halt> {
        let HeardOut { understood, mut opinions } = heard;
        let world = self.world.clone();
        self.runtime.within_rates(&world, &understood.plan).await?;
        let mut decision = self.runtime.judge(&world, &understood, &opinions).await?;
        if decision.verdict == Verdict::Ask {
            let said =
                self.hear_about(HookPoint::PermissionRequest, &understood, &decision).await?;
            if !said.is_empty() {
                opinions.extend(said);
                decision = self.runtime.judge(&world, &understood, &opinions).await?;
            }
        }
        match decision.verdict {
            Verdict::Allow => self.allowed(understood, decision).await,
            Verdict::Deny => Err(self.denied(&understood, decision).await.into()),
            Verdict::Ask => self.ask(call, understood, opinions, decision, manner).await,
        }
    }

    /// The rules say yes: what was judged is frozen, and a permit is for exactly that.
    async fn allowed(
        &mut self,
        understood: Understood,
        decision: Decision,
    ) -> Result<Cleared, Halt> {
        let until = later(self.journal.now(), self.runtime.options.permit);
        let permit = Permit::of_decision(&decision, &understood.plan, self.journal.id(), until);
        let permit = permit.ok_or_else(|| Stop::new(Code::Internal, "an allow gave no permit"))?;
        let call_input = self.keep(&understood.plan.input);
        self.decided(&understood, decision, Some(call_input.clone()), None, Vec::new()).await?;
        Ok(Cleared { understood, permit, call_input })
    }

    async fn denied(&mut self, understood: &Understood, decision: Decision) -> Stop {
        let stop = refusal(&decision);
        match self.decided(understood, decision, None, None, Vec::new()).await {
            Ok(()) => stop,
            Err(Halt::Stopped(failure)) => failure.stop,
            Err(Halt::Pending(_)) => stop,
        }
    }

    /// Puts a decision on record, and tells those who want to know.
    async fn decided(
        &mut self,
        understood: &Understood,
        decision: Decision,
        call_input: Option<Kept>,
        question: Option<QuestionId>,
        mutations: Vec<Mutation>,
    ) -> Result<(), Halt> {
        let permission_input = self.keep(&understood.plan.input);
        let mode = match question {
            Some(_) => "interactive",
            None => "rules",
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
        self.hear_about(HookPoint::PermissionDecision, understood, &decision).await?;
        Ok(())
    }

    /// Hears hooks around a decision. One that cannot be heard, or says no, says no.
    async fn hear_about(
        &mut self,
        point: HookPoint,
        understood: &Understood,
        decision: &Decision,
    ) -> Result<Vec<Opinion>, Stop> {
        let world = self.world.clone();
        let mut opinions = Vec::new();
        for hook in concerned(&world.hooks, point, understood) {
            let started_at = self.journal.now();
            let started = HookStarted { hook: hook.name().to_owned(), point };
            self.journal.note(Event::PreHookStarted(started));
            let shown = self.shown(understood);
            let about = Heard {
                actor: &understood.plan.actor,
                plan: &understood.plan,
                observable_input: &shown,
                decision: Some(decision),
                result: None,
            };
            let answer = ask(hook.as_ref(), about).await;
            let mut run = record(hook.name(), point, started_at, &answer);
            let said = match answer {
                Err(fault) => Some((Says::Deny, format!("it could not be heard: {fault}"))),
                Ok(answer) => match answer.stop {
                    Some(reason) => Some((Says::Deny, reason)),
                    None => answer.opinion,
                },
            };
            if let Some((says, reason)) = said {
                let opinion = opinion(hook.as_ref(), says, &reason);
                run.opinion = Some(opinion.clone());
                opinions.push(opinion);
            }
            self.journal.note(Event::PreHookCompleted(Box::new(run)));
        }
        Ok(opinions)
    }

    /// A person has to answer: the question is put on record, and waited for.
    async fn ask(
        &mut self,
        call: &Call,
        mut understood: Understood,
        opinions: Vec<Opinion>,
        mut decision: Decision,
        manner: &Manner<'_>,
    ) -> Result<Cleared, Halt> {
        let mut number = 1;
        loop {
            if let Err(stop) = self.somebody_can_be_asked(&understood, manner) {
                self.decided(&understood, decision, None, None, Vec::new()).await?;
                return Err(stop.into());
            }
            // The question names what was judged by its digest.
            self.keep(&understood.plan.input);
            let question = self.question(&understood, decision, number);
            self.journal.note(Event::PermissionRequested(Box::new(question.clone())));
            self.journal.claim(&self.runtime.options.node, self.runtime.lease_end()).await?;
            self.journal.save().await?;
            match self.answered(call, &understood, question, manner).await? {
                Ending::Cleared(cleared) => return Ok(*cleared),
                Ending::AskAgain(changed) => understood = *changed,
            }
            // What would run is not what was asked about: it is judged like a new call.
            let world = self.world.clone();
            decision = self.runtime.judge(&world, &understood, &opinions).await?;
            match decision.verdict {
                Verdict::Allow => return self.allowed(understood, decision).await,
                Verdict::Deny => return Err(self.denied(&understood, decision).await.into()),
                Verdict::Ask => number += 1,
            }
        }
    }

    /// Where neither a person is at hand nor the inbox may be used, an ask is an end.
    fn somebody_can_be_asked(
        &self,
        understood: &Understood,
        manner: &Manner<'_>,
    ) -> Result<(), Stop> {
        let contract = &understood.entry.contract;
        let deny = self.runtime.options.non_interactive == NonInteractive::Deny
            || contract.tool.extras.non_interactive.as_deref() == Some("deny");
        if manner.prompt.is_some() || !deny {
            return Ok(());
        }
        let words =
            format!("a person has to approve `{}`, and nobody can be asked", contract.key());
        Err(Stop::new(Code::ApprovalRequired, words)
            .help("call it at a terminal, or set `non_interactive = \"ask\"`"))
    }

    fn question(&self, understood: &Understood, decision: Decision, number: usize) -> Question {
        let id = match number {
            1 => self.journal.id().part("apr"),
            _ => self.journal.id().numbered("apr", number),
        };
        let now = self.journal.now();
        let contract = &understood.entry.contract;
        let who = &understood.plan.actor.id;
        Question {
            id: QuestionId::from(id.as_str()),
            bound: self.bound(understood),
            needs: decision.needs.clone(),
            rememberable: decision.rememberable(),
            summary: format!("{who} wants to use {}: {}", contract.key(), decision.reason()),
            shown_input: self.shown(understood),
            decision,
            asked_at: now,
            expires_at: later(now, self.runtime.options.question),
        }
    }

    /// Exactly what a yes would be for.
    pub(crate) fn bound(&self, understood: &Understood) -> Bound {
        let plan = &understood.plan;
        Bound {
            invocation: self.journal.id().clone(),
            tool: format!("{}@{}", plan.tool.id, plan.version),
            driver: plan.route.driver.clone(),
            call_input: Digest::of_bytes(&haft_model::canonical(&plan.input)),
            effects: understood.entry.fingerprint.clone(),
            actor: plan.actor.id.clone(),
            tenant: plan.actor.tenant.to_string(),
        }
    }

    /// Waits until a question is settled one way or another.
    pub(crate) async fn answered(
        &mut self,
        call: &Call,
        understood: &Understood,
        question: Question,
        manner: &Manner<'_>,
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
                        tell(&question);
                    }
                    self.wait(&question, manner).await?;
                    None
                }
            };
            if let Some(reply) = replied {
                self.runtime.answer(&question.id, reply).await?;
            }
        }
    }

    /// Asks whoever is at hand, until they reply or somebody else does.
    async fn prompted(
        &mut self,
        prompt: &dyn Prompt,
        question: &Question,
        before: &QuestionRecord,
        manner: &Manner<'_>,
    ) -> Result<Option<Reply>, Halt> {
        let mut asking = prompt.ask(question);
        loop {
            tokio::select! {
                reply = &mut asking => return Ok(reply),
                waited = self.wait(question, manner) => waited?,
            }
            let now = self.record_of(&question.id).await?;
            if now.answers.len() > before.answers.len() || now.state != before.state {
                return Ok(None);
            }
        }
    }

    /// What the answers so far amount to; none while the question is open.
    pub(crate) async fn ended(
        &mut self,
        call: &Call,
        understood: &Understood,
        question: &Question,
        record: &QuestionRecord,
    ) -> Result<Option<Ending>, Halt> {
        let now = self.journal.now();
        if record.answers.is_empty() && now <= question.expires_at {
            return Ok(None);
        }
        // The world may have changed while people thought about it.
        self.world = self.runtime.world();
        let entry =
            self.world.snapshot.select(&understood.plan.tool.to_string(), utc_day(now))?.clone();
        let (current, mutation) = match edited(&record.answers) {
            Some(answer) => {
                let input = self.edited_input(answer).await?;
                let by = answer.by.to_string();
                self.changed(call, &entry, understood, input, |_| {
                    (MutationSource::PermissionPrompt, by, "whoever approved it edited it".into())
                })?
            }
            None => (self.rebind(call, &entry, understood.plan.input.clone())?, None),
        };
        let bound = self.bound(&current);
        let rulebook = self.world.rulebook.clone();
        match settle(&rulebook, question, &record.answers, &current.plan, &bound, now) {
            Settlement::Open(_) => Ok(None),
            Settlement::Refused(stop) => {
                if stop.code == Code::ApprovalExpired {
                    self.close(question, QuestionState::Expired, "nobody answered in time");
                }
                Err(stop.into())
            }
            Settlement::Changed(why) => {
                self.close(question, QuestionState::Withdrawn, &why);
                Ok(Some(Ending::AskAgain(Box::new(current))))
            }
            Settlement::Permitted(permit) => {
                let mutations: Vec<Mutation> = mutation.into_iter().collect();
                self.still_lawful(&current, &mutations).await?;
                let cleared =
                    self.permitted(current, permit, question, &record.answers, mutations).await?;
                Ok(Some(Ending::Cleared(Box::new(cleared))))
            }
        }
    }

    /// An edited input is judged again: people cannot approve what a rule denies.
    async fn still_lawful(
        &mut self,
        understood: &Understood,
        mutations: &[Mutation],
    ) -> Result<(), Halt> {
        if mutations.is_empty() {
            return Ok(());
        }
        let world = self.world.clone();
        let decision = self.runtime.judge(&world, understood, &[]).await?;
        match decision.verdict {
            Verdict::Deny => Err(self.denied(understood, decision).await.into()),
            Verdict::Allow | Verdict::Ask => Ok(()),
        }
    }

    async fn permitted(
        &mut self,
        understood: Understood,
        permit: Permit,
        question: &Question,
        answers: &[Answer],
        mutations: Vec<Mutation>,
    ) -> Result<Cleared, Halt> {
        let mut opinions = question.decision.opinions.clone();
        for answer in answers.iter().filter(|answer| answer.approves) {
            let reason = answer.reason.clone().unwrap_or_else(|| format!("{} agrees", answer.by));
            opinions.push(Opinion::new(Layer::Person, Says::Allow, reason).by(answer.by.as_str()));
        }
        let decision = Decision {
            verdict: Verdict::Allow,
            deciding: opinions.len().checked_sub(1),
            opinions,
            needs: Vec::new(),
            code: None,
            suggested_updates: Vec::new(),
            decided_at: self.journal.now(),
        };
        let call_input = self.keep(&understood.plan.input);
        let kept = Some(call_input.clone());
        self.decided(&understood, decision, kept, Some(question.id.clone()), mutations).await?;
        Ok(Cleared { understood, permit, call_input })
    }

    /// Waits a while for news, or for the caller to lose interest.
    async fn wait(&mut self, question: &Question, manner: &Manner<'_>) -> Result<(), Halt> {
        let look = self.runtime.options.look;
        let id = self.journal.id().clone();
        tokio::select! {
            () = manner.cancel.cancelled() => return Err(self.withdrawn(question).into()),
            () = tokio::time::sleep(look) => {}
        }
        if self.runtime.cancel_requested(&id).await? {
            return Err(self.withdrawn(question).into());
        }
        Ok(self.journal.prolong(&self.runtime.options).await?)
    }

    fn withdrawn(&mut self, question: &Question) -> Stop {
        self.close(question, QuestionState::Withdrawn, "the call was called off");
        called_off("while a person was asked")
    }

    fn close(&mut self, question: &Question, state: QuestionState, reason: &str) {
        self.journal.note(Event::Closed(Closed {
            question: question.id.clone(),
            state,
            reason: reason.to_owned(),
        }));
    }

    async fn record_of(&self, id: &QuestionId) -> Result<QuestionRecord, Stop> {
        let filter = QuestionFilter { id: Some(id.clone()), ..QuestionFilter::default() };
        let found = self.runtime.store.questions(&filter).await.map_err(unrecorded)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| Stop::new(Code::Internal, format!("the question `{id}` is gone")))
    }

    async fn edited_input(&self, answer: &Answer) -> Result<Value, Stop> {
        let gone = || Stop::new(Code::InputMutation, "the edited input is gone");
        let digest = answer.edited_input.as_ref().ok_or_else(gone)?;
        let bytes = self.runtime.store.payload(self.journal.id(), digest).await;
        let bytes = bytes.map_err(unrecorded)?.ok_or_else(gone)?;
        serde_json::from_slice(&bytes).map_err(|_| gone())
    }
}

/// How a question ended, other than with a refusal.
pub(crate) enum Ending {
    /// The call may run.
    Cleared(Box<Cleared>),
    /// What would run has changed.
    AskAgain(Box<Understood>),
}

fn edited(answers: &[Answer]) -> Option<&Answer> {
    answers.iter().rev().find(|answer| answer.approves && answer.edited_input.is_some())
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
