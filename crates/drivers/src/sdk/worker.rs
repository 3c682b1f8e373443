//! Worker process: a confined process that runs the functions of one package for many calls.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use haft_driver::{Cancel, Clearance};
use haft_model::{Code, Secret, Stop};
use haft_sandbox::{
    ConfinedProgram, Custody, ExitKind, Feed, Intrusion, ProgramExit, ProgramOutput, Running,
    StartRefusal, Walls,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::wire::{Ask, Word, WorkerMessage, WorkerRequest};
use crate::exact;
use crate::failure::{OUT_OF_MEMORY, not_started, running};
use crate::pipe::{Unwritten, poll_write_line};
use crate::response_id::id_of_answer;
use crate::web::MOST_BYTES;

/// Most bytes of a line: the largest value, and its framing.
const LONGEST: usize = MOST_BYTES + 64 * 1024;

/// Bytes kept from the end of a worker's stderr.
const TAIL: usize = 16 * 1024;

/// How long a worker may take to exit.
const GRACE: Duration = Duration::from_secs(1);

/// How long a worker may take to send its first message.
const LONGEST_START: Duration = Duration::from_secs(30);

/// Capacity of a call's message channel.
const UNHEARD: usize = 64;

/// A process that many calls share. Drop ends it.
pub(super) struct Worker {
    lines: mpsc::UnboundedSender<Letter>,
    started: Instant,
    ear: Arc<Ear>,
    next: AtomicU64,
    tasks: Vec<JoinHandle<()>>,
    /// Whether the package is installed, and its version.
    installed: OnceCell<(bool, Option<String>)>,
    /// The custody that its process runs under.
    custody: Custody,
}

/// One line for the worker, and the clearance under which it may be written.
struct Letter {
    line: Secret,
    call: u64,
    clearance: Clearance,
}

/// Routes the messages of a worker to its calls.
#[derive(Default)]
struct Ear {
    calls: Mutex<HashMap<u64, mpsc::Sender<Word>>>,
    /// Why there will be no more messages.
    fate: OnceLock<Stop>,
    stop: Cancel,
    gone: Cancel,
}

/// A call's channel to its worker.
pub(super) struct Talk<'a> {
    worker: &'a Worker,
    id: u64,
    words: mpsc::Receiver<Word>,
}

impl Worker {
    /// Starts a worker. If that fails, each call on it gets the reason.
    pub(super) async fn start(confined: ConfinedProgram, walls: &Walls) -> Worker {
        let (lines, said) = mpsc::unbounded_channel();
        let ear = Arc::new(Ear::default());
        let (started, custody) = match confined.guarded(walls).await {
            Ok((confined, custody)) => (confined.start(walls), custody),
            Err(refused) => (Err(refused), Custody::default()),
        };
        let tasks = match started {
            Ok(mut process) => {
                let feed = process.stdin.take();
                let attending = attend(process, Arc::clone(&ear));
                vec![tokio::spawn(tell(feed, said, Arc::clone(&ear))), tokio::spawn(attending)]
            }
            Err(refused) => {
                ear.close(not_started(&refused));
                Vec::new()
            }
        };
        let (next, installed) = (AtomicU64::new(0), OnceCell::new());
        Worker { lines, started: Instant::now(), ear, next, tasks, installed, custody }
    }

    /// The files it made that govern, found after a call and moved to quarantine.
    pub(super) async fn inspect(&self) -> Vec<Intrusion> {
        self.custody.inspect().await
    }

    /// Whether it could write files that were mounted read-only for it.
    pub(super) fn is_stale(&self) -> bool {
        self.custody.is_stale()
    }

    /// Kills it, and returns the files it made that govern.
    pub(super) async fn retire(mut self) -> Vec<Intrusion> {
        self.stop().await;
        std::mem::take(&mut self.custody).conclude().await
    }

