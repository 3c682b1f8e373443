//! Exit mapping: turns the exit of a program into the result of the call, or into its error and
//! effect state.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_contract::driver::manifest::OutputFormat;
use haft_driver::{Failure, Output};
use haft_model::{CauseDetail, CausePhase, Code, Content, EffectState, Media, Stop};
use haft_sandbox::{ExitKind, ProgramExit};
use serde_json::{Map, Value, json};

use super::command::{Command, Meaning};
use super::listening::CapturedOutput;
use super::run::Run;
use super::tried;
use crate::exact;
use crate::failure::{OUT_OF_MEMORY, complaint, running};
use crate::login::ran_out;

/// Most bytes of stderr that an error carries.
const MOST_WORDS: usize = 4096;

/// Maps the exit of a program to the outcome of the call.
pub(super) fn of(
    run: &Run<'_>,
    ended: &ProgramExit,
    said: CapturedOutput,
    root: &Path,
) -> Result<Output, Failure> {
    let native = native(run, ended);
    let came = match meaning(run.command, ended.end) {
        Meaning::Fine => given(run, &said),
        wrong => Err(failed(run, ended, &said, wrong, root)),
    };
    match came {
        Ok(output) => Ok(Output { native: vec![native], ..output }),
        Err(failure) => Err(Failure { native: vec![native], ..failure }),
    }
}

/// The native identity of the call on this machine, for the record.
pub(super) fn native(run: &Run<'_>, ended: &ProgramExit) -> Value {
    let mut native = Map::new();
    let mut add = |name: &str, value: Value| native.insert(name.to_owned(), value);
    add("source", json!("cli"));
    add("command_id", json!(run.attempt.plan.route.driver));
    add("argv_ref", json!(run.argv));
    match ended.end {
        ExitKind::Exited(code) => add("exit_code", json!(code)),
        ExitKind::Killed(signal) => add("signal", json!(signal)),
        ExitKind::OutOfMemory | ExitKind::OutOfTime | ExitKind::CalledOff => None,
    };
    add("layers", json!(ended.layers));
    if !ended.tried.is_empty() {
        add("tried", tried::listed(&ended.tried));
    }
    run.cli.place.told(Value::Object(native))
}

fn meaning(command: &Command, end: ExitKind) -> Meaning {
    match end {
        ExitKind::Exited(code) => command.meaning(code),
        ExitKind::Killed(signal) => command.meaning_of_signal(signal),
        ExitKind::OutOfMemory => Meaning::Wrong(Code::SandboxViolation),
        ExitKind::OutOfTime | ExitKind::CalledOff => Meaning::TimedOut,
    }
}

/// The value of a call whose program exited with success. A bad output does not undo its effect.
fn given(run: &Run<'_>, said: &CapturedOutput) -> Result<Output, Failure> {
    let effect = run.effect(EffectState::Committed);
    if said.cut {
        let stop = too_large(run.command, said.output.len());
        return Err(Failure::new(stop, effect));
    }
    let read = read(&said.output, run.command.format, run.cli.yaml);
    let output = read.map_err(|words| {
        let words = format!("`{}` ended well, and {words}", run.command.bin);
        Failure::new(with_errors(running(Code::OutputInvalid, words), said), effect)
    })?;
    let structured = output.structured.map(|value| run.command.wrap.around(value));
    Ok(exact::settled(Output { effect, structured, ..output }))
}

/// The failure of a program that prints more than the output limit.
pub(super) fn too_large(command: &Command, most: usize) -> Stop {
    let words = format!("`{}` printed more than {most} bytes", command.bin);
    running(Code::ResultTooLarge, words).help("ask for less")
}

fn read(
    bytes: &[u8],
    format: OutputFormat,
    yaml: Option<super::ReadYaml>,
) -> Result<Output, String> {
    let nothing = Output { structured: None, ..Output::read(Value::Null) };
    let text = || std::str::from_utf8(bytes).map_err(|_| "its output is not UTF-8".to_owned());
    match format {
        OutputFormat::Text => Ok(Output::read(json!({ "text": text()? }))),
        OutputFormat::Json | OutputFormat::Yaml if bytes.trim_ascii().is_empty() => Ok(nothing),
        OutputFormat::Json => {
            exact::read(bytes).map(Output::read).map_err(|_| "its output is not JSON".to_owned())
        }
        OutputFormat::Yaml => {
            let read = yaml.ok_or("YAML output is not supported here")?;
            let value = read(text()?).map_err(|why| format!("its output is not YAML: {why}"))?;
            Ok(Output::read(value))
        }
        OutputFormat::Binary => {
            let media = Media::new("application/octet-stream", STANDARD.encode(bytes));
            Ok(Output { content: vec![Content::File(media)], ..nothing })
        }
    }
}

/// The failure of a program that ran, with the error and the effect that are known.
fn failed(
    run: &Run<'_>,
    ended: &ProgramExit,
    said: &CapturedOutput,
    meaning: Meaning,
    root: &Path,
) -> Failure {
    let command = run.command;
    let code = match ended.end {
        ExitKind::Exited(code) => code,
        ExitKind::Killed(signal) => 128 + signal,
        ExitKind::OutOfMemory => 137,
        ExitKind::OutOfTime | ExitKind::CalledOff => 124,
    };
    let effect = match command.vouches(code) {
        true => EffectState::NotCommitted,
        false => EffectState::Unknown,
    };
    let effect = run.effect(effect);
    let mut message = format!("`{}` {}{}", command.bin, fate(ended.end), complaint(&said.errors));
    let plan = run.plan();
    let stop = match (tried::violation(&ended.tried, &command.driver, &plan.effects, root), meaning)
    {
        (Some(violation), _) => violation,
        (None, Meaning::Own(name)) => {
            message = format!("{message} (`{name}`)");
            Stop::new(Code::ExecutionFailed, message).because(CauseDetail::Native(name.clone()))
        }
        (None, Meaning::TimedOut) => Stop::new(Code::TimeoutUnknownCommit, message),
        (None, Meaning::Wrong(Code::CredentialMissing)) => {
            ran_out(Stop::new(Code::CredentialMissing, message), &command.driver)
        }
        (None, Meaning::Wrong(code)) => Stop::new(code, message),
        (None, Meaning::Fine) => Stop::new(Code::Internal, message),
    };
    let mut stop = with_errors(stop, said);
    if let ExitKind::Exited(code) = ended.end {
        stop.cause.insert(CauseDetail::ExitCode(code));
    }
    Failure::new(stop, effect)
}

/// How a program ended, as part of a sentence.
fn fate(end: ExitKind) -> String {
    match end {
        ExitKind::Exited(code) => format!("ended with code {code}"),
        ExitKind::Killed(24) => "was ended: it used too much processor time".to_owned(),
        ExitKind::Killed(25) => "was ended: it wrote too large a file".to_owned(),
        ExitKind::Killed(signal) => format!("was ended by signal {signal}"),
        ExitKind::OutOfMemory => format!("was ended: {OUT_OF_MEMORY}"),
        ExitKind::OutOfTime | ExitKind::CalledOff => "was ended".to_owned(),
    }
}

/// Adds the end of stderr to the cause of a refusal.
pub(super) fn with_errors(mut stop: Stop, said: &CapturedOutput) -> Stop {
    stop.cause.insert(CauseDetail::Phase(CausePhase::Run));
    let from = said.errors.len().saturating_sub(MOST_WORDS);
    let words = String::from_utf8_lossy(said.errors.get(from..).unwrap_or_default());
    if !words.trim().is_empty() {
        stop.cause.insert(CauseDetail::Stderr(words.into_owned()));
    }
    stop
}
