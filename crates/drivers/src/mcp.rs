//! MCP driver (AIP-32): calls the tools of a server that speaks the Model Context Protocol.
//!
//! The server is a confined program over stdio, which stays in the connection pool, or a remote
//! server over streamable HTTP. The contract governs each call: nothing that the server declares
//! about its tools loosens it. The ledger records the submission of a write before its first byte
//! is sent.

mod answer;
mod backend;
mod blocks;
mod call;
mod client;
mod client_handler;
mod connection;
mod contract_cache;
mod era;
mod fault;
mod handshake;
mod http_exchange;
mod http_transport;
mod in_flight;
mod login;
mod manifest;
mod message;
mod pool_key;
mod program;
mod request_headers;
mod secret_templates;
mod server_messages;
mod server_target;
mod sse;
mod stderr_capture;
mod stdio_transport;
mod tasks;
mod tools;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft_contract::DriverManifest;
use haft_driver::{
    Abilities, Attempt, Backend, BackendNews, BoxFuture, Driver, Failure, Output, Safe,
    TargetGuard, TargetKinds, Targets,
};
use haft_model::{Code, Plan, Stop, ToolKey};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

pub use login::{
    Before, LoginRequest, McpLogin, PendingAuthorization, RegisteredClient, is_elsewhere, log_in,
    opened,
};
pub use tools::{Sight, ToolStanding, Witness};

use crate::failure::{intruded, unsent, while_running};
use crate::pool::{FIRST_PAUSE, KeyedPool};
use crate::sandbox_opening::{SandboxOpening, looking};
use crate::watch::Watch;
use crate::web::{DnsLookup, look_up};
use crate::{DeclaredEntries, WorkingFolder, closed, targets};
use call::McpCall;
use connection::{Connection, ConnectionKey};
use contract_cache::ContractCache;
use era::ServerEra;
use manifest::{McpEntry, ServerLocation, ServerManifest};
use pool_key::ConnectionPoolKey;
use program::Program;
use server_target::{Inside, RemoteAddress, ServerTarget};

/// Capacity of the change feed, in notifications; a slow subscriber loses the oldest.
const MOST_NEWS: usize = 64;

/// Idle timeout: the pool evicts a connection without calls after this time.
const IDLE: Duration = Duration::from_secs(300);

type SharedManifest = Box<dyn FnOnce() -> Manifest + Send>;

/// A driver of kind mcp. It reads its manifest on first use, connects on the first call, and pools
/// the connection for calls with the same sandbox profile and credentials.
pub struct Mcp {
    manifest: LazyLock<Manifest, SharedManifest>,
    place: WorkingFolder,
    lookup: DnsLookup,
    witness: Witness,
    known: ServerEra,
    inside: ContractCache<Inside>,
    /// The address of a remote server; checked on first use, since it depends on the manifest alone.
    address: OnceLock<Result<Arc<RemoteAddress>, Stop>>,
    /// A remote server without secrets, which is the same for every call.
    public: OnceLock<ServerTarget>,
    kept: KeyedPool<ConnectionPoolKey, Connection>,
    /// Change notifications of its servers.
    news: broadcast::Sender<BackendNews>,
    /// Tasks that hold resource subscriptions, by resource URI.
    listening: Mutex<HashMap<String, AbortHandle>>,
}

struct Manifest {
    declared: DeclaredEntries,
    written: Result<ServerManifest, Stop>,
    /// Entries of the contracts that were called, parsed once each.
    entries: Mutex<HashMap<ToolKey, Arc<McpEntry>>>,
}

impl Mcp {
    /// Builds a driver over a manifest, which is read lazily.
    pub fn new(
        declared: impl FnOnce() -> DeclaredEntries + Send + 'static,
        place: WorkingFolder,
    ) -> Mcp {
        let read: SharedManifest = Box::new(move || {
            let declared = declared();
            let written = ServerManifest::read(&declared);
            let written =
                written.and_then(|written| server_target::sound(&written).map(|()| written));
            Manifest { written, declared, entries: Mutex::default() }
        });
        Mcp {
            manifest: LazyLock::new(read),
            place,
            lookup: look_up,
            witness: tools::forgetful(),
            known: ServerEra::default(),
            inside: ContractCache::default(),
            address: OnceLock::new(),
            public: OnceLock::new(),
            kept: KeyedPool::new(IDLE),
            news: broadcast::channel(MOST_NEWS).0,
            listening: Mutex::default(),
        }
    }

