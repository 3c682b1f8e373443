//! MCP connection: one handshake, shared by many calls; dropping it ends the server's program.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Abilities, BackendNews};
use haft_model::{CauseDetail, Code, Plan, Stop};
use haft_sandbox::{ConfinedProgram, Custody, ExitKind, Intrusion, Running, Walls};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, JsonObject, ServerPeerInfo, SubscriptionFilter, TASKS_EXTENSION_ID,
};
use serde_json::{Map, Value, json};
use tokio::sync::{RwLock, broadcast};
use tokio::task::AbortHandle;

use super::client::McpClient;
use super::client_handler::ClientHandler;
use super::era::{self, Era, HandshakeOrder, ServerEra};
use super::fault::RequestFault;
use super::handshake::HandshakeFault;
use super::http_transport::HttpTransport;
use super::pool_key::asks_caller;
use super::stderr_capture::LastWords;
use super::stdio_transport::StdioTransport;
use super::tools::{Tools, Witness, one_line};
use crate::failure::{OUT_OF_MEMORY, not_started};

/// Grace period of a program between the closing of its stdin and the kill.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait for the exit status of a program that broke the connection.
const POST_MORTEM: Duration = Duration::from_millis(500);

/// Field of the request id in the native record.
const REQUEST_ID: &str = "request_id";

/// A connection to one server, with its tool list.
pub(super) struct Connection {
    client: Arc<McpClient>,
    about: ServerPeerInfo,
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

impl ConnectionKey<'_> {
    fn handler(&self) -> ClientHandler {
        ClientHandler::new(self.abilities, self.news.clone())
    }

    /// Whether the server may ask a client that holds a session.
    fn in_session(&self) -> bool {
        self.abilities.in_session && asks_caller(self.abilities)
    }

    fn order(&self) -> HandshakeOrder {
        era::handshake_order(self.known.get(), self.version, self.in_session())
    }
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
    /// Starts a program and connects over stdio. A program that ends during the first handshake is
    /// started once more with the other one.
    pub(super) async fn start(
        confined: ConfinedProgram,
        walls: &Walls,
        wanted: &ConnectionKey<'_>,
    ) -> Result<Connection, Stop> {
        let order = wanted.order();
        match (
            Connection::started(confined.clone(), walls, wanted, order).await,
            order.after_exit(),
        ) {
            (Err(Unmet::Silent(_)), Some(other)) => {
                Ok(Connection::started(confined, walls, wanted, other).await?)
            }
            (started, _) => Ok(started?),
        }
    }

    async fn started(
        confined: ConfinedProgram,
        walls: &Walls,
        wanted: &ConnectionKey<'_>,
        order: HandshakeOrder,
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
        let stdin = StdioTransport::new(stdin);
        let client = McpClient::of_program(stdin, said, words.clone(), wanted.handler());
        match greet(client, wanted, order).await {
            Ok(mut connection) => {
                (connection.process, connection.words) = (Some(running), words);
                connection.custody = custody;
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

    /// Connects to a remote server.
    pub(super) async fn reach(
        http: HttpTransport,
        wanted: &ConnectionKey<'_>,
    ) -> Result<Connection, Stop> {
        let client = McpClient::of_server(http, wanted.handler());
        Ok(greet(client, wanted, wanted.order()).await?)
    }

    pub(super) fn client(&self) -> &McpClient {
        &self.client
    }

    pub(super) fn about(&self) -> &ServerPeerInfo {
        &self.about
    }

    pub(super) fn handler(&self) -> &ClientHandler {
        self.client.handler()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.client.is_closed()
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
    pub(super) fn native(&self, request: i64) -> Value {
        let mut native = self.native.clone();
        if let Some(id) = native.get_mut(REQUEST_ID) {
            *id = Value::String(request.to_string());
        }
        native
    }

    /// Checks a call against the tool list, and refreshes a list that changed or expired. Returns
    /// the headers that repeat its arguments.
    pub(super) async fn check(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        plan: &Plan,
        witness: &Witness,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, Stop> {
        let known = self.tools.read().await;
        if !self.handler().take_changed() && !known.is_stale() {
            return known.check(tool, arguments, plan, witness);
        }
        drop(known);
        // Boxed, because a refresh is rare and would enlarge the future of each call.
        let fresh = Box::pin(Tools::of(&self.client)).await;
        let fresh = fresh.inspect_err(|_| self.handler().tools_changed())?;
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
        let mut wish = SubscriptionFilter::default();
        wish.tools_list_changed = Some(true);
        let client = self.client.clone();
        let listening = tokio::spawn(async move { client.listen(wish).await });
        self.listening = Some(listening.abort_handle());
    }
}

impl Drop for Connection {
    /// Closes the program's stdin, and kills the program after the grace period.
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        self.client.close();
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
async fn greet(
    client: McpClient,
    wanted: &ConnectionKey<'_>,
    order: HandshakeOrder,
) -> Result<Connection, Unmet> {
    client.handshake(order).await.map_err(|fault| unmet(fault, wanted))?;
    let about = client.about().cloned().ok_or_else(|| {
        Unmet::Refused(Stop::new(Code::OutputInvalid, "the server does not say who it is"))
    })?;
    let agreed = about.protocol_version.as_str();
    era::check(agreed, wanted.version, wanted.driver).map_err(Unmet::Refused)?;
    let tools = Tools::of(&client).await.map_err(Unmet::Refused)?;
    let era = Era::of(&about.protocol_version);
    // That a server follows the era of one client says nothing about the eras that it speaks.
    if era == Era::Modern || order != HandshakeOrder::InitializeThenDiscover {
        wanted.known.learn(Some(era));
    }
    let mut made = Connection {
        native: native(&about),
        with_tasks: with_tasks(client.handler(), &about),
        tools: RwLock::new(tools),
        words: LastWords::default(),
        process: None,
        custody: Custody::default(),
        listening: None,
        client: Arc::new(client),
        about,
    };
    made.listen();
    Ok(made)
}

fn with_tasks(handler: &ClientHandler, about: &ServerPeerInfo) -> Option<ClientCapabilities> {
    let known =
        Era::of(&about.protocol_version) == Era::Modern && about.capabilities.supports_tasks();
    known.then(|| {
        let mut able = handler.client().capabilities;
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

fn unmet(fault: HandshakeFault, wanted: &ConnectionKey<'_>) -> Unmet {
    let server = format!("the server of driver `{}`", wanted.driver);
    match fault {
        HandshakeFault::NoCommonVersion(theirs) => {
            let theirs: Vec<&str> = theirs.iter().map(|version| version.as_str()).collect();
            let words = format!("{server} speaks no version of MCP that Haft knows");
            let help = format!("it speaks {}", theirs.join(", "));
            Unmet::Refused(Stop::new(Code::SetupRequired, words).help(help))
        }
        HandshakeFault::Request(RequestFault::Refused(error)) => {
            let words = format!("{server} refuses to talk: {}", one_line(&error.message));
            Unmet::Refused(Stop::new(Code::DependencyUnavailable, words))
        }
        HandshakeFault::Request(fault) => match fault.meaning() {
            Some((stop, _)) => Unmet::Refused(stop),
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
