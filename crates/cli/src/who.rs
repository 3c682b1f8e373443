//! Acting identity: the person at the keyboard, or the actor that `--as` names.

use haft::Host;
use haft_model::Actor;

use crate::Context;

/// The flag by which another actor is named.
#[derive(clap::Args)]
pub(crate) struct As {
    /// Who acts, such as `agent:coder`; the person who runs the command unless named.
    #[arg(long = "as", value_name = "ACTOR")]
    pub(crate) actor: Option<String>,
}

impl As {
    /// The actor. Who really typed it is kept where another is named.
    pub(crate) fn actor(&self, context: &Context, host: &Host) -> Actor {
        let person = person(context, host);
        match &self.actor {
            Some(id) if id != person.id.as_str() => {
                Actor { speaking: Some(person.id), ..host.actor(id) }
            }
            Some(_) | None => person,
        }
    }
}

/// The caller of a hypothetical call: the named actor, or the default actor of haft.toml.
pub(crate) fn caller(context: &Context, host: &Host, named: Option<String>) -> Actor {
    let default = || host.workspace().settings().workspace.default_actor.to_string();
    As { actor: Some(named.unwrap_or_else(default)) }.actor(context, host)
}

/// The person who runs the command: owner of the workspace, and approver.
pub(crate) fn person(context: &Context, host: &Host) -> Actor {
    host.owner(&context.login)
}

/// The name that the system knows the person by.
pub(crate) fn login() -> String {
    let named = ["USER", "LOGNAME"].iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    named.next().unwrap_or_else(|| "local".to_owned())
}
