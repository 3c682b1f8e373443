//! Command line of a call: each value of the caller is one argument and never an option.

use haft_model::{Code, Digest, Plan, Stop};
use haft_notation::{Argument, Scope};

use super::command::Command;
use crate::template_context::{Sources, unfilled};

/// Words that end the options.
const END_OF_OPTIONS: [&str; 2] = ["--", "--end-of-options"];

/// Most bytes of all arguments, and of standard input.
const MOST_ARGUMENTS: usize = 128 * 1024;
const MOST_STDIN: usize = 5 * 1024 * 1024;

/// The arguments and standard input of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProgramCommand {
    pub(super) args: Vec<String>,
    pub(super) stdin: Vec<u8>,
}

impl ProgramCommand {
    /// Digest of the program and its arguments, which may be sensitive themselves.
    pub(super) fn digest(&self, bin: &str) -> Digest {
        Digest::of(&(bin, &self.args))
    }

    /// Renders the command line of a call.
    pub(super) fn of(command: &Command, plan: &Plan) -> Result<ProgramCommand, Stop> {
        let scope = Sources::of(plan, None);
        let mut arguments: Vec<Argument> = command.bin_args.iter().map(own).collect();
        for template in &command.argv {
            let filled = template.arguments(&scope).map_err(|fault| unfilled(&fault, "argv"))?;
            arguments.extend(filled);
        }
        if !command.dash_values {
            no_options(&arguments)?;
        }
        // After the end of options a flag would be a value.
        let end = arguments.iter().position(ends_options).unwrap_or(arguments.len());
        arguments.splice(end..end, command.json_args.iter().map(own));
        Ok(ProgramCommand { args: bounded(arguments)?, stdin: stdin(command, &scope)? })
    }
}

fn own(text: impl Into<String>) -> Argument {
    Argument { text: text.into(), given_by: None }
}

fn ends_options(argument: &Argument) -> bool {
    argument.given_by.is_none() && END_OF_OPTIONS.contains(&argument.text.as_str())
}

/// Refuses a value that the program could take for an option.
fn no_options(arguments: &[Argument]) -> Result<(), Stop> {
    let before = arguments.iter().take_while(|argument| !ends_options(argument));
    for argument in before {
        if let Some(path) = &argument.given_by
            && argument.text.starts_with('-')
        {
            let words = format!("`{path}` begins with a dash, and would be taken for an option");
            let help = "give it without; a driver allows it by `--` before it, by writing \
                        `--name=${…}` as one argument, or by `metadata.haft.dash_values`";
            return Err(at(Stop::new(Code::InputValue, words).help(help), path));
        }
    }
    Ok(())
}

fn bounded(arguments: Vec<Argument>) -> Result<Vec<String>, Stop> {
    let size: usize = arguments.iter().map(|argument| argument.text.len() + 1).sum();
    if size > MOST_ARGUMENTS {
        let words =
            format!("the arguments would have {size} bytes, and {MOST_ARGUMENTS} can be passed");
        return Err(Stop::new(Code::InputValue, words));
    }
    let plain = |argument: Argument| match argument.text.contains('\0') {
        false => Ok(argument.text),
        true => {
            let words = "an argument would hold a NUL, which no command line can carry";
            let stop = Stop::new(Code::InputValue, words);
            Err(argument.given_by.map_or(stop.clone(), |path| at(stop, &path)))
        }
    };
    arguments.into_iter().map(plain).collect()
}

fn stdin(command: &Command, scope: &dyn Scope) -> Result<Vec<u8>, Stop> {
    let Some(template) = &command.stdin else { return Ok(Vec::new()) };
    let text = template.text(scope).map_err(|fault| unfilled(&fault, "stdin"))?;
    if text.len() > MOST_STDIN {
        let size = text.len();
        let words = format!("standard input would have {size} bytes, and {MOST_STDIN} are passed");
        return Err(Stop::new(Code::InputValue, words));
    }
    Ok(text.into_bytes())
}

/// Points the refusal at the input field of a placeholder.
fn at(stop: Stop, path: &str) -> Stop {
    match path.strip_prefix("input.") {
        Some(field) => stop.at(format!("/{}", field.replace('.', "/"))),
        None => stop,
    }
}
