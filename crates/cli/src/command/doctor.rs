//! `haft doctor`: diagnoses this machine and workspace, with the command that mends each fault.

use anyhow::Result;
use haft::{Degree, DoctorFinding, Host, StoreChoice};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::{Context, command, output, telling, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// For whom drivers have to be logged in; the default actor of haft.toml unless named.
    #[arg(long = "as", value_name = "ACTOR")]
    actor: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let (host, unopened) = opened(context)?;
    let actor = who::caller(context, &host, arguments.actor);
    // Without its store there is nothing fine to be said of it.
    let is_open = unopened.is_none();
    let mut found: Vec<DoctorFinding> = unopened.into_iter().collect();
    let examined = host.examine(&actor).await.into_iter();
    found.extend(examined.filter(|one| is_open || one.what != "store"));
    found.extend(telling::examined(&host).await);
    let broken = found.iter().filter(|one| one.degree == Degree::Broken).count();
    if context.json {
        let found: Vec<Value> = found.iter().map(as_json).collect();
        output::json(&json!({ "healthy": broken == 0, "examined": found }))?;
    } else {
        show(&found, broken)?;
    }
    Ok(if broken == 0 { Exit::Done } else { Exit::FAILED })
}

/// The workspace; where its store cannot be opened, without it.
fn opened(context: &Context) -> Result<(Host, Option<DoctorFinding>)> {
    match command::open(context, StoreChoice::IfPresent) {
        Ok(host) => Ok((host, None)),
        Err(fault) => {
            let host = command::open(context, StoreChoice::Memory)?;
            let seen = DoctorFinding::new("store", Degree::Broken, format!("{fault:#}"));
            let known = fault.downcast_ref::<haft::Error>();
            let mend = match known {
                Some(haft::Error::StoreMissing { .. } | haft::Error::StoreReplaced { .. }) => {
                    known.and_then(haft::Error::help)
                }
                _ => None,
            };
            Ok((host, Some(seen.mended_by(mend.unwrap_or("haft audit verify")))))
        }
    }
}

fn as_json(one: &DoctorFinding) -> Value {
    json!({
        "what": one.what, "state": one.degree.name(), "says": one.says, "mend": one.mend,
    })
}

fn show(found: &[DoctorFinding], broken: usize) -> Result<()> {
    let wide = found.iter().map(|one| one.what.chars().count()).max().unwrap_or_default();
    for one in found {
        let mark = match one.degree {
            Degree::Fine => "\x1b[32mok     \x1b[0m",
            Degree::Note => "note   ",
            Degree::Warning => "\x1b[33mwarning\x1b[0m",
            Degree::Broken => "\x1b[31mbroken \x1b[0m",
        };
        output::line(format!("{mark}  {:<wide$}  {}", one.what, output::visible(&one.says)))?;
        if let Some(mend) = &one.mend {
            output::line(format!("         {:wide$}  → {}", "", output::visible(mend)))?;
        }
    }
    output::line("")?;
    output::line(match broken {
        0 => "nothing is broken".to_owned(),
        1 => "one thing is broken".to_owned(),
        many => format!("{many} things are broken"),
    })
}
