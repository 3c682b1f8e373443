//! `haft add cli PROGRAM [SUBCOMMAND…]`: imports a program from its help texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use haft_import::Base;
use haft_import::cli::{self, CliOptions, Help, HelpPage, ProgramEffects};

use super::{Wishes, known, settle};
use crate::Context;
use crate::exit::Exit;
use crate::output;

/// How many subcommands are asked for their help.
const MOST: usize = 64;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The program: a name, or a path from the workspace.
    program: String,
    /// The subcommand; all that the program lists when absent.
    subcommand: Vec<String>,
    /// Say that it changes nothing.
    #[arg(long)]
    read_only: bool,
    /// A saved text of help, instead of running the program.
    #[arg(long, value_name = "FILE")]
    help_text: Option<PathBuf>,
    #[command(flatten)]
    wishes: Wishes,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments { program, subcommand, read_only, help_text, wishes } = arguments;
    let effects = if read_only { ProgramEffects::ReadOnly } else { ProgramEffects::Unknown };
    let options = CliOptions { id: wishes.id.clone(), effects };
    let name = cli::name(&program, &options)?;
    let before = known(context, &name)?;
    let mut pages = match &help_text {
        Some(file) => {
            let shown = file.display();
            let text =
                fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
            vec![HelpPage { command: subcommand, text }]
        }
        None => asked(context, &program, subcommand).await?,
    };
    // What an earlier run read is kept, or this one would take it for gone.
    let fresh: BTreeSet<String> = pages.iter().map(|page| page.command.join(" ")).collect();
    let old =
        before.options.iter().filter_map(|(key, text)| Some((key.strip_prefix("help ")?, text)));
    let old =
        old.filter(|(command, _)| !fresh.contains(*command)).map(|(command, text)| HelpPage {
            command: command.split_whitespace().map(str::to_owned).collect(),
            text: text.clone(),
        });
    pages.extend(old);
    pages.sort_by(|one, other| one.command.cmp(&other.command));
    let import = cli::import(&program, &pages, &options)?;
    let all: String = pages.iter().map(|page| page.text.as_str()).collect();
    let mut base = Base::of("cli", &program, all.as_bytes());
    let texts =
        pages.into_iter().map(|page| (format!("help {}", page.command.join(" ")), page.text));
    base.options = texts.collect();
    settle(context, &wishes, &import, base)
}

/// The help of a command, or of each command below it.
async fn asked(context: &Context, program: &str, command: Vec<String>) -> Result<Vec<HelpPage>> {
    let text = help(context, program, &command).await?;
    let below = Help::read(&text).subcommands;
    let mut pages = vec![HelpPage { command: command.clone(), text }];
    for (name, _) in below.iter().take(MOST) {
        let whole: Vec<String> = command.iter().cloned().chain([name.clone()]).collect();
        match help(context, program, &whole).await {
            Ok(text) => pages.push(HelpPage { command: whole, text }),
            Err(fault) => output::remark(format!("left out {name}: {fault:#}")),
        }
    }
    if below.len() > MOST {
        output::remark(format!(
            "left out {} more: name a subcommand to have it",
            below.len() - MOST
        ));
    }
    Ok(pages)
}

async fn help(context: &Context, program: &str, command: &[String]) -> Result<String> {
    match haft::help_of(&context.directory, program, command).await {
        Ok(text) => Ok(text),
        Err(reason) => bail!(
            "`{program}` does not tell its help: {reason}; save it and give it with `--help-text FILE`"
        ),
    }
}
