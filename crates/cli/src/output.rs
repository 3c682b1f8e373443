//! Output: words and tables for people, JSON for machines.

mod decision;
mod diagnostics;
mod envelope;
mod form;
mod moment;
mod sarif;
mod table;
mod trace;
mod visible;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use haft_model::Stop;
use serde_json::{Value, json};

use crate::arguments::Misuse;
use crate::exit::Exit;

pub(crate) use decision::{decision, needs};
pub(crate) use diagnostics::{counted, show as show_diagnostics, summary};
pub(crate) use envelope::{effect_words, envelope, pieces};
pub(crate) use form::{form, takes};
pub(crate) use moment::{ago, clock, span, until};
pub(crate) use sarif::sarif;
pub(crate) use table::Table;
pub(crate) use trace::trace;
pub(crate) use visible::visible;

/// Prints JSON on standard output.
pub(crate) fn json(value: &Value) -> Result<()> {
    let mut out = anstream::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Prints a line on standard output.
pub(crate) fn line(text: impl AsRef<str>) -> Result<()> {
    writeln!(anstream::stdout(), "{}", text.as_ref())?;
    Ok(())
}

/// Prints one line of JSON on standard output.
pub(crate) fn json_line(value: &Value) -> Result<()> {
    writeln!(anstream::stdout(), "{value}")?;
    Ok(())
}

/// The paths that a driver's manifest opens for writing, for people.
pub(crate) fn driver_state(paths: &[String]) -> String {
    format!("the driver may write {}, its own state", visible(&paths.join(", ")))
}

/// Prints a remark on standard error.
pub(crate) fn remark(text: impl AsRef<str>) {
    let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
}

/// Prints a refusal and ends as it says.
pub(crate) fn stop(stop: &Stop, as_json: bool) -> Result<Exit> {
    if as_json {
        json(&json!({ "ok": false, "error": stop.told() }))?;
    } else {
        remark(format!("\x1b[1;31m{}\x1b[0m: {}", stop.code, visible(&stop.message)));
        if let Some(help) = &stop.help {
            remark(format!("\x1b[1;36mhelp\x1b[0m: {}", visible(help)));
        }
    }
    Ok(Exit::of(stop.code))
}

/// Prints a fault with its causes, each once.
pub(crate) fn fault(fault: &anyhow::Error, as_json: bool) -> ExitCode {
    // A reader that has seen enough, such as `head`, is not a fault.
    let closed = fault.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        let json = cause.downcast_ref::<serde_json::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
            || json.is_some_and(|json| json.io_error_kind() == Some(std::io::ErrorKind::BrokenPipe))
    });
    if closed {
        return Exit::Done.code();
    }
    let causes: Vec<String> = fault.chain().map(ToString::to_string).collect();
    let known = fault.downcast_ref::<haft::Error>();
    let help = known.and_then(haft::Error::help);
    if as_json {
        let _ =
            json(&json!({ "ok": false, "error": { "message": causes.join(": "), "help": help } }));
    } else {
        remark(format!("\x1b[1;31merror\x1b[0m: {}", causes.join(": ")));
        if let Some(help) = help {
            remark(format!("\x1b[1;36mhelp\x1b[0m: {help}"));
        }
    }
    match known {
        _ if fault.is::<Misuse>() => Exit::Usage.code(),
        Some(haft::Error::NoTool { .. }) => Exit::INVALID.code(),
        Some(haft::Error::NoWorkspace { .. } | haft::Error::NoSchemas { .. }) => Exit::Usage.code(),
        _ => Exit::FAILED.code(),
    }
}
