//! Process of one call: starts it, captures its output, and kills it on cancellation or timeout.

use std::path::Path;
use std::time::Duration;

use haft_driver::{Attempt, Failure, Output};
use haft_model::{Code, Digest, EffectState, Plan, Stop};
use haft_sandbox::{ConfinedProgram, Intrusion, ProgramExit, Running, StartRefusal, Walls};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{sleep_until, timeout};

use super::command::Command;
use super::line::ProgramCommand;
use super::listening::{CapturedOutput, Listening};
use super::login::{self, OpenedCredentials};
use super::{Cli, answer, program, targets};
use crate::closed;
use crate::failure::{
    called_off, intruded, late, late_after_sending, running, unsent, while_running,
};
use crate::sandbox_opening::SandboxOpening;
use crate::watch::Watch;

/// How long the processes of a call may take to exit after they are killed.
const GRACE: Duration = Duration::from_millis(1500);

/// A call that is being executed.
pub(super) struct Run<'a> {
    pub(super) cli: &'a Cli,
    pub(super) command: &'a Command,
    pub(super) attempt: &'a Attempt<'a>,
    /// Digest of the program and its arguments.
    pub(super) argv: Digest,
}

/// Why a process was killed before it exited.
enum KillReason {
    Caller,
    Time,
    /// A read-only program exceeded the output limit.
    Flood,
}

