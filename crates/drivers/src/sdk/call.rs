//! Worker call: resolves the function, and records the submission before the call is made.

use haft_driver::{Attempt, Clearance, Failure, Output};
use haft_model::{Code, EffectState, Stop};
use serde_json::{Value, json};
use tokio::time::sleep_until;

use super::arguments::FunctionInputs;
use super::hearing::Hearing;
use super::manifest::{Function, Package};
use super::wire::{Ask, Word};
use super::worker::Talk;
use super::{HeldWorker, Sdk};
use crate::failure::{called_off, intruded, late, running, unsent};
use crate::login::ran_out;
use crate::watch::Watch;

/// A call, and its worker.
pub(super) struct WorkerCall<'a> {
    pub(super) sdk: &'a Sdk,
    pub(super) attempt: &'a Attempt<'a>,
    pub(super) function: &'a Function,
    pub(super) package: &'a Package,
    pub(super) held: HeldWorker<'a>,
}

impl WorkerCall<'_> {
    /// Makes the call.
    pub(super) async fn made(&self, given: FunctionInputs) -> Result<Output, Failure> {
        let came = self.through(given).await;
        match self.inspected(came).await {
            Ok(output) => Ok(Output { native: vec![self.native(None)], ..output }),
            Err(failure) if failure.native.is_empty() => {
                Err(Failure { native: vec![self.native(None)], ..failure })
            }
            Err(failure) => Err(failure),
        }
    }

    /// Replaces the outcome of a call whose worker changed files that govern by a violation.
    async fn inspected(&self, came: Result<Output, Failure>) -> Result<Output, Failure> {
        let intrusions = self.held.worker.inspect().await;
        let Some(stop) = intruded(&intrusions, &self.sdk.place.root) else {
            if self.held.worker.is_stale() {
                self.let_go().await;
            }
            return came;
        };
        self.end_worker().await;
        let effect = came.map_or_else(|failure| failure.effect, |output| output.effect);
        Err(Failure::new(stop, effect))
    }

    async fn through(&self, given: FunctionInputs) -> Result<Output, Failure> {
        let mut talk = self.held.worker.talk().map_err(unsent)?;
        self.find(&mut talk, &given).await?;
        let clearance = match self.submitted().await {
            Ok(clearance) => clearance,
            Err(failure) => {
                talk.say(Ask::Cancel);
                return Err(failure);
            }
        };
        let trace = self.attempt.trace_fields();
        let trace = trace.map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
        let callback = self.function.calls_back;
        talk.say_cleared(Ask::Call { args: &given.args, callback, trace: &trace }, clearance);
        Hearing::new(self, talk).end().await
    }

    /// Records the submission, right before the call is made.
    async fn submitted(&self) -> Result<Clearance, Failure> {
        let clearance = match self.may_mutate() {
            true => self.attempt.link.submit().await?,
            false => Clearance::default(),
        };
        // The submission is recorded, but nothing is sent yet.
        let unsaid = |stop: Stop| Failure::new(stop, self.effect(EffectState::NotCommitted));
        Watch::of(self.attempt).check().map_err(unsaid)?;
        Ok(clearance)
    }

    /// Loads the package, creates the client and resolves the function. This submits nothing.
    async fn find(&self, talk: &mut Talk<'_>, given: &FunctionInputs) -> Result<(), Failure> {
        let asked = async {
            talk.say(Ask::Find { function: &self.function.reference, client: &given.client });
            talk.word().await
        };
        let word = tokio::select! {
            word = asked => word,
            () = self.attempt.cancel.cancelled() => {
                self.attempt.link.cancel_heard().await;
                return Err(self.abandoned(called_off()).await);
            }
            () = sleep_until(self.attempt.deadline.into()) => {
                return Err(self.abandoned(late()).await);
            }
        };
        match word {
            Ok(Word::Found) => Ok(()),
            Ok(Word::Failed { types, message }) => {
                // The next call loads the repaired package anew.
                self.let_go().await;
                Err(unsent(self.unusable(&types, &message)))
            }
            Ok(_) => {
                self.broke().await;
                Err(unsent(out_of_turn()))
            }
            Err(fate) => {
                self.broke().await;
                Err(unsent(fate))
            }
        }
    }

    /// A call that ends while its package still loads. A load that never ends must not block other
    /// calls, and other calls on the worker must not suffer for it.
    async fn abandoned(&self, stop: Stop) -> Failure {
        if self.held.worker.is_idle_but_for_one() {
            self.end_worker().await;
        }
        unsent(stop)
    }

    pub(super) async fn end_worker(&self) {
        self.let_go().await;
        self.held.worker.stop().await;
    }

    async fn let_go(&self) {
        self.sdk.workers.let_go(&self.held.key, &self.held.worker).await;
    }

    pub(super) async fn broke(&self) {
        self.sdk.workers.broke(&self.held.key, &self.held.worker).await;
    }

    fn may_mutate(&self) -> bool {
        self.attempt.plan.effects.may_mutate()
    }

    /// The effect state; `EffectState::None` for a call that cannot mutate.
    pub(super) fn effect(&self, known: EffectState) -> EffectState {
        if self.may_mutate() { known } else { EffectState::None }
    }

    /// The native identity of the call, for the record.
    pub(super) fn native(&self, exception: Option<&str>) -> Value {
        let mut native = json!({
            "source": "sdk",
            "package": self.package.name,
            "package_version": self.held.version,
            "function_ref": self.function.reference,
        });
        if let (Some(exception), Some(fields)) = (exception, native.as_object_mut()) {
            fields.insert("exception".to_owned(), json!(exception));
        }
        self.sdk.place.told(native)
    }

    /// Why a package cannot be used.
    fn unusable(&self, types: &[String], message: &str) -> Stop {
        let name = &self.package.name;
        let words = match types.first().map(String::as_str) {
            Some("Unresolved") | None => format!("package `{name}`: {message}"),
            Some(kind) => format!("package `{name}` cannot be loaded: {kind}: {message}"),
        };
        match self.has_expired(types) {
            true => ran_out(running(Code::CredentialMissing, words), self.driver()),
            false => running(Code::SetupRequired, words).help("see to it that the package loads"),
        }
    }

    pub(super) fn driver(&self) -> &str {
        self.attempt.plan.route.driver.as_str()
    }

    pub(super) fn has_expired(&self, types: &[String]) -> bool {
        self.function.expired.as_ref().is_some_and(|expired| types.contains(expired))
    }
}

pub(super) fn out_of_turn() -> Stop {
    running(Code::Internal, "the worker said something out of turn")
}
