//! Test stage: a workspace with the builtin tools, and calls to them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_driver::{Attempt, Cancel, Driver, DriverMessage, Failure, Link, Output, TargetGuard};
use haft_drivers::Builtin;
use haft_model::{Code, EffectState, Plan, Progress, Stop, Timestamp, Tri};
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::Value;

use crate::plans;
pub(crate) use crate::plans::permit;

/// A workspace and its tools.
pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) builtin: Builtin,
    /// Whether the contracts declare the tools read-only.
    pub(crate) read_only: Tri,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<Output, Failure>,
    pub(crate) submissions: usize,
    pub(crate) progress: Vec<Progress>,
    pub(crate) cancel_heard: bool,
}

/// The conditions of a call: timeout, cancellation, and what happens on submission.
pub(crate) struct Around<'a> {
    pub(crate) patience: Duration,
    pub(crate) cancel: Cancel,
    pub(crate) on_submit: &'a mut dyn FnMut(&Cancel) -> Result<(), Stop>,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::of(Folder::new())
    }

    pub(crate) fn of(folder: Folder) -> Stage {
        Stage::guarded(folder, AddressGuard::public())
    }

    pub(crate) fn guarded(folder: Folder, guard: AddressGuard) -> Stage {
        let clock = || Timestamp::from_millisecond(1_769_860_800_123).unwrap();
        let builtin = Builtin::new(folder.path().to_owned(), guard, clock);
        Stage { folder, builtin, read_only: Tri::Unknown }
    }

    pub(crate) fn preflight(&self, tool: &str, input: Value) -> Result<(), Stop> {
        self.builtin.preflight(&plan(tool, input))
    }

    pub(crate) fn run(&self, tool: &str, input: Value) -> Ended {
        self.run_around(tool, input, &mut |_| Ok(()))
    }

    /// Runs a call and a function at the moment of submission.
    pub(crate) fn run_around(
        &self,
        tool: &str,
        input: Value,
        on_submit: &mut dyn FnMut(&Cancel) -> Result<(), Stop>,
    ) -> Ended {
        let around = Around { patience: Duration::from_secs(30), cancel: Cancel::new(), on_submit };
        self.run_with(tool, input, around)
    }

    pub(crate) fn run_with(&self, tool: &str, input: Value, around: Around<'_>) -> Ended {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.call(tool, input, around))
    }

    /// Runs a call under a guard.
    pub(crate) fn run_held(&self, tool: &str, input: Value, guard: TargetGuard) -> Ended {
        let on_submit = &mut |_: &Cancel| Ok(());
        let around = Around { patience: Duration::from_secs(30), cancel: Cancel::new(), on_submit };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.held(tool, input, around, guard))
    }

    async fn call(&self, tool: &str, input: Value, around: Around<'_>) -> Ended {
        self.held(tool, input, around, TargetGuard::default()).await
    }

    async fn held(
        &self,
        tool: &str,
        input: Value,
        around: Around<'_>,
        guard: TargetGuard,
    ) -> Ended {
        let mut plan = plan(tool, input);
        Arc::make_mut(&mut plan.effects).facts.read_only = self.read_only;
        let permit = permit(&plan);
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + around.patience;
        let cancel = around.cancel.clone();
        let attempt = Attempt::new(&permit, &plan, 1, deadline, cancel, link).unwrap();
        let mut run = self.builtin.run(attempt.guarded(guard));
        let (mut submissions, mut progress, mut cancel_heard) = (0, Vec::new(), false);
        let mut hear = |said: DriverMessage| match said {
            DriverMessage::Submit(answer) => {
                submissions += 1;
                let _ = answer.send(
                    (around.on_submit)(&around.cancel).map(|()| haft_driver::Clearance::default()),
                );
            }
            DriverMessage::Progress(report) => progress.push(report),
            DriverMessage::Partial(_) => {}
            DriverMessage::CancelHeard => cancel_heard = true,
            DriverMessage::Wanted { .. }
            | DriverMessage::Hide(_)
            | DriverMessage::Ask { .. }
            | DriverMessage::Remark(_)
            | DriverMessage::Backgrounded => {}
        };
        let result = loop {
            tokio::select! {
                result = &mut run => break result,
                said = heard.next() => hear(said),
            }
        };
        while let Some(said) = heard.unheard() {
            hear(said);
        }
        Ended { result, submissions, progress, cancel_heard }
    }
}

impl Ended {
    /// The value and the effect state of a successful call.
    pub(crate) fn value(self) -> (Value, EffectState) {
        let output = self.result.unwrap();
        (output.structured.unwrap(), output.effect)
    }

    pub(crate) fn failure(self) -> Failure {
        self.result.unwrap_err()
    }

    /// The code, the message and the effect state of a call that failed while running.
    pub(crate) fn refusal(self) -> (Code, String, EffectState) {
        let failure = self.failure();
        assert!(failure.stop.cause.is_running(), "{failure:?}");
        (failure.stop.code, failure.stop.message, failure.effect)
    }
}

pub(crate) fn plan(tool: &str, input: Value) -> Plan {
    plans::plan(tool, "haft-builtin", input)
}