impl Run<'_> {
    pub(super) async fn carry_out(&self, line: ProgramCommand) -> Result<Output, Failure> {
        let ProgramCommand { args, stdin } = line;
        let manifest = self.cli.manifest.typed();
        let opening =
            manifest.and_then(|typed| SandboxOpening::of(typed, self.plan(), &self.cli.place));
        let opening = opening.map_err(|stop| unsent(while_running(stop)))?;
        let guard = &self.attempt.guard;
        if !guard.is_empty() {
            let held = targets::check(self.cli, self.command, &args, self.plan(), guard);
            held.map_err(|stop| unsent(while_running(stop)))?;
        }
        let confined = self.confined(&opening, args).map_err(|stop| unsent(while_running(stop)))?;
        if let Walls::Missing = self.cli.place.walls {
            return Err(unsent(self.not_run(StartRefusal::NoLauncher).stop));
        }
        let login = self.login(&opening.root).await?;
        let confined = ConfinedProgram { secret_env: login.env, handed: login.handed, ..confined };
        let walls = &self.cli.place.walls;
        let guarded = confined.guarded(walls).await;
        let (confined, custody) = guarded.map_err(|refused| unsent(self.not_run(refused).stop))?;
        Watch::of(self.attempt).check().map_err(unsent)?;
        if self.mutates() {
            self.attempt.link.submit().await?.check()?;
        }
        let process = confined.start(walls).map_err(|refused| self.not_run(refused))?;
        let heard = self.heard_out(process, stdin, &opening).await;
        self.inspected(heard, &custody.conclude().await, &opening)
    }

    /// Replaces the outcome of a call whose program changed files that govern by a violation.
    fn inspected(
        &self,
        heard: Result<Output, Failure>,
        intrusions: &[Intrusion],
        opening: &SandboxOpening,
    ) -> Result<Output, Failure> {
        let Some(stop) = intruded(intrusions, &opening.root) else { return heard };
        let (effect, native) = match heard {
            Ok(output) => (output.effect, output.native),
            Err(failure) => (failure.effect, failure.native),
        };
        Err(Failure { native, ..Failure::new(stop, effect) })
    }

    pub(super) fn plan(&self) -> &Plan {
        self.attempt.plan
    }

    pub(super) fn mutates(&self) -> bool {
        self.plan().effects.may_mutate()
    }

    /// The effect state; `EffectState::None` for a call that cannot mutate.
    pub(super) fn effect(&self, known: EffectState) -> EffectState {
        if self.mutates() { known } else { EffectState::None }
    }

    fn confined(
        &self,
        opening: &SandboxOpening,
        args: Vec<String>,
    ) -> Result<ConfinedProgram, Stop> {
        let (command, place) = (self.command, &self.cli.place);
        let found = program::find(&command.bin, &command.driver, place, &opening.root)?;
        let mut confined = opening.confined(&found, args, place);
        program::start_judged(&mut confined);
        closed::hide(&mut confined, &self.attempt.guard, &opening.root, place);
        for (name, value) in self.attempt.trace_fields() {
            confined.env.entry(name.to_ascii_uppercase()).or_insert(value);
        }
        Ok(confined)
    }

    /// Opens the secrets of a call. A vault may have to ask a person, and cancellation ends that
    /// too.
    async fn login(&self, root: &Path) -> Result<OpenedCredentials, Failure> {
        let place = &self.cli.place;
        let kept = program::any_exists(&self.command.login_paths, place, root);
        tokio::select! {
            login = login::open(self.command, kept, &self.attempt.safe) => login,
            () = self.attempt.cancel.cancelled() => {
                self.attempt.link.cancel_heard().await;
                Err(unsent(called_off()))
            }
            () = sleep_until(self.attempt.deadline.into()) => Err(unsent(late())),
        }
    }

    async fn heard_out(
        &self,
        mut process: Running,
        stdin: Vec<u8>,
        opening: &SandboxOpening,
    ) -> Result<Output, Failure> {
        let mut listening = Listening::new(self.command, &self.attempt.link, opening.bounds.output);
        let outcome = self.ended_or_cut(&mut process, &mut listening, stdin).await;
        let said = listening.said();
        match outcome {
            Ok(Ok(ended)) => answer::of(self, &ended, said, &opening.root),
            Ok(Err(refused)) => Err(self.not_run(refused)),
            Err(cut) => {
                if let KillReason::Caller = cut {
                    self.attempt.link.cancel_heard().await;
                }
                process.stop();
                let ended = timeout(GRACE, process.ended()).await;
                let ended = ended.ok().and_then(Result::ok);
                Err(self.cut_short(&cut, ended.as_ref(), &said, opening.bounds.output))
            }
        }
    }

    async fn ended_or_cut(
        &self,
        process: &mut Running,
        listening: &mut Listening<'_>,
        stdin: Vec<u8>,
    ) -> Result<Result<ProgramExit, StartRefusal>, KillReason> {
        let (out, err) = (std::mem::take(&mut process.stdout), std::mem::take(&mut process.stderr));
        let feed = process.stdin.take();
        let flooded = listening.flooded();
        let give = async {
            // A program need not read its standard input.
            if let Some(mut feed) = feed {
                let _ = feed.write_all(&stdin).await;
            }
        };
        let all = async { tokio::join!(process.ended(), listening.listen(out, err), give).0 };
        tokio::select! {
            ended = all => Ok(ended),
            () = self.attempt.cancel.cancelled() => Err(KillReason::Caller),
            () = sleep_until(self.attempt.deadline.into()) => Err(KillReason::Time),
            // Killing a program in the middle of a change is worse than its output.
            () = flooded.cancelled(), if !self.mutates() => Err(KillReason::Flood),
        }
    }

    /// The failure of a program that was killed.
    fn cut_short(
        &self,
        cut: &KillReason,
        ended: Option<&ProgramExit>,
        said: &CapturedOutput,
        most: usize,
    ) -> Failure {
        let stop = match cut {
            KillReason::Caller => called_off(),
            KillReason::Time => {
                late_after_sending("time ran out while the program ran, and it was ended")
            }
            KillReason::Flood => answer::too_large(self.command, most),
        };
        let effect = self.effect(EffectState::Unknown);
        let native = ended.map(|ended| answer::native(self, ended)).into_iter().collect();
        let stop = answer::with_errors(stop, said);
        Failure { native, ..Failure::new(stop, effect) }
    }

    /// The failure of a program that did not run. If the launcher itself broke, the effect is
    /// unknown.
    fn not_run(&self, refused: StartRefusal) -> Failure {
        let driver = &self.command.driver;
        let (code, help, effect) = match &refused {
            StartRefusal::Program(_) => (
                Code::SetupRequired,
                format!("run `haft setup {driver}`"),
                EffectState::NotCommitted,
            ),
            StartRefusal::NoLauncher | StartRefusal::Unenforced(_) => (
                Code::SetupRequired,
                "see docs/operate/sandbox.md; `sandbox = \"off\"` in haft.toml runs programs \
                 unconfined"
                    .to_owned(),
                EffectState::NotCommitted,
            ),
            StartRefusal::Violation(_) => (
                Code::SandboxViolation,
                "narrow `mutates` or `sandbox.fs.write` to what the tool works on".to_owned(),
                EffectState::NotCommitted,
            ),
            StartRefusal::Broken(_) => (
                Code::Internal,
                "look at the records of the call before it is sent again".to_owned(),
                EffectState::Unknown,
            ),
        };
        let words = format!("driver `{driver}` could not run `{}`: {refused}", self.command.bin);
        Failure::new(running(code, words).help(help), self.effect(effect))
    }
}
