//! Post-hooks (phase 11): run after the driver and may change what is shown, never the effect.

use std::sync::Arc;

use haft_driver::{Hook, HookAnswer, HookInput, Output};
use haft_model::{CallPhase, Code, Event, HookPoint, HookStarted, PhaseOutcome, Stop};

use super::Came;
use crate::catch_panic::caught;
use crate::pipeline::CallPipeline;
use crate::pre_hooks::ask;
use crate::validate::Workload;

impl CallPipeline<'_> {
    /// Runs the hooks for the outcome of a driver that was reached, and for an output before it is
    /// persisted.
    pub(super) async fn post_hooks(&mut self, mut came: Came) -> Came {
        let world = self.world.clone();
        let outcome = match came.error {
            None => HookPoint::PostToolUse,
            Some(_) => HookPoint::PostToolUseFailure,
        };
        let Some(plan) = self.plan.clone().filter(|_| self.executed) else { return came };
        let at = |point: HookPoint| {
            let concerns = |hook: &Arc<dyn Hook>| caught(|| hook.concerns(&plan)).unwrap_or(true);
            world.hooks.iter().filter(move |hook| hook.point() == point && concerns(hook))
        };
        let mut asked = false;
        for hook in at(outcome).chain(at(HookPoint::ResultPersistence)) {
            let point = hook.point();
            if point == HookPoint::ResultPersistence && came.output.is_none() {
                continue;
            }
            asked = true;
            let started_at = self.recorder.now();
            let started = HookStarted { hook: hook.name().to_owned(), point };
            self.recorder.note(Event::PostHookStarted(started));
            let shown = self.redacted_plan(&plan);
            let workload = Workload::of_output(came.output.as_ref());
            let result =
                workload.run(|| self.composed(&came, self.looked_at(came.output.as_ref())));
            let about = HookInput {
                actor: &plan.actor,
                plan: &shown,
                observable_input: &shown.input,
                decision: None,
                result: Some(&result),
            };
            let answer = ask(hook.as_ref(), about).await;
            self.hook_progress(started_at, &answer);
            let run = self.record(hook.name(), point, started_at, &answer);
            self.recorder.note(Event::PostHookCompleted(Box::new(run)));
            came = self.after_hook(came, hook.as_ref(), answer);
        }
        let outcome = match (asked, &came.error) {
            (false, _) => PhaseOutcome::Skipped,
            (true, Some(error)) if error.error_code == Code::HookPostFailed => PhaseOutcome::Failed,
            (true, _) => PhaseOutcome::Ok,
        };
        self.recorder.phase(CallPhase::PostHooks, outcome);
        came
    }

    /// Applies a hook's answer: a changed output or an error; the effect state is unchanged.
    fn after_hook(&self, came: Came, hook: &dyn Hook, answer: Result<HookAnswer, String>) -> Came {
        let name = hook.name();
        let fail = |came: Came, code: Code, message: String| {
            let error = self.error(Stop::new(code, message), came.effect);
            // An output that a persistence hook rejects or fails to check is not persisted.
            let keeps = hook.point() != HookPoint::ResultPersistence;
            Came { error: Some(error), output: came.output.filter(|_| keeps), ..came }
        };
        match answer {
            Err(fault) if hook.required() => fail(
                came,
                Code::HookPostFailed,
                format!("hook `{name}` could not be heard: {fault}"),
            ),
            Err(_) => came,
            Ok(answer) => {
                if let Some(reason) = answer.stop {
                    return fail(came, Code::HookBlocked, format!("hook `{name}`: {reason}"));
                }
                let Some(updated) = answer.updated_output else { return came };
                let output = came
                    .output
                    .clone()
                    .map(|output| Output { structured: Some(updated), ..output });
                match output.as_ref().map(|output| self.promised(output)) {
                    Some(Err(stop)) => fail(
                        came,
                        Code::HookPostFailed,
                        format!("hook `{name}` changed the output: {}", stop.message),
                    ),
                    Some(Ok(())) | None => Came { output, ..came },
                }
            }
        }
    }
}
