//! Pre-hooks (phase 6): run before authorization, each within its timeout; may deny or change a
//! call.
//!
//! INVARIANT: a hook that fails or times out denies the call.

use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_driver::{Hook, HookAnswer, HookInput};
use haft_model::{
    CallPhase, Code, Decision, Event, HookPoint, HookRun, HookStarted, Layer, Mutation,
    MutationSource, Opinion, PhaseOutcome, Plan, Reported, Says, Stop, Timestamp,
};
use serde_json::Value;

use crate::catch_panic::{CatchPanic, caught};
use crate::context::CallContext;
use crate::inputs;
use crate::pipeline::StoppedCall;
use crate::plan::{BoundPlan, PlannedCall};
use crate::redact::put_back;

/// Outcome of the hooks around a decision.
#[derive(Default)]
pub(crate) struct HookOpinions {
    /// Opinions of the hooks, in their order.
    pub(crate) opinions: Vec<Opinion>,
    /// The first deny.
    pub(crate) no: Option<Stop>,
}

/// A planned call after its pre-hooks, with their opinions.
pub struct ReviewedPlan {
    planned: PlannedCall,
    opinions: Vec<Opinion>,
}

impl ReviewedPlan {
    /// A recovered call whose plan changed while its question was open: policy evaluates it like a
    /// new one, and hooks do not run twice for one call.
    pub(crate) fn of_record(planned: PlannedCall, opinions: Vec<Opinion>) -> ReviewedPlan {
        ReviewedPlan { planned, opinions }
    }

    pub(crate) fn into_parts(self) -> (PlannedCall, Vec<Opinion>) {
        (self.planned, self.opinions)
    }
}

impl PlannedCall {
    /// Runs the pre-hooks, which may deny or change the call.
    pub async fn review(self, context: &mut CallContext<'_>) -> Result<ReviewedPlan, StoppedCall> {
        let world = context.world.clone();
        let hooks = concerned(&world.hooks, HookPoint::PreToolUse, &self);
        let outcome = if hooks.is_empty() { PhaseOutcome::Skipped } else { PhaseOutcome::Ok };
        let reached = self.reached();
        let mut reviewed = ReviewedPlan { planned: self, opinions: Vec::new() };
        for hook in hooks {
            if let Err(stop) = context.run_pre_hook(hook, &mut reviewed).await {
                context.recorder.phase(CallPhase::PreHooks, PhaseOutcome::Failed);
                return Err(reached.stopped(stop));
            }
        }
        context.recorder.phase(CallPhase::PreHooks, outcome);
        Ok(reviewed)
    }
}

