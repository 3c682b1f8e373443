//! Secret templates: renders `${secrets.NAME}` in the environment of a program or the headers of a
//! request.

use std::collections::BTreeMap;

use haft_driver::{Failure, Safe};
use haft_model::{Code, Secret, Stop};
use haft_notation::{Piece, Template};

use crate::failure::unsent;

/// Rendered names and values; values made of secrets are kept apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) plain: BTreeMap<String, String>,
    pub(super) secret: BTreeMap<String, Secret>,
}

impl Values {
    /// Renders the templates. Only secrets may appear: a process or a connection outlives the call,
    /// so a value of one call must not stay in it.
    pub(super) async fn fill(
        written: &BTreeMap<String, String>,
        driver: &str,
        safe: Option<&Safe<'_>>,
    ) -> Result<Values, Failure> {
        let mut values = Values::default();
        for (name, text) in written {
            let template = secrets_only(name, text, driver).map_err(unsent)?;
            match opened(&template, safe).await? {
                RenderedEnvironment::Plain(value) => drop(values.plain.insert(name.clone(), value)),
                RenderedEnvironment::Secret(value) => {
                    drop(values.secret.insert(name.clone(), value))
                }
            }
        }
        Ok(values)
    }
}

enum RenderedEnvironment {
    Plain(String),
    Secret(Secret),
}

/// Parses a template and refuses any expression but `${secrets.NAME}`.
pub(super) fn secrets_only(name: &str, text: &str, driver: &str) -> Result<Template, Stop> {
    let template = Template::parse(text).ok();
    let fits = |template: &Template| {
        let mut expressions = template.expressions();
        expressions
            .all(|said| said.root() == "secrets" && said.path.len() == 2 && said.filters.is_empty())
    };
    template.filter(fits).ok_or_else(|| {
        let words = format!(
            "driver `{driver}`: `{name}` may hold `${{secrets.NAME}}` and nothing else of a call"
        );
        Stop::new(Code::SetupRequired, words)
            .help("hand over what differs from call to call as an argument of the tool")
    })
}

async fn opened(
    template: &Template,
    safe: Option<&Safe<'_>>,
) -> Result<RenderedEnvironment, Failure> {
    let mut text = String::new();
    let mut secret = false;
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Expression(expression) => {
                let name = expression.path.last().map(String::as_str).unwrap_or_default();
                let Some(safe) = safe else { return Err(unsent(nobody(name))) };
                text.push_str(safe.open(name).await?.expose());
                secret = true;
            }
        }
    }
    if !secret {
        return Ok(RenderedEnvironment::Plain(text));
    }
    let value = Secret::new(text);
    if let Some(safe) = safe {
        safe.hide(&value).await;
    }
    Ok(RenderedEnvironment::Secret(value))
}

fn nobody(name: &str) -> Stop {
    let words = format!("the secret `{name}` cannot be opened outside of a call");
    Stop::new(Code::CredentialMissing, words).help("set it up with a call of the tool")
}
