//! Message loop of a worker call: follows it from begin to end, and derives its effect state.

use std::time::Duration;

use haft_driver::{Failure, Output};
use haft_model::{Cause, CauseDetail, Code, Content, EffectState, Stop};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::call::{WorkerCall, out_of_turn};
use super::wire::{Ask, Word};
use super::worker::Talk;
use crate::exact;
use crate::failure::{called_off, late, late_after_sending, running};
use crate::login::ran_out;
use crate::web::MOST_BYTES;

/// How long a function may take to end after its cancellation; then its worker is killed.
const GRACE: Duration = Duration::from_millis(300);

/// Why a call ends before it is done.
#[derive(Clone, Copy)]
enum Early {
    CalledOff,
    Late,
}

/// The state of a call so far.
pub(super) struct Hearing<'a, 'b> {
    call: &'a WorkerCall<'b>,
    talk: Talk<'a>,
    /// Whether the function was called.
    begun: bool,
    parts: Vec<Value>,
    bytes: usize,
    early: Option<Early>,
    /// When the call is cancelled; after a cancellation, when its worker is killed.
    until: Instant,
    /// Whether the call is over.
    over: bool,
}

impl Drop for Hearing<'_, '_> {
    /// A call without a caller must not go on.
    fn drop(&mut self) {
        if !self.over {
            self.call.held.worker.end();
        }
    }
}

impl<'a, 'b> Hearing<'a, 'b> {
    /// Starts with no message received.
    pub(super) fn new(call: &'a WorkerCall<'b>, talk: Talk<'a>) -> Hearing<'a, 'b> {
        let (begun, bytes, until) = (false, 0, call.attempt.deadline.into());
        let (parts, early, over) = (Vec::new(), None, false);
        Hearing { call, talk, begun, parts, bytes, early, until, over }
    }

    /// Receives messages until the call ends.
    pub(super) async fn end(mut self) -> Result<Output, Failure> {
        let end = self.listened().await;
        self.over = true;
        end
    }

    async fn listened(&mut self) -> Result<Output, Failure> {
        loop {
            let attempt = self.call.attempt;
            tokio::select! {
                word = self.talk.word() => match word {
                    Ok(word) => if let Some(end) = self.heard(word).await {
                        return end;
                    },
                    Err(fate) => {
                        self.call.broke().await;
                        return Err(self.ended(fate));
                    }
                },
                () = attempt.cancel.cancelled(), if self.early.is_none() => {
                    attempt.link.cancel_heard().await;
                    self.tell(Early::CalledOff);
                }
                () = sleep_until(self.until) => match self.early {
                    None => self.tell(Early::Late),
                    Some(early) => return Err(self.left(early).await),
                },
            }
        }
    }

    /// Cancels the function.
    fn tell(&mut self, early: Early) {
        self.early = Some(early);
        self.until = Instant::now() + GRACE;
        self.talk.say(Ask::Cancel);
    }

    /// Handles one message, and returns the outcome if the message ends the call.
    async fn heard(&mut self, word: Word) -> Option<Result<Output, Failure>> {
        let known = self.effect_so_far();
        Some(match word {
            Word::Begun => {
                self.begun = true;
                return None;
            }
            Word::Part { value } => return self.part(value).await,
            Word::Done { value } => self.done(value),
            Word::Ended => {
                let parts = std::mem::take(&mut self.parts);
                Ok(self.output(Some(Value::Array(parts))))
            }
            Word::Canceled => Err(self.ended(called_off())),
            Word::Failed { types, message } => Err(self.failed(&types, &message)),
            Word::Unfit { why } => {
                let words = format!("`{}` returned what is no JSON: {why}", self.name());
                Err(Failure::new(running(Code::OutputInvalid, words), self.returned()))
            }
            Word::TooLarge => Err(self.too_large(self.returned())),
            Word::Withheld(failure) => Err(*failure),
            Word::Loaded { .. } | Word::Found => Err(Failure::new(out_of_turn(), known)),
        })
    }

