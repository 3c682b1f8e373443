//! MCP connection: one handshake, shared by many calls; dropping it ends the server's program.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Abilities, BackendNews};
use haft_model::{CauseDetail, Code, Plan, Stop};
use haft_sandbox::{ConfinedProgram, Custody, ExitKind, Intrusion, Running, Walls};
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, JsonObject, RequestMetaObject, ServerPeerInfo, SubscriptionFilter,
    TASKS_EXTENSION_ID,
};
use rmcp::service::{ClientInitializeError, ClientServiceExt as _, Peer, RunningService};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::sync::{RwLock, broadcast};
use tokio::task::AbortHandle;

use super::client_handler::Ear;
use super::direct::Direct;
use super::era::{self, Era, ServerEra};
use super::stderr_capture::LastWords;
use super::stdio::Stdio;
use super::tools::{Tools, Witness, one_line};
use super::wire::{CallTransport, Reports};
use crate::failure::{OUT_OF_MEMORY, not_started};

/// Grace period of a program between the closing of its stdin and the kill.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait for the exit status of a program that broke the connection.
const POST_MORTEM: Duration = Duration::from_millis(500);

/// Field of the request id in the native record.
const REQUEST_ID: &str = "request_id";

/// A connection to one server, with its tool list.
pub(super) struct Connection {
    service: RunningService<RoleClient, Arc<Ear>>,
    ear: Arc<Ear>,
    about: Arc<ServerPeerInfo>,
    /// The direct path past the MCP library; only for programs.
    direct: Option<Direct>,
    /// The `_meta` of every request; empty before protocol version 2026-07-28.
    meta: RequestMetaObject,
    /// Client capabilities with tasks; `None` where the server has none.
    with_tasks: Option<ClientCapabilities>,
    /// Template of the native record; each request sets its request id.
    native: Value,
    tools: RwLock<Tools>,
    words: LastWords,
    process: Option<Running>,
    /// Custody of the governing files while the program runs; empty for a remote server.
    custody: Custody,
    listening: Option<AbortHandle>,
}

/// The parameters of a new connection.
pub(super) struct ConnectionKey<'a> {
    pub(super) driver: &'a str,
    pub(super) version: Option<&'a str>,
    pub(super) known: &'a ServerEra,
    /// What the caller can be asked: elicitation, sampling and roots.
    pub(super) abilities: &'a Abilities,
    /// The change feed of the driver.
    pub(super) news: &'a broadcast::Sender<BackendNews>,
}

/// Why the handshake failed; only a silent server is retried, in the legacy era.
enum Unmet {
    Silent(Stop),
    Refused(Stop),
}

impl From<Unmet> for Stop {
    fn from(unmet: Unmet) -> Stop {
        match unmet {
            Unmet::Silent(stop) | Unmet::Refused(stop) => stop,
        }
    }
}

impl Connection {
    /// Starts a program and connects over stdio. A program that ends during the modern handshake is
    /// started once more with the legacy handshake.
    pub(super) async fn start(
        confined: ConfinedProgram,
        walls: &Walls,
        wanted: &ConnectionKey<'_>,
    ) -> Result<Connection, Stop> {
        match Connection::started(confined.clone(), walls, wanted, wanted.known.get()).await {
            Err(Unmet::Silent(_)) if wanted.known.get().is_none() => {
                Ok(Connection::started(confined, walls, wanted, Some(Era::Legacy)).await?)
            }
            other => Ok(other?),
        }
    }

    async fn started(
        confined: ConfinedProgram,
        walls: &Walls,
        wanted: &ConnectionKey<'_>,
        era: Option<Era>,
    ) -> Result<Connection, Unmet> {
        let refused = |why| Unmet::Refused(not_started(&why));
        let (confined, custody) = confined.guarded(walls).await.map_err(refused)?;
        let mut running = confined.start(walls).map_err(refused)?;
        let words = LastWords::default();
        let (said, complaints) =
            (std::mem::take(&mut running.stdout), std::mem::take(&mut running.stderr));
        let hearing = words.clone();
        tokio::spawn(async move { hearing.hear(complaints).await });
        let stdin = running.stdin.take().ok_or_else(|| {
            Unmet::Refused(Stop::new(Code::Internal, "the server was started without an input"))
        })?;
        let reports = Reports::default();
        let direct = Direct::new(stdin, reports.clone());
        let transport = Stdio::new(said, direct.clone(), words.clone());
        match greet(CallTransport::new(transport, reports), wanted, era).await {
            Ok(mut connection) => {
                (connection.process, connection.words) = (Some(running), words);
                (connection.direct, connection.custody) = (Some(direct), custody);
                Ok(connection)
            }
            Err(Unmet::Silent(stop)) => {
                let how = ended(&mut running).await.map_err(Unmet::Refused)?;
                let message = format!("{}{how}{}", stop.message, words.last());
                let cause = CauseDetail::StderrLines(words.all());
                Err(Unmet::Silent(Stop { message, ..stop }.because(cause)))
            }
            Err(refused) => Err(refused),
        }
    }

