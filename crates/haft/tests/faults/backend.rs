//! Simulated backend: random numbers decide the fate of a request, and its book has every effect.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{Attempt, Failure, Output};
use haft_model::{Code, EffectState, InvocationId, Stop};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::scene::Scene;
use crate::workspace::{TIMEOUT, Tool};

/// How late an effect may be after its attempt is over, in milliseconds: a backend that is later
/// breaks what its contract says by `status.final_after`.
const MARGIN: u64 = 4900;

/// One effect that took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Of which intent.
    pub(crate) intent: u64,
    /// By which call.
    pub(crate) id: InvocationId,
    pub(crate) key: String,
    /// Whether its caller gave a key.
    pub(crate) keyed: bool,
    /// When it was sent, in milliseconds.
    pub(crate) sent: u64,
}

pub(crate) struct Backend {
    scene: Arc<Scene>,
    book: Mutex<Vec<Effect>>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    /// Effect and answer are late, perhaps later than the caller waits.
    Slow,
    /// The effect takes place at once, and the answer comes late or after the attempt is over.
    AnswerDelayed,
    /// The effect takes place after the attempt is over, and there is no answer.
    EffectLate,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// It never arrives.
    RequestLost,
    /// The connection breaks at once, and the request goes on.
    Broken,
    Declined,
}

impl Fate {
    /// The fault that it is.
    fn fault(self) -> Option<&'static str> {
        match self {
            Fate::Done => None,
            Fate::Declined => Some("refusal"),
            Fate::Slow => Some("slow backend"),
            Fate::AnswerDelayed => Some("delayed answer"),
            Fate::EffectLate => Some("late effect"),
            Fate::AnswerLost => Some("lost answer"),
            Fate::RequestLost => Some("lost request"),
            Fate::Broken => Some("delayed request"),
        }
    }
}

/// A request on its way.
struct Request {
    /// When its attempt is over.
    deadline: Instant,
    effect: Effect,
    fate: Fate,
    holds_keys: bool,
}

impl Backend {
    pub(crate) fn new(scene: &Arc<Scene>) -> Arc<Backend> {
        Arc::new(Backend { scene: scene.clone(), book: Mutex::default() })
    }

    pub(crate) fn book(&self) -> Vec<Effect> {
        self.book.lock().unwrap().clone()
    }

    fn is_done(&self, key: &str) -> bool {
        self.book.lock().unwrap().iter().any(|effect| effect.key == key)
    }

    pub(crate) async fn serve(
        self: &Arc<Backend>,
        attempt: Attempt<'_>,
    ) -> Result<Output, Failure> {
        if attempt.plan.tool.id.as_str() == Tool::Look.name() {
            return self.look(&attempt.input).await;
        }
        let scene = &self.scene;
        let reports = attempt.plan.tool.id.as_str() != Tool::Plain.name();
        if reports {
            tokio::time::sleep(Duration::from_millis(scene.below(40))).await;
            if scene.faults() && scene.chance(40) {
                let stop = Stop::new(Code::DependencyUnavailable, "nothing listens");
                return Err(Failure::new(stop, EffectState::NotSubmitted));
            }
            attempt.link.submit().await?;
        }
        // From here to the first byte nothing waits: no check can catch a process that stops here.
        let request = self.request(&attempt);
        let (fate, id) = (request.fate, request.effect.id.clone());
        scene.note(&format!("{id}: attempt {} is sent, {fate:?}", attempt.number));
        let (answer, mut answered) = oneshot::channel();
        let backend = self.clone();
        tokio::spawn(async move { backend.receive(request, answer).await });
        if fate == Fate::Broken {
            tokio::time::sleep(Duration::from_millis(scene.below(30))).await;
            let stop = Stop::new(Code::DependencyUnavailable, "the connection broke");
            return Err(Failure::new(stop, EffectState::Unknown));
        }
        tokio::select! {
            biased;
            told = &mut answered => match told {
                Ok(outcome) => outcome,
                Err(_) => {
                    attempt.cancel.cancelled().await;
                    Err(timed_out())
                }
            },
            () = attempt.cancel.cancelled() => Err(timed_out()),
        }
    }