    /// A channel for one more call, unless the worker has exited.
    pub(super) fn talk(&self) -> Result<Talk<'_>, Stop> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, words) = mpsc::channel(UNHEARD);
        let mut calls = self.ear.calls();
        match self.ear.fate.get() {
            Some(fate) => Err(fate.clone()),
            None => {
                calls.insert(id, sender);
                drop(calls);
                Ok(Talk { worker: self, id, words })
            }
        }
    }

    /// Names its package, once, and returns whether it is installed and its version.
    pub(super) async fn installed(&self, load: Ask<'_>) -> Result<&(bool, Option<String>), Stop> {
        let asked = async {
            let mut talk = self.talk()?;
            talk.say(load);
            match talk.word().await? {
                Word::Loaded { there, version } => Ok((there, version)),
                Word::Failed { message, .. } => Err(broken(&message)),
                _ => Err(broken("it answered something else")),
            }
        };
        self.installed.get_or_try_init(|| asked).await
    }

    /// Whether it exited, or never sent a message.
    pub(super) fn is_gone(&self) -> bool {
        let is_mute = !self.installed.initialized() && self.started.elapsed() > LONGEST_START;
        self.ear.fate.get().is_some() || is_mute
    }

    /// Whether at most one call uses it.
    pub(super) fn is_idle_but_for_one(&self) -> bool {
        self.ear.calls().len() <= 1
    }

    /// Kills it, and every call in it.
    pub(super) fn end(&self) {
        self.ear.stop.cancel();
    }

    /// Kills it, and waits until it has exited.
    pub(super) async fn stop(&self) {
        self.end();
        let _ = timeout(GRACE, self.ear.gone.cancelled()).await;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Talk<'_> {
    /// Sends a request. Delivery shows only in the worker's messages.
    pub(super) fn say(&self, ask: Ask<'_>) {
        self.say_cleared(ask, Clearance::default());
    }

    /// Sends a request under a clearance, which is checked when the line is written.
    pub(super) fn say_cleared(&self, ask: Ask<'_>, clearance: Clearance) {
        let mut line =
            serde_json::to_string(&WorkerRequest { id: self.id, ask }).unwrap_or_default();
        line.push('\n');
        let letter = Letter { line: Secret::new(line), call: self.id, clearance };
        let _ = self.worker.lines.send(letter);
    }

    /// The next message of the worker, or why there will be none.
    pub(super) async fn word(&mut self) -> Result<Word, Stop> {
        match self.words.recv().await {
            Some(word) => Ok(word),
            None => {
                Err(self.worker.ear.fate.get().cloned().unwrap_or_else(|| broken("it is gone")))
            }
        }
    }
}

impl Drop for Talk<'_> {
    fn drop(&mut self) {
        self.worker.ear.calls().remove(&self.id);
    }
}

impl Ear {
    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<u64, mpsc::Sender<Word>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every channel, for this reason.
    fn close(&self, fate: Stop) {
        let mut calls = self.calls();
        let _ = self.fate.set(fate);
        calls.clear();
        drop(calls);
        self.gone.cancel();
    }

    /// Reads a worker's messages until it closes its output. Returns the protocol error, if any.
    async fn hear(&self, from: ProgramOutput) -> Option<&'static str> {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = LONGEST as u64;
            if (&mut from).take(most).read_until(b'\n', &mut line).await.unwrap_or(0) == 0 {
                return None;
            }
            if line.last() != Some(&b'\n') {
                return Some("it said too much at once");
            }
            let marked = exact::marked(&line, &["value"]);
            let told = serde_json::from_slice(&marked).ok().or_else(|| unreadable(&line));
            let Some(WorkerMessage { id, word }) = told else {
                return Some("it said something that no worker says");
            };
            let listener = self.calls().get(&id).cloned();
            if let Some(listener) = listener {
                let _ = listener.send(word).await;
            }
        }
    }
}

