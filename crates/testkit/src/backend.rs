//! Fault-injecting backend: a real web server on a port of its own, which counts effects and loses
//! responses in every way that responses get lost.

mod wire;

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use wire::ReceivedRequest;

/// Longer than any test waits, so that one that waits in vain fails and does not hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server until it is dropped.
///
/// A request other than GET is an effect: it happens, is counted, and is answered with its id, unless
/// the script says otherwise. `GET /status/KEY` tells what became of the effect under a key.
pub struct Backend {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a backend does with one request: whether the effect takes place, and what it responds.
#[derive(Clone, Debug)]
pub struct Act {
    commits: bool,
    then: Then,
    held: bool,
}

/// The response that a caller gets.
#[derive(Clone, Debug)]
pub enum Then {
    /// The usual: 200 with the id of the effect, or with `{}` where there was none.
    Id,
    /// A status with headers, each line ended by `\r\n`, and a body.
    Answer(u16, &'static str, Vec<u8>),
    /// Nothing: the connection is reset.
    Reset,
    /// Nothing: the connection is closed in order.
    Close,
    /// Nothing, for as long as the caller stays.
    Hang,
    /// A status and half of the body that was promised.
    Half(u16),
    /// A status, and the body a byte at a time for as long as the caller stays.
    Drip(u16),
    /// A status, and a body without end.
    Flood(u16),
    /// Bytes that are no answer.
    Garbage,
}

/// How a backend treats a key that it has seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// It answers as it did the first time, and nothing happens again.
    Enforced,
    /// It does not look at keys.
    Ignored,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
}

struct State {
    keys: Keys,
    script: VecDeque<Act>,
    status_script: VecDeque<Act>,
    /// The acts for the next requests to a path, whatever other requests come meanwhile.
    by_path: Vec<(String, Act)>,
    heard: Vec<ReceivedRequest>,
    /// The keys of the effects that took place, in order; an effect's id is its place.
    effects: Vec<Option<String>>,
    connections: usize,
    lets_go: bool,
}

impl Act {
    /// The effect takes place, and then this.
    pub fn commits(then: Then) -> Act {
        Act { commits: true, then, held: false }
    }

    /// No effect takes place, and this.
    pub fn refuses(then: Then) -> Act {
        Act { commits: false, then, held: false }
    }

    /// The same, except that the response is held until [`Backend::let_go`].
    pub fn held(self) -> Act {
        Act { held: true, ..self }
    }
}

impl Then {
    /// A status and nothing else.
    pub fn status(status: u16) -> Then {
        Then::Answer(status, "", Vec::new())
    }

    /// A status with a JSON body.
    pub fn json(status: u16, body: &str) -> Then {
        Then::Answer(status, "Content-Type: application/json\r\n", body.as_bytes().to_vec())
    }
}

impl Backend {
    /// A backend on a free port of this machine.
    pub fn new(keys: Keys) -> Backend {
        let mut backend = Backend::closed(keys);
        backend.open();
        backend
    }

    /// The same, which refuses every connection until it is opened.
    #[expect(clippy::unwrap_used, reason = "a test without a port has failed")]
    pub fn closed(keys: Keys) -> Backend {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let state = State {
            keys,
            script: VecDeque::new(),
            status_script: VecDeque::new(),
            by_path: Vec::new(),
            heard: Vec::new(),
            effects: Vec::new(),
            connections: 0,
            lets_go: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        Backend { port, shared, thread: None }
    }

    /// Takes connections from now on.
    #[expect(clippy::unwrap_used, reason = "a test without a port has failed")]
    pub fn open(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        let served = Arc::clone(&self.shared);
        self.thread = Some(std::thread::spawn(move || listen(&listener, &served)));
    }

    /// Gives the answers that are held, and holds none from now on.
    pub fn let_go(&self) {
        self.shared.state().lets_go = true;
        self.shared.changed.notify_all();
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Scripts the next request that has no act yet; status queries are not counted.
    pub fn will(&self, act: Act) {
        self.shared.state().script.push_back(act);
    }

    /// Scripts the next request to this path. Concurrent requests come in any order, and so each
    /// can have an act of its own.
    pub fn will_at(&self, path: &str, act: Act) {
        self.shared.state().by_path.push((path.to_owned(), act));
    }

    /// Scripts the next status query that has no act yet.
    pub fn status_will(&self, act: Act) {
        self.shared.state().status_script.push_back(act);
    }

    /// How many effects took place.
    pub fn effects(&self) -> usize {
        self.shared.state().effects.len()
    }

    /// How many connections were taken.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Every request, in order.
    pub fn heard(&self) -> Vec<ReceivedRequest> {
        self.shared.state().heard.clone()
    }

    /// Waits until so many requests were received and their effects are done.
    pub fn wait_for(&self, requests: usize) {
        let state = self.shared.state();
        let missing = |state: &mut State| state.heard.len() < requests;
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, missing);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(state.heard.len() >= requests, "the backend heard {:?}", state.heard);
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        let Ok(mut stream) = stream else { continue };
        shared.state().connections += 1;
        let shared = Arc::clone(shared);
        // A client that hangs must not block the others.
        std::thread::spawn(move || while serve(&mut stream, &shared).is_some() {});
    }
}

/// Serves one request; nothing when the connection is over.
fn serve(stream: &mut TcpStream, shared: &Shared) -> Option<()> {
    let heard = wire::hear(stream)?;
    let (act, body) = shared.state().act(heard);
    shared.changed.notify_all();
    if act.held {
        shared.hold();
    }
    wire::answer(stream, &act.then, &body)
}

impl Shared {
    /// Waits until answers are let go.
    fn hold(&self) {
        let held = |state: &mut State| !state.lets_go;
        drop(self.changed.wait_timeout_while(self.state(), PATIENCE, held));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Performs a request, and returns the response for its caller.
    fn act(&mut self, heard: ReceivedRequest) -> (Act, String) {
        let status = heard.path.strip_prefix("/status/").map(str::to_owned);
        let key = heard.header("idempotency-key").map(str::to_owned);
        let usual = if heard.method == "GET" { Act::refuses } else { Act::commits };
        let own = self.by_path.iter().position(|(path, _)| *path == heard.path);
        self.heard.push(heard);
        if let Some(key) = status {
            let act = self.status_script.pop_front();
            return (act.unwrap_or(Act::refuses(Then::Id)), self.became(&key));
        }
        let act = match own {
            Some(at) => self.by_path.remove(at).1,
            None => self.script.pop_front().unwrap_or(usual(Then::Id)),
        };
        let body = if act.commits { self.commit(key) } else { "{}".to_owned() };
        (act, body)
    }

    fn commit(&mut self, key: Option<String>) -> String {
        let earlier = key.as_ref().and_then(|key| self.place(key));
        let place = match (self.keys, earlier) {
            (Keys::Enforced, Some(place)) => place,
            (Keys::Enforced | Keys::Ignored, _) => {
                self.effects.push(key);
                self.effects.len()
            }
        };
        format!("{{\"id\":\"effect-{place}\"}}")
    }

    fn became(&self, key: &str) -> String {
        match self.place(key) {
            Some(place) => format!("{{\"state\":\"done\",\"id\":\"effect-{place}\"}}"),
            None => "{\"state\":\"none\"}".to_owned(),
        }
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.effects.iter().position(|known| known.as_deref() == Some(key)).map(|at| at + 1)
    }
}

#[cfg(test)]
mod tests;
