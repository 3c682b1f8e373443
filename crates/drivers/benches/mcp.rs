//! Benchmark of the mcp driver: its overhead over the bare MCP client library.
//!
//! `cargo bench -p haft-drivers --bench mcp` calls the same server, confined in the same way, in
//! turns through the driver and through a bare client, and prints the calls per second of each and
//! their ratio. Both have a timeout.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

#[path = "../tests/support/plans.rs"]
mod plans;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{Attempt, Cancel, Driver as _, Link};
use haft_drivers::{DeclaredEntries, Mcp, WorkingFolder};
use haft_model::{DriverKind, Plan, ToolKey, Tri};
use haft_policy::Permit;
use haft_sandbox::{Access, AddressGuard, ConfinedProgram, Launcher, MountedPath, Walls};
use haft_testkit::Folder;
use rmcp::RoleClient;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RunningService, ServiceExt as _};
use serde_json::json;

/// The binary's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SERVER: &str = env!("CARGO_BIN_EXE_haft-test-mcp");

/// Timeout of a call.
const PATIENCE: Duration = Duration::from_secs(30);

/// Calls per round, and rounds per client.
const CALLS: usize = 2_000;
const ROUNDS: usize = 7;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        for callers in [1, 8] {
            let (driver, bare) = (ours(), theirs().await);
            compare(callers, driver, bare).await;
        }
    });
}

/// The driver, and the parts of a call.
struct Ours {
    mcp: Mcp,
    plan: Plan,
    permit: Permit,
    _folder: Folder,
}

fn ours() -> Arc<Ours> {
    let folder = Folder::new();
    let manifest = json!({
        "id": "bench", "kind": "mcp", "server": {"kind": "binary", "path": SERVER}, "transport": "stdio",
        "implements": [{"tool": "echo", "version": "^1", "metadata": {"mcp": {"tool_name": "echo"}}}],
    });
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: walls(),
        guard: AddressGuard::public(),
        variable: |_| None,
        secrets: Default::default(),
    };
    let serves = vec![(ToolKey::new("echo", 1), 0)];
    let manifest = DriverManifest::from_json(DriverKind::Mcp, &manifest);
    let mcp = Mcp::new(move || DeclaredEntries { manifest, serves }, place);
    let mut plan = plans::plan("echo", "bench", json!({"text": "hello"}));
    Arc::make_mut(&mut plan.effects).facts.read_only = Tri::Yes;
    let permit = plans::permit(&plan);
    Arc::new(Ours { mcp, plan, permit, _folder: folder })
}

impl Ours {
    async fn call(&self) {
        let (link, _heard) = Link::new();
        let deadline = Instant::now() + PATIENCE;
        let attempt = Attempt::new(&self.permit, &self.plan, 1, deadline, Cancel::new(), link);
        self.mcp.run(attempt.unwrap()).await.unwrap();
    }
}

fn walls() -> Walls {
    Walls::By(Launcher::at(SERVER))
}

/// The bare client library, over the same kind of process.
async fn theirs() -> Arc<RunningService<RoleClient, ()>> {
    let folder = Folder::new();
    let shown = |path: &Path| MountedPath { path: path.to_owned(), access: Access::Read };
    let confined = ConfinedProgram {
        program: SERVER.into(),
        shown: vec![shown(Path::new(SERVER)), shown(folder.path())],
        cwd: folder.path().to_owned(),
        ..ConfinedProgram::default()
    };
    let mut running = confined.start(&walls()).unwrap();
    let ends = (std::mem::take(&mut running.stdout), running.stdin.take().unwrap());
    let service = ().serve(ends).await.unwrap();
    // The process runs until the benchmark ends.
    std::mem::forget((running, folder));
    Arc::new(service)
}

async fn compare(callers: usize, ours: Arc<Ours>, theirs: Arc<RunningService<RoleClient, ()>>) {
    ours.call().await;
    let (mut mine, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let client = theirs.clone();
        bare.push(
            round(callers, move || {
                let client = client.clone();
                async move {
                    let text = json!({"text": "hello"}).as_object().cloned().unwrap();
                    let params = CallToolRequestParams::new("echo").with_arguments(text);
                    tokio::time::timeout(PATIENCE, client.call_tool(params))
                        .await
                        .unwrap()
                        .unwrap();
                }
            })
            .await,
        );
        let driver = ours.clone();
        mine.push(
            round(callers, move || {
                let driver = driver.clone();
                async move { driver.call().await }
            })
            .await,
        );
    }
    let (mine, bare) = (median(mine), median(bare));
    let rate = |time: Duration| CALLS as f64 / time.as_secs_f64();
    println!(
        "{callers} at a time: driver {:.0} calls/s, bare client {:.0} calls/s, ratio {:.2}",
        rate(mine),
        rate(bare),
        rate(mine) / rate(bare)
    );
}

async fn round<F: Future<Output = ()> + Send + 'static>(
    callers: usize,
    call: impl Fn() -> F + Send + Sync + Clone + 'static,
) -> Duration {
    let before = Instant::now();
    let callers = (0..callers).map(|_| {
        let call = call.clone();
        tokio::spawn(async move {
            for _ in 0..CALLS / callers {
                call().await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    before.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.into_iter().nth(ROUNDS / 2).unwrap_or_default()
}