    fn request(&self, attempt: &Attempt<'_>) -> Request {
        let usual = [Fate::Done, Fate::Done, Fate::Done, Fate::Done];
        let unusual = [
            Fate::Slow,
            Fate::AnswerDelayed,
            Fate::EffectLate,
            Fate::AnswerLost,
            Fate::RequestLost,
            Fate::Broken,
            Fate::Declined,
        ];
        let fate = match self.scene.faults() && self.scene.chance(450) {
            true => self.scene.of(&unusual),
            false => self.scene.of(&usual),
        };
        let effect = Effect {
            intent: attempt.input.get("n").and_then(Value::as_u64).unwrap_or(u64::MAX),
            id: attempt.permit().invocation().clone(),
            key: attempt.key.clone().unwrap_or_default(),
            keyed: [Tool::Pay, Tool::Put]
                .iter()
                .any(|tool| tool.name() == attempt.plan.tool.id.as_str()),
            sent: self.scene.machine.millis(),
        };
        let holds_keys = attempt.plan.tool.id.as_str() == Tool::Put.name();
        Request { deadline: attempt.deadline.into(), effect, fate, holds_keys }
    }

    /// What happens at the other end, whatever became of the process that sent it.
    async fn receive(
        self: Arc<Backend>,
        request: Request,
        answer: oneshot::Sender<Result<Output, Failure>>,
    ) {
        let scene = &self.scene;
        let Request { deadline, effect, fate, holds_keys } = request;
        if let Some(fault) = fate.fault() {
            scene.strike(fault, effect.id.as_str());
        }
        match fate {
            Fate::Slow | Fate::Broken | Fate::AnswerLost => {
                tokio::time::sleep(Duration::from_millis(scene.below(TIMEOUT))).await;
            }
            Fate::EffectLate => {
                let late = Duration::from_millis(scene.below(MARGIN));
                tokio::time::sleep_until(deadline + late).await;
            }
            Fate::Done | Fate::Declined | Fate::RequestLost | Fate::AnswerDelayed => {
                tokio::time::sleep(Duration::from_millis(scene.below(60))).await;
            }
        }
        match fate {
            Fate::RequestLost => return,
            Fate::Declined => {
                let stop = Stop::new(Code::ExecutionFailed, "declined");
                let _ = answer.send(Err(Failure::new(stop, EffectState::NotCommitted)));
                return;
            }
            Fate::Done
            | Fate::Slow
            | Fate::AnswerDelayed
            | Fate::EffectLate
            | Fate::AnswerLost
            | Fate::Broken => {}
        }
        if !holds_keys || !self.is_done(&effect.key) {
            scene.note(&format!("{}: takes effect", effect.id));
            self.book.lock().unwrap().push(effect);
        }
        let after = match fate {
            Fate::Done | Fate::Slow => scene.below(20),
            Fate::AnswerDelayed => scene.below(2 * TIMEOUT),
            _ => return,
        };
        tokio::time::sleep(Duration::from_millis(after)).await;
        let _ = answer.send(Ok(Output::committed(json!({ "id": "receipt" }))));
    }

    async fn look(&self, input: &Value) -> Result<Output, Failure> {
        let scene = &self.scene;
        tokio::time::sleep(Duration::from_millis(scene.below(30))).await;
        let key = input.get("key").and_then(Value::as_str).unwrap_or_default();
        let state = if self.is_done(key) { "done" } else { "none" };
        tokio::time::sleep(Duration::from_millis(scene.below(30))).await;
        if scene.faults() && scene.chance(150) {
            let stop = Stop::new(Code::DependencyUnavailable, "nothing listens");
            return Err(Failure::new(stop, EffectState::None));
        }
        Ok(Output::read(json!({ "state": state, "id": "receipt" })))
    }
}

fn timed_out() -> Failure {
    Failure::new(Stop::new(Code::TimeoutUnknownCommit, "no answer"), EffectState::Unknown)
}