impl CallContext<'_> {
    async fn run_pre_hook(
        &mut self,
        hook: &Arc<dyn Hook>,
        reviewed: &mut ReviewedPlan,
    ) -> Result<(), Stop> {
        let name = hook.name().to_owned();
        let started_at = self.recorder.now();
        let point = hook.point();
        self.recorder.note(Event::PreHookStarted(HookStarted { hook: name.clone(), point }));
        let shown = self.redacted_plan(&reviewed.planned.plan);
        let about = HookInput {
            actor: &shown.actor,
            plan: &shown,
            observable_input: &shown.input,
            decision: None,
            result: None,
        };
        let answer = ask(hook.as_ref(), about).await;
        self.hook_progress(started_at, &answer);
        let mut run = self.record(&name, point, started_at, &answer);
        let outcome = match answer {
            Err(fault) => Err(Stop::new(
                Code::HookFailed,
                format!("hook `{name}` could not be heard: {fault}"),
            )),
            Ok(answer) => self.apply_hook_answer(hook.as_ref(), answer, reviewed, &mut run),
        };
        self.recorder.note(Event::PreHookCompleted(Box::new(run)));
        outcome
    }

    /// Applies a hook's answer: an opinion, a changed input or a stop.
    fn apply_hook_answer(
        &mut self,
        hook: &dyn Hook,
        answer: HookAnswer,
        reviewed: &mut ReviewedPlan,
        run: &mut HookRun,
    ) -> Result<(), Stop> {
        if let Some((says, reason)) = answer.opinion {
            let opinion = self.opinion(hook, says, &reason);
            run.opinion = Some(opinion.clone());
            reviewed.opinions.push(opinion);
        }
        if let Some(reason) = answer.stop {
            return Err(Stop::new(
                Code::HookBlocked,
                format!("hook `{}` stopped the call: {reason}", hook.name()),
            ));
        }
        if let Some(input) = answer.updated_input {
            let entry = reviewed.planned.entry.clone();
            let reason = answer.message.as_deref().unwrap_or("the hook changed the input");
            let mut input = input;
            let shown = self.redacted_input(&reviewed.planned.plan);
            let (planned, mutation) = put_back(&mut input, &shown, &reviewed.planned.plan.input)
                .and_then(|()| {
                    self.rebind_changed_input(&entry, &reviewed.planned, input, |_| {
                        (MutationSource::Hook, hook.name().to_owned(), reason.to_owned())
                    })
                })
                .map_err(|stop| {
                    Stop::new(
                        Code::InputMutation,
                        format!(
                            "hook `{}` changed the input so that it cannot run: {}",
                            hook.name(),
                            stop.message
                        ),
                    )
                })?;
            run.mutation = mutation;
            reviewed.planned = planned;
        }
        Ok(())
    }

    /// Plans the call for a changed input and returns the mutation.
    pub(crate) fn rebind_changed_input(
        &mut self,
        entry: &Arc<CatalogEntry>,
        before: &PlannedCall,
        input: Value,
        source: impl FnOnce(&PlannedCall) -> (MutationSource, String, String),
    ) -> Result<(PlannedCall, Option<Mutation>), Stop> {
        self.privacy.redactor.learn(&input);
        let after = self.plan_changed(before.origin(), entry, input)?;
        let (kind, by, reason) = source(&after);
        let reason = self.privacy.redactor.text(&reason).0;
        let kept = self.keep_input(&after.plan.input);
        let earlier = before.plan.input.digest();
        let mutation = inputs::mutation(
            kind,
            &by,
            &reason,
            (&*before.plan.input, earlier),
            (&*after.plan.input, &kept),
        );
        Ok((after, mutation))
    }

    /// Runs the hooks around a decision. A hook that fails, stops or denies counts as a deny; the
    /// first deny is returned as the reason.
    pub(crate) async fn notify_hooks(
        &mut self,
        point: HookPoint,
        planned: &BoundPlan,
        decision: &Decision,
    ) -> HookOpinions {
        let world = self.world.clone();
        let mut told = HookOpinions::default();
        for hook in concerned(&world.hooks, point, planned) {
            let started_at = self.recorder.now();
            let started = HookStarted { hook: hook.name().to_owned(), point };
            self.recorder.note(Event::PreHookStarted(started));
            let shown = self.redacted_plan(&planned.plan);
            let about = HookInput {
                actor: &planned.plan.actor,
                plan: &shown,
                observable_input: &shown.input,
                decision: Some(decision),
                result: None,
            };
            let answer = ask(hook.as_ref(), about).await;
            self.hook_progress(started_at, &answer);
            let mut run = self.record(hook.name(), point, started_at, &answer);
            let (code, said) = match answer {
                Err(fault) => (
                    Code::HookFailed,
                    Some((Says::Deny, format!("it could not be heard: {fault}"))),
                ),
                Ok(answer) => match answer.stop {
                    Some(reason) => (Code::HookBlocked, Some((Says::Deny, reason))),
                    None => (Code::HookBlocked, answer.opinion),
                },
            };
            if let Some((says, reason)) = said {
                let opinion = self.opinion(hook.as_ref(), says, &reason);
                if says == Says::Deny {
                    let words = format!("hook `{}`: {}", hook.name(), opinion.reason);
                    told.no.get_or_insert(Stop::new(code, words));
                }
                run.opinion = Some(opinion.clone());
                told.opinions.push(opinion);
            }
            self.recorder.note(Event::PreHookCompleted(Box::new(run)));
        }
        told
    }

    /// A hook's opinion, under the hook's name; only the hook itself says whether it is trusted.
    fn opinion(&self, hook: &dyn Hook, says: Says, reason: &str) -> Opinion {
        let layer = match hook.layer() {
            Layer::Classifier => Layer::Classifier,
            _ => Layer::Hook,
        };
        let opinion =
            Opinion::new(layer, says, self.privacy.redactor.text(reason).0).by(hook.name());
        Opinion { trusted: hook.trusted(), ..opinion }
    }

    /// The record of a hook's run, redacted, since a hook may repeat what it saw.
    pub(crate) fn record(
        &self,
        name: &str,
        point: HookPoint,
        started_at: Timestamp,
        answer: &Result<HookAnswer, String>,
    ) -> HookRun {
        let clean = |text: &String| self.privacy.redactor.text(text).0;
        let said = answer.as_ref().ok();
        let mut context = said.map(|said| said.additional_context.clone()).unwrap_or_default();
        for added in &mut context {
            self.privacy.redactor.everywhere(added);
        }
        HookRun {
            hook: name.to_owned(),
            point,
            started_at,
            outputs: said.map(outputs).unwrap_or_default(),
            message: said.and_then(|said| said.message.as_ref()).map(clean),
            opinion: None,
            mutation: None,
            context,
            stopped: said.and_then(|said| said.stop.as_ref()).map(clean),
            failed: answer.as_ref().err().map(clean),
        }
    }

    /// Records a hook's progress in the sequence of the call's progress.
    pub(crate) fn hook_progress(&mut self, since: Timestamp, answer: &Result<HookAnswer, String>) {
        let Some(progress) = answer.as_ref().ok().and_then(|said| said.progress.clone()) else {
            return;
        };
        let elapsed = self.recorder.now().duration_since(since).as_millis();
        let reported = self.recorder.report(|sequence| Reported {
            sequence,
            status: "running".to_owned(),
            elapsed_ms: u64::try_from(elapsed).unwrap_or_default(),
            progress: self.privacy.redactor.progress(progress),
            cancel: None,
        });
        self.recorder.note(Event::Progressed(Box::new(reported)));
    }

    /// The redacted input that hooks and approvers see.
    pub(crate) fn redacted_input(&self, plan: &Plan) -> Value {
        let mut shown = Value::clone(&plan.input);
        self.privacy.redactor.value(&mut shown);
        shown
    }

    /// The plan with the redacted input.
    pub(crate) fn redacted_plan(&self, plan: &Plan) -> Plan {
        Plan { input: self.redacted_input(plan).into(), ..plan.clone() }
    }
}

