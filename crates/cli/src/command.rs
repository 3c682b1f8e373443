//! Commands of the CLI, one file each.

pub(crate) mod accept;
pub(crate) mod add;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod compensate;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod init;
pub(crate) mod login;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod settle;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod why;

use std::path::Path;

use anyhow::Result;
use haft::{GoverningStanding, Host, HostOptions, LoadOptions, StoreChoice, Workspace};
use haft_model::{Code, Date, Envelope, Stop, Timestamp};

use crate::exit::Exit;
use crate::{Context, output};

/// The workspace as its files say it, without its ledger.
fn load(context: &Context) -> Result<Workspace> {
    Ok(Workspace::load(&context.directory, LoadOptions::default())?)
}

/// The workspace with its ledger, ready to be called or asked.
fn open(context: &Context, store: StoreChoice) -> Result<Host> {
    Ok(Host::open(&context.directory, HostOptions { store, ..HostOptions::default() })?)
}

/// Like `open`, for a process that makes one call: it waits for a store that another program holds
/// no longer than the call's timeout, and is answered then.
fn open_for_call(context: &Context, tool: &str) -> Result<Result<Host, Stop>> {
    let options = HostOptions { first_tool: Some(tool.to_owned()), ..HostOptions::default() };
    match Host::open(&context.directory, options) {
        Ok(host) => Ok(Ok(host)),
        Err(fault @ haft::Error::Ledger(_)) => {
            let stop = Stop::new(Code::StoreUnavailable, fault.to_string());
            Ok(Err(stop.help(fault.help().unwrap_or_default())))
        }
        Err(fault) => Err(fault.into()),
    }
}

/// Warns a person whose call runs under unaccepted settings; a server would not start under them.
fn warn_of_settings(workspace: &Workspace) {
    if let GoverningStanding::Looser(files, _) = workspace.governing_standing() {
        let files = files.join(", ");
        output::remark(format!(
            "warning: {files}: other than was accepted; if that is right, `haft accept --settings`"
        ));
    }
}

/// The result of a call, once it is known whether it is on record: a read is answered before it is,
/// and nothing tells of it after the process has ended.
async fn recorded(host: &Host, mut envelope: Envelope) -> Envelope {
    if envelope.unrecorded.is_none()
        && let Err(fault) = host.flush().await
    {
        envelope.unrecorded = Some(fault.to_string());
    }
    envelope
}

/// How a command ends that was refused, or went as far as printing what it found.
fn ended(outcome: Result<Result<Exit>, Stop>, context: &Context) -> Result<Exit> {
    outcome.unwrap_or_else(|stop| output::stop(&stop, context.json))
}

/// The answer to a name that no usable contract has; one that has it and is broken is named.
fn unknown(workspace: &Workspace, name: &str) -> Stop {
    let stop = workspace.snapshot().unknown(name);
    match broken(workspace, name) {
        Some(why) => stop.help(why),
        None => stop,
    }
}

/// Why a name means nothing, where a manifest has it that is broken.
fn broken(workspace: &Workspace, name: &str) -> Option<String> {
    let broken = workspace.broken().into_iter().find(|broken| broken.id == name)?;
    Some(format!("{} defines it and cannot be used: {}", broken.file, broken.reason))
}

/// Accepts what a command wrote that a person ran for that. Where the lock cannot be written, or is
/// damaged, the files are there and wait to be accepted.
fn accept_written(root: &Path, files: &[&str]) -> Result<()> {
    let workspace = Workspace::load(root, LoadOptions::default())?;
    if let Err(fault) = workspace.accept_written(files) {
        output::remark(format!("warning: {fault}: run `haft accept` once that is mended"));
    }
    Ok(())
}

/// The day it is, in UTC.
fn today() -> Date {
    haft_model::utc_day(Timestamp::now())
}