    /// Sets the witness that pins the server's tools to the digests that were accepted.
    pub fn witnessed_by(self, witness: Witness) -> Mcp {
        Mcp { witness, ..self }
    }

    /// Replaces the system's DNS lookup. The address guard checks the addresses all the same.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Mcp {
        Mcp { lookup, ..self }
    }

    fn written(&self) -> Result<&ServerManifest, Stop> {
        self.manifest.written.as_ref().map_err(Stop::clone)
    }

    fn entry(&self, plan: &Plan) -> Result<Arc<McpEntry>, Stop> {
        self.written()?;
        let mut known = self.manifest.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.get(&plan.tool) {
            return Ok(entry.clone());
        }
        let entry = Arc::new(McpEntry::of(&self.manifest.declared, plan)?);
        known.insert(plan.tool.clone(), entry.clone());
        Ok(entry)
    }

    /// The entry for a call; refuses a remote server that the egress allowlist does not cover.
    fn looked_at(&self, plan: &Plan) -> Result<Arc<McpEntry>, Stop> {
        let entry = self.entry(plan)?;
        if let ServerLocation::Remote { .. } = self.written()?.server {
            self.address()?.check(plan)?;
        }
        Ok(entry)
    }

    fn address(&self) -> Result<&Arc<RemoteAddress>, Stop> {
        let address = || RemoteAddress::new(self.written()?, &self.place).map(Arc::new);
        self.address.get_or_init(address).as_ref().map_err(Stop::clone)
    }

    /// The targets of a call: its server, and the files that its input names.
    fn touched(&self, plan: &Plan, kinds: TargetKinds) -> Result<Targets, Stop> {
        let written = self.written()?;
        let manifest = self.manifest.declared.manifest()?;
        let (root, mut told) = targets::of_call(plan, kinds, manifest, &self.place);
        let Some(root) = root else { return Ok(told) };
        if let ServerLocation::Remote { .. } = written.server {
            if kinds.urls {
                told.backend.urls.push(self.address()?.url.as_str().to_owned());
            }
        } else if kinds.commands {
            let argv = Program::of(written, &root, &self.place)?.argv();
            told.backend.commands.push(targets::kept(&argv, &written.id, &self.place, &root));
        }
        Ok(told)
    }

    /// Refuses a call whose targets changed since authorization, or are closed to it.
    fn check(&self, plan: &Plan, guard: &TargetGuard) -> Result<(), Stop> {
        if guard.is_empty() {
            return Ok(());
        }
        let kinds = TargetKinds { paths: guard.watches_paths(), ..TargetKinds::ALL };
        targets::check(&self.touched(plan, kinds)?, guard)
    }

    /// A pooled connection for a call, with its key; one that broke while idle is replaced.
    async fn connection(
        &self,
        attempt: &Attempt<'_>,
    ) -> Result<(ConnectionPoolKey, Arc<Connection>), Failure> {
        let (plan, guard) = (attempt.plan, &attempt.guard);
        self.check(plan, guard).map_err(stopped)?;
        let inside = || {
            let closed = closed::described(guard);
            self.inside.get(plan, closed, || {
                let opening =
                    SandboxOpening::of(self.manifest.declared.manifest()?, plan, &self.place)?;
                Inside::new(self.written()?, &opening, &self.place, guard)
            })
        };
        let meant = self.meant(inside, Some(&attempt.safe)).await?;
        let key = ConnectionPoolKey::new(&meant, &plan.actor, &attempt.abilities);
        // Boxed, because connecting is rare and would enlarge the future of each call.
        let connect = || Box::pin(self.connect(&meant, &attempt.abilities));
        let mut made = self.kept.get(&key, connect).await.map_err(stopped)?;
        if made.is_broken() {
            self.kept.broke(&key, &made).await;
            tokio::time::sleep(FIRST_PAUSE).await;
            made = self.kept.get(&key, connect).await.map_err(stopped)?;
        }
        if made.is_stale() {
            self.retire(&key, made).await?;
            made = self.kept.get(&key, connect).await.map_err(stopped)?;
        }
        Ok((key, made))
    }

    /// Retires a program that lost a read-only mount; it ends at the latest with the last call that
    /// uses it. A change that it made to governing files meanwhile is a sandbox violation.
    async fn retire(&self, key: &ConnectionPoolKey, stale: Arc<Connection>) -> Result<(), Failure> {
        self.kept.let_go(key, &stale).await;
        let mut intrusions = stale.inspect().await;
        if let Some(own) = Arc::into_inner(stale) {
            intrusions.extend(own.retire().await);
        }
        match intruded(&intrusions, &self.place.root) {
            Some(stop) => Err(unsent(stop)),
            None => Ok(()),
        }
    }

    /// Resolves the server's transport and credentials for a call with this sandbox profile.
    async fn meant(
        &self,
        inside: impl FnOnce() -> Result<Arc<Inside>, Stop>,
        safe: Option<&Safe<'_>>,
    ) -> Result<ServerTarget, Failure> {
        let written = self.written().map_err(stopped)?;
        match written.server {
            ServerLocation::Remote { .. } => {
                if let Some(public) = self.public.get() {
                    return Ok(public.clone());
                }
                let address = self.address().map_err(stopped)?.clone();
                let target = ServerTarget::remote(written, address, safe).await?;
                if !target.personal {
                    let _ = self.public.set(target.clone());
                }
                Ok(target)
            }
            ServerLocation::Binary { .. }
            | ServerLocation::Npm { .. }
            | ServerLocation::Docker { .. } => {
                ServerTarget::program(written, inside().map_err(stopped)?, safe).await
            }
        }
    }

    async fn connect(
        &self,
        meant: &ServerTarget,
        abilities: &Abilities,
    ) -> Result<Connection, Stop> {
        let written = self.written()?;
        let (driver, version) = (written.id.as_str(), written.protocol_version.as_deref());
        let (known, news) = (&self.known, &self.news);
        let wanted = ConnectionKey { driver, version, known, abilities, news };
        let connecting = meant.connect(&self.place, self.lookup, &wanted);
        let patience = written.patience();
        tokio::time::timeout(patience, connecting).await.unwrap_or_else(|_| {
            let words = format!(
                "the server of driver `{driver}` cannot be talked with after {} ms",
                patience.as_millis()
            );
            Err(Stop::new(Code::DependencyUnavailable, words))
        })
    }
}

