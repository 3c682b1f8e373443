//! `haft token`: access tokens by which callers on the network authenticate.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_model::{Actor, ActorId, Span, Stop, Timestamp, Token, TokenId, after, parse_duration};
use haft_runtime::TokenWish;
use serde_json::{Value, json};

use crate::arguments::Misuse;
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::who::As;
use crate::{Context, command};

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Make a token and print it, once.
    New(New),
    /// List the tokens that are in force, without their texts.
    List(List),
    /// Take a token back.
    Revoke(Revoke),
}

#[derive(clap::Args)]
pub(crate) struct New {
    /// Who shows it, such as `agent:coder`; haft.toml says what they may do.
    #[arg(value_name = "ID")]
    bearer: String,
    /// How long it is good, such as `30d`, `12h` or `P1Y`; until it is revoked unless given.
    #[arg(long, value_name = "DURATION")]
    expires: Option<String>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    #[command(flatten)]
    by: As,
}

#[derive(clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    by: As,
}

#[derive(clap::Args)]
pub(crate) struct Revoke {
    /// The token's id, or how it begins; `haft token list` shows it.
    #[arg(value_name = "TOKENID")]
    token: String,
    #[command(flatten)]
    by: As,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::Settings)?;
    let outcome = match arguments {
        Arguments::New(arguments) => {
            let now = Timestamp::now();
            let expires = arguments.expires.as_deref().map(|text| until(text, now)).transpose()?;
            let by = arguments.by.actor(context, &host);
            let actor = ActorId::from(arguments.bearer.as_str());
            let wish = TokenWish { actor, expires, label: arguments.label };
            issue(context, &host, wish, &by).await
        }
        Arguments::List(arguments) => {
            let by = arguments.by.actor(context, &host);
            host.runtime().tokens(&by).await.map(|found| list(context, &found))
        }
        Arguments::Revoke(arguments) => {
            let by = arguments.by.actor(context, &host);
            revoke(context, &host, &arguments.token, &by).await
        }
    };
    command::ended(outcome, context)
}

/// The moment that a duration from now ends.
fn until(text: &str, now: Timestamp) -> Result<Timestamp, Misuse> {
    let ended = duration(text).filter(|span| !span.is_zero()).and_then(|span| after(now, span));
    ended.ok_or_else(|| Misuse(format!("`{text}` is no duration; write `30d`, `12h` or `P1Y`")))
}

/// `30d` as people write it, or `P30D` as ISO 8601 does.
fn duration(text: &str) -> Option<Span> {
    let Some(unit) = text.chars().next_back().filter(|_| !text.starts_with('P')) else {
        return parse_duration(text);
    };
    let count: u32 = text.get(..text.len() - unit.len_utf8())?.parse().ok()?;
    match unit {
        'd' | 'w' => parse_duration(&format!("P{count}{}", unit.to_ascii_uppercase())),
        's' | 'm' | 'h' => parse_duration(&format!("PT{count}{}", unit.to_ascii_uppercase())),
        _ => None,
    }
}

async fn issue(
    context: &Context,
    host: &Host,
    wish: TokenWish,
    by: &Actor,
) -> Result<Result<Exit>, Stop> {
    let named = host.workspace().settings().actors.iter().any(|actor| actor.id == wish.actor);
    let (text, token) = host.runtime().issue_token(wish, by).await?;
    if context.json {
        let mut told = told(&token);
        if let Some(fields) = told.as_object_mut() {
            fields.insert("token".into(), json!(text.expose()));
        }
        return Ok(output::json(&told).map(|()| Exit::Done));
    }
    output::remark(format!("{} for {}; it is shown this once", token.id, token.actor));
    if !named {
        output::remark(format!(
            "warning: haft.toml names no actor `{}`, so its token may only make calls",
            token.actor
        ));
    }
    Ok(output::line(text.expose()).map(|()| Exit::Done))
}

fn list(context: &Context, found: &[Token]) -> Result<Exit> {
    if context.json {
        output::json(&found.iter().map(told).collect())?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        output::line("no token is in force")?;
        return Ok(Exit::Done);
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["ID", "WHO", "SINCE", "BY", "ENDS", "LABEL"]);
    for token in found {
        let ends = token.expires.map(|moment| output::until(moment, now));
        table.row(vec![
            token.id.to_string(),
            token.actor.to_string(),
            output::clock(token.at),
            token.by.to_string(),
            ends.unwrap_or_else(|| "never".to_owned()),
            output::visible(token.label.as_deref().unwrap_or("-")).to_string(),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}

/// A token as JSON: without its text, which is not stored, and without its lookup digest.
fn told(token: &Token) -> Value {
    json!({
        "token_id": token.id,
        "actor": token.actor,
        "tenant": token.tenant,
        "label": token.label,
        "issued_by": token.by,
        "issued_at": token.at,
        "expires_at": token.expires,
    })
}

async fn revoke(
    context: &Context,
    host: &Host,
    given: &str,
    by: &Actor,
) -> Result<Result<Exit>, Stop> {
    let found = host.runtime().tokens(by).await?;
    let mut begun = found.iter().filter(|token| token.id.as_str().starts_with(given));
    // A name that fits none or several is handed on as it is, and refused as such.
    let id = match (begun.next(), begun.next()) {
        (Some(one), None) => one.id.clone(),
        (_, _) => TokenId::from(given),
    };
    host.runtime().revoke_token(&id, by).await?;
    if context.json {
        return Ok(output::json(&json!({ "revoked": id })).map(|()| Exit::Done));
    }
    Ok(output::line(format!("revoked {id}")).map(|()| Exit::Done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_lifetime_accepts_short_and_iso_8601_durations() {
        let now = Timestamp::UNIX_EPOCH;
        let seconds = |text: &str| until(text, now).ok().map(Timestamp::as_second);
        let good = ["90s", "5m", "12h", "30d", "2w", "P1D", "PT1H"];
        assert_eq!(
            good.map(seconds),
            [90, 300, 43_200, 2_592_000, 1_209_600, 86_400, 3_600].map(Some)
        );
        for bad in ["", "30", "d", "-1d", "0d", "30x", "1d2h", "P", "٣d", "99999999999d"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