    /// A partial result, which the caller may receive at once.
    async fn part(&mut self, value: Value) -> Option<Result<Output, Failure>> {
        let data = self.call.function.extract.extract(&value)?;
        self.bytes += data.to_string().len();
        if self.bytes > MOST_BYTES {
            self.call.end_worker().await;
            return Some(Err(self.too_large(self.effect_so_far())));
        }
        self.parts.push(data.clone());
        let data = exact::rounded(data);
        self.call.attempt.link.partial(vec![Content::StructuredContent { data }]).await;
        None
    }

    fn done(&mut self, value: Value) -> Result<Output, Failure> {
        let function = self.call.function;
        if value.is_null() && function.takes_all {
            let parts = std::mem::take(&mut self.parts);
            return Ok(self.output((!parts.is_empty()).then_some(Value::Array(parts))));
        }
        match function.extract.extract(&value) {
            Some(found) => Ok(self.output(Some(found))),
            None => {
                let words =
                    format!("`{}` returned, and `result_extract` finds nothing in it", self.name());
                Err(Failure::new(running(Code::OutputInvalid, words), self.returned()))
            }
        }
    }

    fn output(&self, structured: Option<Value>) -> Output {
        let effect = self.call.effect(EffectState::Committed);
        let structured = structured.map(|value| self.call.function.wrap.around(value));
        exact::settled(Output { structured, effect, ..Output::read(Value::Null) })
    }

    fn name(&self) -> &str {
        &self.call.function.reference
    }

    /// The effect state while the outcome of the function is unknown.
    fn effect_so_far(&self) -> EffectState {
        self.call.effect(match self.begun {
            true => EffectState::Unknown,
            false => EffectState::NotCommitted,
        })
    }

    /// The effect state once the function returned; one that still yields parts has not.
    fn returned(&self) -> EffectState {
        match self.parts.is_empty() {
            true => self.call.effect(EffectState::Committed),
            false => self.effect_so_far(),
        }
    }

    fn too_large(&self, effect: EffectState) -> Failure {
        let words = format!("`{}` returned more than {MOST_BYTES} bytes", self.name());
        Failure::new(running(Code::ResultTooLarge, words), effect)
    }

    fn failed(&self, types: &[String], message: &str) -> Failure {
        if self.early.is_some() {
            return self.ended(called_off());
        }
        let kind = types.first().map_or("", String::as_str);
        let words = format!("`{}` failed with {kind}: {message}", self.name());
        let code = match self.call.has_expired(types) {
            true => Code::CredentialMissing,
            false => Code::ExecutionFailed,
        };
        let cause = Cause::running().with(CauseDetail::Exception(kind.to_owned()));
        let vouched = types.iter().any(|kind| self.call.function.not_committed.contains(kind));
        let effect = match vouched {
            true => self.call.effect(EffectState::NotCommitted),
            false => self.effect_so_far(),
        };
        let native = vec![self.call.native(Some(kind))];
        let stop = Stop::new(code, words).because(cause);
        let stop = match code {
            Code::CredentialMissing => ran_out(stop, self.call.driver()),
            _ => stop,
        };
        Failure { native, ..Failure::new(stop, effect) }
    }

    /// The failure of a call that ended early: by cancellation or timeout, else by `otherwise`.
    fn ended(&self, otherwise: Stop) -> Failure {
        let effect = self.effect_so_far();
        let stop = match self.early {
            None => otherwise,
            Some(Early::CalledOff) => called_off(),
            Some(Early::Late) if self.begun => {
                late_after_sending(format!("time ran out before `{}` returned", self.name()))
            }
            Some(Early::Late) => late(),
        };
        Failure::new(stop, effect)
    }

    /// A function that ignores its cancellation. It ends with its worker. A call still queued
    /// behind others never begins, and leaves the worker alone.
    async fn left(&self, early: Early) -> Failure {
        if self.begun || self.call.held.worker.is_idle_but_for_one() {
            self.call.end_worker().await;
        }
        self.ended(match early {
            Early::CalledOff => called_off(),
            Early::Late => late(),
        })
    }
}
