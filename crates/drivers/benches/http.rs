//! Benchmark of the http driver: its overhead over the bare HTTP client.
//!
//! `cargo bench -p haft-drivers --bench http` sends requests to a local server over reused
//! connections, in turns through the bare client and through the driver, and prints times and,
//! because machines differ, ratios of the same run. It records nothing; the bench `call` measures
//! that.
//!
//! The bare client has the driver's settings, the same timeout and the same body limit.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a benchmark that cannot set itself up should stop"
)]

#[path = "../tests/support/plans.rs"]
mod plans;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{Attempt, Cancel, Driver as _, DriverMessage, Link};
use haft_drivers::{DeclaredEntries, Http};
use haft_model::{DriverKind, Plan, Timestamp, ToolKey, Tri};
use haft_policy::Permit;
use haft_sandbox::AddressGuard;
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// The binary's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Timeout of a request, and most bytes of its response.
const PATIENCE: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 5 * 1024 * 1024;

/// Requests per round, and rounds per client. Rounds are short, so that other load on the machine
/// affects both.
const REQUESTS: usize = 50;
const ROUNDS: usize = 600;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n\
                      {\"id\":\"o-1\",\"state\":\"done\"}";

/// How many connections the server accepted.
static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let host = serve();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    // Calls are tasks, as they are in the host.
    let compared = runtime.spawn(async move {
        compare("read", Method::GET, &host).await;
        compare("write", Method::POST, &host).await;
    });
    runtime.block_on(compared).expect("both");
}

/// Starts a server that answers every request of a connection at once, and returns its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            CONNECTIONS.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || while answer(&stream).is_some() {});
        }
    });
    host
}

/// Reads one request, whose body ends with its only closing brace, and answers it.
fn answer(mut stream: &TcpStream) -> Option<()> {
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        heard.extend_from_slice(piece.get(..read)?);
        let whole = match heard.starts_with(b"GET") {
            true => heard.ends_with(b"\r\n\r\n"),
            false => heard.ends_with(b"}"),
        };
        if whole {
            return stream.write_all(ANSWER.as_bytes()).ok();
        }
    }
}

/// The driver, one call, and its permit.
struct Call {
    driver: Http,
    plan: Plan,
    permit: Permit,
}

impl Call {
    fn new(method: &Method, host: &str) -> Call {
        let manifest = json!({
            "id": "shop", "base_url": format!("http://{host}"), "network": {"egress": [host]},
            "implements": [{"metadata": {"http": {
                "endpoint": "/orders/${input.order}", "method": method.as_str(),
                "query_template": {"n": "${input.n}"},
            }}}],
        });
        let serves = vec![(ToolKey::new("shop.order", 1), 0)];
        let manifest = DriverManifest::from_json(DriverKind::Http, &manifest);
        let declared = move || DeclaredEntries { manifest, serves };
        let driver = Http::new(declared, AddressGuard::public(), Timestamp::now);
        let mut plan = plans::plan("shop.order", "shop", json!({"order": "o-1", "n": 7}));
        let effects = Arc::make_mut(&mut plan.effects);
        effects.requires.network = [host.to_owned()].into();
        effects.facts.read_only = if *method == Method::GET { Tri::Yes } else { Tri::No };
        let permit = plans::permit(&plan);
        Call { driver, plan, permit }
    }

    async fn make(&self) {
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + PATIENCE;
        let attempt =
            Attempt::new(&self.permit, &self.plan, 1, deadline, Cancel::new(), link).expect("one");
        let mut run = self.driver.run(attempt);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut run => break result,
                said = heard.next() => if let DriverMessage::Submit(answer) = said {
                    let _ = answer.send(Ok(haft_driver::Clearance::default()));
                },
            }
        };
        assert!(result.expect("an answer").structured.is_some());
    }
}

/// The bare client, with the driver's settings.
fn bare() -> Client {
    let follow_nothing = reqwest::redirect::Policy::none();
    let builder = Client::builder().no_proxy().redirect(follow_nothing).referer(false);
    builder.retry(reqwest::retry::never()).user_agent("haft").build().expect("a client")
}

/// Sends the same request through the bare client.
async fn plain(client: &Client, method: &Method, host: &str) {
    let url = format!("http://{host}/orders/o-1?n=7");
    let mut request = client.request(method.clone(), url).timeout(PATIENCE);
    request = request.header("accept", "application/json");
    if *method == Method::POST {
        let body = json!({"order": "o-1", "n": 7}).to_string();
        request = request.header("content-type", "application/json").body(body);
    }
    let mut answer = request.send().await.expect("an answer");
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.expect("a body") {
        body.extend_from_slice(&piece);
        assert!(body.len() <= MOST_BYTES);
    }
    let value: Value = serde_json::from_slice(&body).expect("a value");
    assert!(value.get("id").is_some());
}

async fn compare(what: &str, method: Method, host: &str) {
    let client = bare();
    let call = Call::new(&method, host);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let began = Instant::now();
        for _ in 0..REQUESTS {
            plain(&client, &method, host).await;
        }
        let half = Instant::now();
        for _ in 0..REQUESTS {
            call.make().await;
        }
        // The first round warms up.
        if round > 0 {
            bare.push(half.duration_since(began));
            ours.push(half.elapsed());
        }
    }
    let (bare, ours) = (median(bare), median(ours));
    let connections = CONNECTIONS.swap(0, Ordering::Relaxed);
    println!(
        "{what}: {bare:.1} µs by the client alone, {ours:.1} µs by the driver, {:.2} of its rate, \
         over {connections} connections",
        bare / ours
    );
}

/// The median of all rounds, in microseconds per request.
fn median(mut rounds: Vec<Duration>) -> f64 {
    rounds.sort();
    let middle = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e6 / REQUESTS as f64
}
