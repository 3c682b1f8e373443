//! `haft serve`: serves MCP, REST and A2A from one process.

mod clients;
mod living;
mod room;

use std::sync::Arc;

use anyhow::{Result, anyhow};
use haft::{GoverningStanding, Host, StoreChoice};
use haft_contract::settings::{self, Sandbox};
use haft_driver::BoxFuture;
use haft_model::{Code, Stop};
use haft_server::{AppState, ClientLimits, Entrance, HttpServer, OAuth};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, command, interrupt, output, telling};
use clients::ClientSnippet;

/// The most that a document of an authorization server takes.
const LARGEST_DOCUMENT: usize = 1024 * 1024;

/// The recovery interval: a call whose outcome was open is resolved once it can no longer take
/// effect.
const RECOVERY_PAUSE: std::time::Duration = std::time::Duration::from_secs(10);

/// How many errors are shown at the start.
const MOST_ERRORS: usize = 10;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// `host:port`; what haft.toml says where none is given.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Speak MCP on standard input and output instead.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = Arc::new(command::open(context, StoreChoice::Settings)?);
    if let Some(refusal) = unaccepted(&host.workspace().governing_standing()) {
        return output::stop(&refusal, context.json);
    }
    // Recovery of calls that a dead process left runs while the server already accepts callers.
    let runtime = host.shared_runtime();
    tokio::spawn(async move {
        loop {
            // A call that cannot be resolved now is retried at the next interval.
            let _ = runtime.recover().await;
            tokio::time::sleep(RECOVERY_PAUSE).await;
        }
    });
    let spans = telling::begin(&host);
    let desk = AppState::new(host.shared_runtime())?;
    let desk = Arc::new(match &spans {
        Some(spans) => desk.telling(spans.exported()),
        None => desk,
    });
    living::watch(&host);
    living::look_at_backends(&host);
    living::tell_of_store(&host);
    if arguments.stdio {
        let stranger = host.runtime().world().people.stranger();
        haft_server::stdio(desk, stranger).await.map_err(|fault| anyhow!(fault))?;
        let left = host.stop(ClientLimits::default().patience).await;
        telling::end(&host, spans).await;
        return ended(&host, left).await;
    }
    let written = host.workspace().settings().server.clone();
    let clients_log_in = written.oauth.is_some();
    let mut limits = ClientLimits::default();
    limits.connections = room::for_connections(limits.connections);
    limits.sessions.most = written.max_sessions;
    limits.sessions.per_actor = written.max_sessions_per_actor;
    let entrance = Entrance {
        hosts: written.hosts.into_iter().collect(),
        oauth: written.oauth.map(oauth),
        limits,
    };
    let listen = arguments.listen.unwrap_or(written.listen);
    let server = HttpServer::open(desk, &listen, entrance).await?;
    let stop = interrupt::listen_as_service();
    begun(context, &host, &server, clients_log_in)?;
    let left = server.run(stop).await;
    telling::end(&host, spans).await;
    ended(&host, left).await
}

/// Why a server does not start under the current governing files. A person at the terminal sees the
/// files and may run under them at once; callers of a server do not, so it runs under accepted
/// files, or tighter ones.
fn unaccepted(standing: &GoverningStanding) -> Option<Stop> {
    let help = "look at the change, then `haft accept --settings`";
    match standing {
        GoverningStanding::Accepted => None,
        GoverningStanding::Unrecorded => {
            warn("haft.lock does not hold what governs yet; `haft accept --settings` adds it");
            None
        }
        GoverningStanding::Tighter(files) => {
            let files = files.join(", ");
            warn(&format!(
                "{files}: stricter than was accepted; `haft accept --settings` records it"
            ));
            None
        }
        GoverningStanding::Looser(files, ways) => {
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            let said = if ways.is_empty() { files.join(", ") } else { ways.join("; ") };
            let message = format!("what governs calls is other than was accepted: {said}");
            Some(Stop::new(Code::PolicyBlocked, message).help(help))
        }
    }
}

fn warn(words: &str) {
    output::remark(format!("\x1b[1;33mwarning\x1b[0m: {words}"));
}

/// Converts `[server.oauth]` for the server.
fn oauth(written: settings::OAuth) -> OAuth {
    let settings::OAuth { issuer, audience, roles } = written;
    let fetch = |place: String| -> BoxFuture<'static, _> {
        Box::pin(async move {
            haft::download(&place, LARGEST_DOCUMENT).await.map_err(|stop| stop.message)
        })
    };
    OAuth { issuer, audience, roles, fetch: Arc::new(fetch) }
}

/// Says where we are, what there is, what is wrong, and how to point a client at us.
fn begun(context: &Context, host: &Host, server: &HttpServer, clients_log_in: bool) -> Result<()> {
    let mut address = server.address();
    if address.ip().is_unspecified() {
        address.set_ip(match address.is_ipv4() {
            true => std::net::Ipv4Addr::LOCALHOST.into(),
            false => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    let (mcp, rest) = (format!("http://{address}/mcp"), format!("http://{address}/v1"));
    let workspace = host.workspace();
    let (tools, drivers) = (workspace.snapshot().entries().count(), workspace.drivers().len());
    let notices = &host.runtime().world().notices;
    let of = |severity: &str| notices.iter().filter(|notice| notice.severity == severity).count();
    let (errors, warnings) = (of("error"), of("warning"));
    let confined = workspace.settings().workspace.sandbox == Sandbox::On;
    let client = ClientSnippet { url: &mcp, token: server.wants_token() && !clients_log_in };
    if context.json {
        return output::json_line(&json!({
            "mcp": mcp,
            "rest": rest,
            "tools": tools,
            "drivers": drivers,
            "errors": errors,
            "warnings": warnings,
            "sandbox": if confined { "on" } else { "off" },
            "token_required": server.wants_token(),
            "clients": client.told(),
        }));
    }
    output::remark(format!("MCP   {mcp}"));
    output::remark(format!("REST  {rest}"));
    let counted = output::counted;
    output::remark(format!("{}, {}", counted(tools, "tool"), counted(drivers, "driver")));
    if errors + warnings > 0 {
        living::shown(notices.iter().filter(|notice| notice.severity == "error").take(MOST_ERRORS));
        let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
        warn(&format!("{errors} and {warnings}; `haft check` shows them all"));
    }
    if !confined {
        warn("the sandbox is off: programs of drivers can do whatever you can");
    }
    output::remark(client.shown());
    Ok(())
}

/// Puts the rest on the disk, and says what is left.
async fn ended(host: &Host, left: usize) -> Result<Exit> {
    host.flush().await?;
    if left > 0 {
        output::remark(format!("{left} calls are still open; the next `haft serve` recovers them"));
    }
    Ok(Exit::Done)
}
