//! Post-hooks (phase 11): run after the driver and may change what is shown, never the effect.

use std::sync::Arc;

use haft_driver::{Hook, HookAnswer, HookInput, Output};
use haft_model::{CallPhase, Code, Event, HookPoint, HookStarted, PhaseOutcome, Stop};

use super::Completion;
use crate::catch_panic::caught;
use crate::context::CallContext;
use crate::pre_hooks::ask;
use crate::validate::Workload;

impl CallContext<'_> {
    /// Runs the hooks for the outcome of a driver that was reached, and for an output before it is
    /// persisted.
    pub(super) async fn post_hooks(&mut self, mut completion: Completion) -> Completion {
        let world = self.world.clone();
        let outcome = match completion.error {
            None => HookPoint::PostToolUse,
            Some(_) => HookPoint::PostToolUseFailure,
        };
        let plan = completion.reached.plan.clone().filter(|_| self.attempts.executed);
        let Some(plan) = plan else { return completion };
        let at = |point: HookPoint| {
            let concerns = |hook: &Arc<dyn Hook>| caught(|| hook.concerns(&plan)).unwrap_or(true);
            world.hooks.iter().filter(move |hook| hook.point() == point && concerns(hook))
        };
        let mut asked = false;
        for hook in at(outcome).chain(at(HookPoint::ResultPersistence)) {
            let point = hook.point();
            if point == HookPoint::ResultPersistence && completion.output.is_none() {
                continue;
            }
            asked = true;
            let started_at = self.recorder.now();
            let started = HookStarted { hook: hook.name().to_owned(), point };
            self.recorder.note(Event::PostHookStarted(started));
            let shown = self.redacted_plan(&plan);
            let workload = Workload::of_output(completion.output.as_ref());
            let result = workload.run(|| {
                self.composed(
                    &completion,
                    self.looked_at(&completion.reached, completion.output.as_ref()),
                )
            });
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
            completion = self.after_hook(completion, hook.as_ref(), answer);
        }
        let outcome = match (asked, &completion.error) {
            (false, _) => PhaseOutcome::Skipped,
            (true, Some(error)) if error.error_code == Code::HookPostFailed => PhaseOutcome::Failed,
            (true, _) => PhaseOutcome::Ok,
        };
        self.recorder.phase(CallPhase::PostHooks, outcome);
        completion
    }

    /// Applies a hook's answer: a changed output or an error; the effect state is unchanged.
    fn after_hook(
        &self,
        completion: Completion,
        hook: &dyn Hook,
        answer: Result<HookAnswer, String>,
    ) -> Completion {
        let name = hook.name();
        let fail = |completion: Completion, code: Code, message: String| {
            let error = self.error(Stop::new(code, message), completion.effect);
            // An output that a persistence hook rejects or fails to check is not persisted.
            let keeps = hook.point() != HookPoint::ResultPersistence;
            Completion {
                error: Some(error),
                output: completion.output.filter(|_| keeps),
                is_report: false,
                ..completion
            }
        };
        match answer {
            Err(fault) if hook.required() => fail(
                completion,
                Code::HookPostFailed,
                format!("hook `{name}` could not be heard: {fault}"),
            ),
            Err(_) => completion,
            Ok(answer) => {
                if let Some(reason) = answer.stop {
                    return fail(completion, Code::HookBlocked, format!("hook `{name}`: {reason}"));
                }
                let Some(updated) = answer.updated_output else { return completion };
                // The content shows what the hook replaced.
                let output = completion.output.clone().map(|output| Output {
                    structured: Some(updated),
                    content: Vec::new(),
                    exact: Vec::new(),
                    ..output
                });
                match output.as_ref().map(|output| completion.reached.check_output(output)) {
                    Some(Err(stop)) => fail(
                        completion,
                        Code::HookPostFailed,
                        format!("hook `{name}` changed the output: {}", stop.message),
                    ),
                    Some(Ok(())) | None => Completion { output, ..completion },
                }
            }
        }
    }
}
