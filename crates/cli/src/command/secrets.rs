//! `haft secrets`: stores values for tools. They go in and are never printed.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, Result};
use haft::{Host, SecretState, StoreChoice};
use haft_model::{ActorId, Code, Secret, Stop, Timestamp};
use serde_json::{Value, json};

use crate::arguments::Misuse;
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::who::As;
use crate::{Context, command, prompt};

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Keep the value of a secret.
    Set(SetArguments),
    /// List the secrets, and who has a value of each.
    List,
    /// Forget the value of a secret.
    Rm(Which),
}

#[derive(clap::Args)]
pub(crate) struct SetArguments {
    #[command(flatten)]
    which: Which,
    /// Take the value from standard input instead of asking for it.
    #[arg(long)]
    stdin: bool,
}

#[derive(clap::Args)]
pub(crate) struct Which {
    /// The secret, as a SECRETS.md lists it.
    slug: String,
    /// Whose value it is, such as `user:ana`; everybody's unless named.
    #[arg(long = "for", value_name = "ACTOR")]
    holder: Option<String>,
    #[command(flatten)]
    by: As,
}

impl Which {
    fn holder(&self) -> Result<Option<ActorId>, Misuse> {
        let Some(named) = &self.holder else { return Ok(None) };
        match named.split_once(':') {
            Some(("user" | "agent", name)) if !name.is_empty() => {
                Ok(Some(ActorId::from(named.as_str())))
            }
            _ => Err(Misuse(format!("`{named}` is no actor; write `user:NAME` or `agent:NAME`"))),
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments {
        Arguments::Set(arguments) => set(context, arguments).await,
        Arguments::List => list(context),
        Arguments::Rm(which) => remove(context, which).await,
    }
}

async fn set(context: &Context, SetArguments { which, stdin }: SetArguments) -> Result<Exit> {
    let holder = which.holder()?;
    let host = command::open(context, StoreChoice::Settings)?;
    let by = which.by.actor(context, &host);
    // Check the name first, so that no person types a value that is then refused.
    let slug = match host.changeable_secret(&by, &which.slug, holder.as_ref()) {
        Ok(slug) => slug,
        Err(stop) => return output::stop(&stop, context.json),
    };
    let Some(value) = value(&slug, stdin)? else {
        let stop = Stop::new(Code::CanceledCaller, "nothing was typed, so nothing was changed");
        return output::stop(&stop, context.json);
    };
    let kept = host.keep_secret(&by, &slug, holder.as_ref(), value).await;
    changed(context, kept, holder.as_ref(), "set")
}

/// The value: typed by the person at the terminal, or given on standard input.
fn value(slug: &str, stdin: bool) -> Result<Option<Secret>> {
    match (stdin, io::stdin().is_terminal()) {
        (true, _) => Ok(Some(prompt::given().context("the value cannot be read")?)),
        (false, true) => {
            prompt::ask_hidden(&format!("value of {slug}: ")).context("the value cannot be read")
        }
        (false, false) => {
            let words =
                "there is no terminal to ask at; give the value on standard input with `--stdin`";
            Err(Misuse(words.to_owned()).into())
        }
    }
}

async fn remove(context: &Context, which: Which) -> Result<Exit> {
    let holder = which.holder()?;
    let host = command::open(context, StoreChoice::Settings)?;
    let by = which.by.actor(context, &host);
    let gone = host.forget_secret(&by, &which.slug, holder.as_ref()).await;
    changed(context, gone, holder.as_ref(), "removed")
}

fn changed(
    context: &Context,
    outcome: Result<String, Stop>,
    holder: Option<&ActorId>,
    what: &str,
) -> Result<Exit> {
    let slug = match outcome {
        Ok(slug) => slug,
        Err(stop) => return output::stop(&stop, context.json),
    };
    if context.json {
        output::json(&json!({ "slug": slug, "for": holder, "done": what }))?;
    } else {
        let whose = holder.map(|holder| format!(" for {holder}")).unwrap_or_default();
        output::line(format!("{what} {slug}{whose}"))?;
    }
    Ok(Exit::Done)
}

fn list(context: &Context) -> Result<Exit> {
    let host: Host = command::open(context, StoreChoice::IfPresent)?;
    let secrets = match host.secrets() {
        Ok(secrets) => secrets,
        Err(stop) => return output::stop(&stop, context.json),
    };
    if context.json {
        let all: Vec<Value> = secrets.iter().map(record).collect();
        output::json(&json!({ "secrets": all }))?;
        return Ok(Exit::Done);
    }
    if secrets.is_empty() {
        output::line("no SECRETS.md lists a secret")?;
        return Ok(Exit::Done);
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["SECRET", "VALUE", "KEPT", "TOOLS", "DRIVERS"]);
    for secret in &secrets {
        table.row(vec![
            secret.slug.clone(),
            held(secret, now),
            secret.backend.clone(),
            or_dash(&secret.tools),
            or_dash(&secret.drivers),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}

fn record(secret: &SecretState) -> Value {
    json!({
        "slug": secret.slug,
        "backend": secret.backend,
        "per": if secret.per_actor { "actor" } else { "workspace" },
        "shared": secret.shared,
        "actors": secret.actors,
        "tools": secret.tools,
        "drivers": secret.drivers,
    })
}

/// The holders of a value, in words.
fn held(secret: &SecretState, now: Timestamp) -> String {
    let shared = secret.shared.map(|since| ("everybody", since));
    let actors = secret.actors.iter().map(|(who, since)| (who.as_str(), *since));
    let all: Vec<String> = shared
        .into_iter()
        .chain(actors)
        .map(|(who, since)| format!("{who} ({})", output::ago(since, now)))
        .collect();
    match (secret.backend.as_str(), all.is_empty()) {
        (_, false) => all.join(", "),
        ("haft", true) if secret.per_actor => "not set; each actor needs their own".to_owned(),
        ("haft", true) => "not set".to_owned(),
        (_, true) => "not looked".to_owned(),
    }
}

fn or_dash(names: &[String]) -> String {
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
