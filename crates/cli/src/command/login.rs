//! `haft login`: runs the login flow that a driver declares.

use std::io::{self, IsTerminal as _};

use anyhow::Result;
use haft::{Attending, Host, Step, StoreChoice};
use haft_model::{ActorId, Code, Secret, Stop};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, command, output, prompt, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The driver.
    driver: String,
    /// Whose login it is, such as `agent:coder`; that of the person who runs the command unless named.
    #[arg(long = "as", value_name = "ACTOR", conflicts_with = "shared")]
    actor: Option<String>,
    /// The login is everybody's in this workspace.
    #[arg(long)]
    shared: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::Settings)?;
    let outcome = log_in(context, &host, &arguments).await;
    let holder = match outcome {
        Ok(holder) => holder,
        Err(stop) => return output::stop(&stop, context.json),
    };
    if context.json {
        output::json(&json!({ "driver": arguments.driver, "for": holder }))?;
    } else {
        let whom = holder.map_or("everybody".to_owned(), |holder| holder.to_string());
        output::line(format!("logged {whom} in to {}", arguments.driver))?;
    }
    Ok(Exit::Done)
}

async fn log_in(
    context: &Context,
    host: &Host,
    arguments: &Arguments,
) -> Result<Option<ActorId>, Stop> {
    let person = who::person(context, host);
    let named = arguments.actor.as_deref().map(ActorId::from);
    let holder = (!arguments.shared).then(|| named.unwrap_or_else(|| person.id.clone()));
    let attend = Some(&prompt::attend as _);
    let attending = attended().then_some(Attending { tell: &tell, ask: &ask, attend });
    host.log_in(&arguments.driver, &person, holder.as_ref(), attending).await?;
    Ok(holder)
}

/// Whether a person is at the terminal to read and answer.
pub(crate) fn attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints the next step of the person on standard error.
pub(crate) fn tell(step: Step) {
    output::remark(match step {
        Step::Open { url } => format!("open this page and log in:\n  {}", output::visible(&url)),
        Step::Code { url, code, seconds } => format!(
            "open this page and type in the code \x1b[1m{}\x1b[0m, which is good for {} minutes:\n  {}",
            output::visible(&code),
            seconds.div_ceil(60),
            output::visible(&url)
        ),
        Step::Run { command } => {
            format!("run this in another terminal:\n  {}", output::visible(&command))
        }
        Step::Waiting { what } => format!("waiting for {what} …"),
    });
}

fn ask(question: &str) -> Result<Option<Secret>, Stop> {
    prompt::ask_hidden(question).map_err(|fault| {
        Stop::new(Code::InputValue, format!("what was typed cannot be read: {fault}"))
    })
}