/// Hooks of a point that concern this plan.
pub(crate) fn concerned<'h>(
    hooks: &'h [Arc<dyn Hook>],
    point: HookPoint,
    planned: &BoundPlan,
) -> Vec<&'h Arc<dyn Hook>> {
    let plan = &planned.plan;
    // A hook that panics here is asked; if that fails too, it counts as a deny.
    let concerns = |hook: &Arc<dyn Hook>| caught(|| hook.concerns(plan)).unwrap_or(true);
    hooks.iter().filter(|hook| hook.point() == point && concerns(hook)).collect()
}

/// Asks a hook within its timeout; a panic or a timeout is an error.
pub(crate) async fn ask(hook: &dyn Hook, about: HookInput<'_>) -> Result<HookAnswer, String> {
    let patience = hook.patience();
    let hearing = caught(|| hook.hear(about))?;
    match tokio::time::timeout(patience, CatchPanic(hearing)).await {
        Ok(answer) => answer.and_then(|answer| answer),
        Err(_) => Err(format!("it took longer than {} ms", patience.as_millis())),
    }
}

fn outputs(answer: &HookAnswer) -> Vec<String> {
    let given = [
        ("message", answer.message.is_some()),
        ("progress", answer.progress.is_some()),
        ("updated_input", answer.updated_input.is_some()),
        ("permission_result", answer.opinion.is_some()),
        ("additional_context", !answer.additional_context.is_empty()),
        ("stop", answer.stop.is_some()),
        ("updated_output", answer.updated_output.is_some()),
    ];
    given.iter().filter(|(_, given)| *given).map(|(name, _)| (*name).to_owned()).collect()
}
