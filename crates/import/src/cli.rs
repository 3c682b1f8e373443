//! CLI import: turns a program's help texts into a contract per command and a driver of kind cli.
//!
//! A help text is written for people, so the import reads common forms and leaves the rest: the
//! result is a draft for its author to complete, and never says more than the help.

mod help;
mod option;
mod tool;
mod usage;

use serde_json::{Map, Value, json};

use crate::import::{Error, File, Import, Margin, Omissions};
use crate::manifest::{fault, manifest};
use crate::text::{self, UniqueNames};

pub use help::Help;
use tool::Command;

/// The first version of everything that is imported.
const VERSION: &str = "1.0.0";

/// One text of help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpPage {
    /// The subcommands that lead to it; none for the program itself.
    pub command: Vec<String>,
    /// The text of the page.
    pub text: String,
}

/// What is known of a program's effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramEffects {
    /// Unknown: it may change the workspace, and every call asks for approval.
    #[default]
    Unknown,
    /// The operator vouches that the program only reads.
    ReadOnly,
}

/// Options of a CLI import.
#[derive(Clone, Debug, Default)]
pub struct CliOptions {
    /// The prefix of tool ids; the program's name when absent.
    pub id: Option<String>,
    /// What is known of its effects.
    pub effects: ProgramEffects,
}

/// Makes manifests of the help of a program. Pages that only list subcommands become no contract.
pub fn import(program: &str, pages: &[HelpPage], options: &CliOptions) -> Result<Import, Error> {
    let name = name(program, options)?;
    let mut omissions = Omissions::default();
    let (mut files, mut guesses, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    let mut taken = UniqueNames::default();
    for page in pages {
        let called = called(program, page);
        let help = Help::read(&page.text);
        if help.is_only_a_list() {
            omissions.skip(called, "it only leads to its subcommands");
            continue;
        }
        let parts: Vec<String> = page.command.iter().map(|part| text::slug(part)).collect();
        let id = text::tool_id(&name, &parts.join("/"));
        let id = taken.first_free(&[if id == name { format!("{name}.run") } else { id }]);
        let mut margin = Margin::new(&format!(".tools/{id}/TOOL.md"));
        let command = Command { id: &id, called: &called, effects: options.effects };
        let made = tool::made(&command, &help, page, &mut margin);
        if let Some(fault) = fault(&margin.file, &made.text) {
            omissions.skip(called, format!("what was made of it is not a contract: {fault}"));
            continue;
        }
        entries.push(json!({
            "tool": id,
            "version": format!("^{VERSION}"),
            "metadata": { "cli": { "argv": made.argv } },
        }));
        guesses.extend(margin.guesses);
        files.push(File { path: margin.file, text: made.text });
    }
    if files.is_empty() {
        return Err(Error::Empty(format!(
            "the help of `{program}` names nothing that could be run"
        )));
    }
    files.push(driver(program, &name, entries, options.effects, &mut guesses));
    Import { name, files, guesses, skipped: omissions.0, losses: Vec::new(), secrets: Vec::new() }
        .sound()
}

/// The name of a program's import.
pub fn name(program: &str, options: &CliOptions) -> Result<String, Error> {
    match &options.id {
        Some(id) => text::prefix(id).ok_or_else(|| Error::BadName(id.clone())),
        None => {
            let last = program.rsplit('/').next().unwrap_or(program);
            Ok(text::shortened_prefix(last, "program"))
        }
    }
}

fn called(program: &str, page: &HelpPage) -> String {
    let program = program.rsplit('/').next().unwrap_or(program);
    let words = std::iter::once(program).chain(page.command.iter().map(String::as_str));
    text::line(&words.collect::<Vec<_>>().join(" "), 200)
}

fn driver(
    program: &str,
    name: &str,
    entries: Vec<Value>,
    effects: ProgramEffects,
    guesses: &mut Vec<crate::Guess>,
) -> File {
    let mut margin = Margin::new(&format!(".drivers/{name}/DRIVER.md"));
    let write = match effects {
        ProgramEffects::Unknown => json!(["./**"]),
        ProgramEffects::ReadOnly => json!([]),
    };
    let (value, why) = ("no network, no other programs", "nothing says what the program needs");
    margin.guess("sandbox", value, why, "edit `sandbox` of the driver");
    let mut fields = Map::new();
    let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let bare = text::line(program.rsplit('/').next().unwrap_or(program), 80);
    say("name", json!(bare));
    say("id", json!(name));
    say("description", json!(format!("The program {bare} on this machine.")));
    say("version", json!(VERSION));
    say("kind", json!("cli"));
    say("bin", json!(program));
    let sandbox = json!({
        "network": { "egress": [] },
        "fs": { "read": ["./**"], "write": write },
        "exec": { "allow": false },
        "env": { "pass": ["PATH", "HOME"] },
    });
    say("sandbox", sandbox);
    say("output", json!({ "default_format": "text" }));
    say("implements", Value::Array(entries));
    let body =
        "Imported by `haft add cli`.\nWhat you change here is kept when it is imported again.\n";
    guesses.extend(margin.guesses);
    File { path: margin.file, text: manifest(&fields, body) }
}