    /// Connects over a transport to a server that already runs.
    pub(super) async fn over<T>(
        transport: T,
        wanted: &ConnectionKey<'_>,
    ) -> Result<Connection, Stop>
    where
        T: Transport<RoleClient> + 'static,
    {
        let wire = CallTransport::new(transport, Reports::default());
        Ok(greet(wire, wanted, wanted.known.get()).await?)
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn about(&self) -> &ServerPeerInfo {
        &self.about
    }

    pub(super) fn ear(&self) -> &Arc<Ear> {
        &self.ear
    }

    pub(super) fn is_broken(&self) -> bool {
        self.peer().is_transport_closed() || self.direct.as_ref().is_some_and(Direct::is_over)
    }

    /// The direct path past the MCP library; `None` for a remote server.
    pub(super) fn direct(&self) -> Option<&Direct> {
        self.direct.as_ref()
    }

    /// The `_meta` of a request on the direct path, which the library does not fill in.
    pub(super) fn own_meta(&self) -> RequestMetaObject {
        self.meta.clone()
    }

    /// Client capabilities with tasks; `None` where the server has none.
    pub(super) fn with_tasks(&self) -> Option<&ClientCapabilities> {
        self.with_tasks.as_ref()
    }

    /// Whether the server is a local program over stdio.
    pub(super) fn is_program(&self) -> bool {
        self.process.is_some()
    }

    /// The governing files that the program created during a call; they were moved away.
    pub(super) async fn inspect(&self) -> Vec<Intrusion> {
        self.custody.inspect().await
    }

    /// Whether the program lost a read-only mount and must be replaced.
    pub(super) fn is_stale(&self) -> bool {
        self.custody.is_stale()
    }

    /// Kills the program and returns the governing files that it created.
    pub(super) async fn retire(mut self) -> Vec<Intrusion> {
        if let Some(mut process) = self.process.take() {
            process.stop();
            let _ = process.ended().await;
        }
        std::mem::take(&mut self.custody).conclude().await
    }

    /// The last line of stderr, or why we hung up, as the end of a sentence.
    pub(super) fn last_words(&self) -> String {
        self.words.last()
    }

    /// The native record of a request: server, protocol version and request id.
    pub(super) fn native(&self, request: String) -> Value {
        let mut native = self.native.clone();
        if let Some(id) = native.get_mut(REQUEST_ID) {
            *id = Value::String(request);
        }
        native
    }

    /// Checks a call against the tool list, and refreshes a list that changed or expired.
    pub(super) async fn check(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        plan: &Plan,
        witness: &Witness,
    ) -> Result<(), Stop> {
        let known = self.tools.read().await;
        if !self.ear.take_changed() && !known.is_stale() {
            return known.check(tool, arguments, plan, witness);
        }
        drop(known);
        // Boxed, because a refresh is rare and would enlarge the future of each call.
        let fresh = Box::pin(Tools::of(self.peer())).await;
        let fresh = fresh.inspect_err(|_| self.ear.tools_changed())?;
        let mut known = self.tools.write().await;
        *known = fresh;
        known.check(tool, arguments, plan, witness)
    }

    /// Subscribes to changes of the tool list, where the protocol does not send them unasked.
    fn listen(&mut self) {
        let tells = self.about.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if Era::of(&self.about.protocol_version) == Era::Legacy || tells != Some(true) {
            return;
        }
        let (peer, ear) = (self.peer().clone(), self.ear.clone());
        let listening = tokio::spawn(async move {
            let mut wish = SubscriptionFilter::default();
            wish.tools_list_changed = Some(true);
            let Ok(mut subscription) = peer.listen(wish).await else { return };
            while let Ok(Some(_)) = subscription.next().await {
                ear.tools_changed();
            }
        });
        self.listening = Some(listening.abort_handle());
    }
}

impl Drop for Connection {
    /// Closes the program's stdin, and kills the program after the grace period.
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        self.service.cancellation_token().cancel();
        let (Some(mut process), Ok(here)) =
            (self.process.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        // A task that is dropped with its runtime drops the process as well.
        here.spawn(async move {
            let _ = tokio::time::timeout(GRACE, process.ended()).await;
        });
    }
}

/// The handshake: negotiates the protocol version and lists the tools.
async fn greet<T>(
    wire: CallTransport<T>,
    wanted: &ConnectionKey<'_>,
    era: Option<Era>,
) -> Result<Connection, Unmet>
where
    T: Transport<RoleClient> + 'static,
{
    let ear = Arc::new(Ear::new(wanted.abilities, wanted.news.clone()));
    let beginning = era::beginning(era, wanted.version);
    let served = ear.clone().serve_with_lifecycle(wire, beginning).await;
    let service = served.map_err(|fault| unmet(&fault, wanted))?;
    let about = service.peer().peer_info().ok_or_else(|| {
        Unmet::Refused(Stop::new(Code::OutputInvalid, "the server does not say who it is"))
    })?;
    let agreed = about.protocol_version.as_str();
    era::check(agreed, wanted.version, wanted.driver).map_err(Unmet::Refused)?;
    let tools = Tools::of(service.peer()).await.map_err(Unmet::Refused)?;
    wanted.known.learn(Some(Era::of(&about.protocol_version)));
    let mut made = Connection {
        native: native(&about),
        meta: meta(&ear, &about),
        with_tasks: with_tasks(&ear, &about),
        tools: RwLock::new(tools),
        words: LastWords::default(),
        process: None,
        custody: Custody::default(),
        listening: None,
        direct: None,
        service,
        ear,
        about,
    };
    made.listen();
    Ok(made)
}

/// The `_meta` of every request where the protocol has no handshake; else empty.
fn meta(ear: &Ear, about: &ServerPeerInfo) -> RequestMetaObject {
    let mut meta = RequestMetaObject::default();
    if Era::of(&about.protocol_version) == Era::Modern {
        let own = ear.client();
        meta.set_protocol_version(about.protocol_version.clone());
        meta.set_client_info(own.client_info);
        meta.set_client_capabilities(own.capabilities);
    }
    meta
}

fn with_tasks(ear: &Ear, about: &ServerPeerInfo) -> Option<ClientCapabilities> {
    let known =
        Era::of(&about.protocol_version) == Era::Modern && about.capabilities.supports_tasks();
    known.then(|| {
        let mut able = ear.client().capabilities;
        let extensions = able.extensions.get_or_insert_default();
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        able
    })
}

fn native(about: &ServerPeerInfo) -> Value {
    let server = about.server_info.as_ref();
    json!({
        "source": "mcp",
        REQUEST_ID: null,
        "server": server.map(|server| json!({"name": server.name, "version": server.version})),
        "protocol_version": about.protocol_version.as_str(),
    })
}

fn unmet(fault: &ClientInitializeError, wanted: &ConnectionKey<'_>) -> Unmet {
    let server = format!("the server of driver `{}`", wanted.driver);
    match fault {
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<&str> =
                server_supported.iter().map(|version| version.as_str()).collect();
            let words = format!("{server} speaks no version of MCP that Haft knows");
            let help = format!("it speaks {}", theirs.join(", "));
            Unmet::Refused(Stop::new(Code::SetupRequired, words).help(help))
        }
        ClientInitializeError::JsonRpcError(error) => {
            let words = format!("{server} refuses to talk: {}", one_line(&error.message));
            Unmet::Refused(Stop::new(Code::DependencyUnavailable, words))
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. }
            if super::remote::refusal(fault).is_none() =>
        {
            unmet(fallback, wanted)
        }
        other => match super::remote::refusal(other) {
            Some(stop) => Unmet::Refused(stop),
            None => {
                let words = format!("{server} cannot be talked with");
                Unmet::Silent(Stop::new(Code::DependencyUnavailable, words))
            }
        },
    }
}

/// The exit status as part of a sentence; empty while the program runs.
async fn ended(running: &mut Running) -> Result<String, Stop> {
    Ok(match tokio::time::timeout(POST_MORTEM, running.ended()).await {
        Ok(Ok(ended)) => match ended.end {
            ExitKind::Exited(code) => format!(", it ended with code {code}"),
            ExitKind::Killed(signal) => format!(", it was ended by signal {signal}"),
            ExitKind::OutOfMemory => {
                let words = format!("the server was ended: {OUT_OF_MEMORY}");
                return Err(Stop::new(Code::SandboxViolation, words));
            }
            ExitKind::OutOfTime | ExitKind::CalledOff => String::new(),
        },
        Ok(Err(refused)) => return Err(not_started(&refused)),
        Err(_) => String::new(),
    })
}