/// The message for a call whose result cannot be decoded; the worker goes on with the others.
fn unreadable(line: &[u8]) -> Option<WorkerMessage> {
    let id = id_of_answer(line)?.as_u64()?;
    let why = "it is deeper than 100 levels, or has letters that are none".to_owned();
    Some(WorkerMessage { id, word: Word::Unfit { why } })
}

/// Writes the queued lines, each whole. A call whose clearance expires in the queue is told so; one
/// whose clearance expires in the middle of its line ends the worker, which never reads the rest.
async fn tell(feed: Option<Feed>, mut said: mpsc::UnboundedReceiver<Letter>, ear: Arc<Ear>) {
    let Some(mut feed) = feed else { return };
    while let Some(Letter { line, call, clearance }) = said.recv().await {
        let (line, mut written) = (line.expose().as_bytes(), 0);
        let may_leave = |_| clearance.check().is_ok();
        let write =
            poll_fn(|context| poll_write_line(&mut feed, line, &mut written, may_leave, context));
        let torn = match write.await {
            Ok(()) => continue,
            Err(Unwritten::Broken(_)) => return,
            Err(Unwritten::Withheld) => false,
            Err(Unwritten::Torn) => true,
        };
        let listener = ear.calls().get(&call).cloned();
        if let (Some(listener), Err(failure)) = (listener, clearance.check()) {
            let _ = listener.try_send(Word::Withheld(Box::new(failure)));
        }
        if torn {
            return;
        }
    }
}

/// Serves a worker until it exits, then notifies every call on it.
async fn attend(mut process: Running, ear: Arc<Ear>) {
    let (stdout, stderr) =
        (std::mem::take(&mut process.stdout), std::mem::take(&mut process.stderr));
    let tail = tokio::spawn(tail(stderr));
    let nonsense = tokio::select! {
        nonsense = ear.hear(stdout) => nonsense,
        () = ear.stop.cancelled() => Some("a call in it did not end when it was told to"),
    };
    if nonsense.is_some() {
        process.stop();
    }
    let ended = match timeout(GRACE, process.ended()).await {
        Ok(ended) => ended,
        Err(_) => {
            process.stop();
            process.ended().await
        }
    };
    let tail = timeout(GRACE, tail).await.map(Result::unwrap_or_default);
    ear.close(fate(nonsense, ended, &tail.unwrap_or_default()));
}

/// The end of a worker's stderr.
async fn tail(mut from: ProgramOutput) -> Vec<u8> {
    let (mut tail, mut piece) = (Vec::new(), vec![0; 8 * 1024]);
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        tail.extend(piece.iter().take(length));
        tail.drain(..tail.len().saturating_sub(TAIL));
    }
    tail
}

/// Why a worker exited.
fn fate(nonsense: Option<&str>, ended: Result<ProgramExit, StartRefusal>, tail: &[u8]) -> Stop {
    let said = String::from_utf8_lossy(tail);
    let full = ["out of memory", "MemoryError"].iter().any(|words| said.contains(words));
    match (nonsense, ended) {
        (Some(words), _) => broken(words),
        (None, Err(refused)) => not_started(&refused),
        (None, Ok(_)) if full => broken("it ran out of memory"),
        (None, Ok(ProgramExit { end: ExitKind::OutOfMemory, .. })) => {
            running(Code::SandboxViolation, format!("the worker was ended: {OUT_OF_MEMORY}"))
        }
        (None, Ok(ProgramExit { end: ExitKind::Exited(code), .. })) => {
            broken(&format!("it ended with code {code}"))
        }
        (None, Ok(ProgramExit { end: ExitKind::Killed(signal), .. })) => {
            broken(&format!("it was ended by signal {signal}"))
        }
        (None, Ok(ProgramExit { end: ExitKind::OutOfTime | ExitKind::CalledOff, .. })) => {
            broken("it was ended")
        }
    }
}

fn broken(words: &str) -> Stop {
    running(Code::DependencyUnavailable, format!("the worker broke: {words}"))
}