impl Driver for Mcp {
    fn is_connecting(&self) -> bool {
        self.kept.is_only_making()
    }

    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        self.looked_at(plan).map(drop)
    }

    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        self.touched(plan, kinds).unwrap_or_default()
    }

    fn backend(&self) -> Option<&dyn Backend> {
        Some(self)
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        plan.effects.may_mutate()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            Watch::of(&attempt).check().map_err(unsent)?;
            let entry = self.looked_at(attempt.plan).map_err(stopped)?;
            McpCall::new(self, entry, &attempt).carry_out().await
        })
    }
}

fn stopped(stop: Stop) -> Failure {
    unsent(while_running(stop))
}

/// What some client of ours may declare. Servers list tools only for clients that have what the tools
/// need, so an import that declared less would not see them.
fn every_ability() -> Abilities {
    let told = json!({
        "elicitation": { "form": {}, "url": {} },
        "sampling": { "tools": {}, "context": {} },
        "roots": { "listChanged": true },
    });
    Abilities { told, ..Abilities::default() }
}

/// Lists a server's tools for the import of a manifest, of which only what says where the server is
/// and what it may touch counts. The answer holds `tools`,
/// `serverInfo`, `protocolVersion` and `instructions`.
pub async fn list(
    manifest: DriverManifest,
    place: WorkingFolder,
    timeout: Duration,
) -> Result<Value, Stop> {
    let declared = DeclaredEntries { manifest: Ok(manifest), serves: Vec::new() };
    let mcp = Mcp::new(move || declared, place);
    let listing = async {
        let written = mcp.written()?;
        let effects = looking(written.egress());
        let inside = || {
            let manifest = mcp.manifest.declared.manifest()?;
            let opening = SandboxOpening::within(manifest, &effects, &mcp.place)?;
            Inside::new(written, &opening, &mcp.place, &TargetGuard::default()).map(Arc::new)
        };
        let meant = mcp.meant(inside, None).await.map_err(|failure| failure.stop)?;
        let connection = mcp.connect(&meant, &every_ability()).await?;
        let (tools, _) = tools::all(connection.client()).await?;
        let about = connection.about();
        Ok(json!({
            "tools": tools,
            "serverInfo": about.server_info,
            "protocolVersion": about.protocol_version.as_str(),
            "instructions": about.instructions,
        }))
    };
    tokio::time::timeout(timeout, listing).await.unwrap_or_else(|_| {
        Err(Stop::new(Code::DependencyUnavailable, "the server did not list its tools in time"))
    })
}
