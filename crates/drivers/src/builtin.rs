//! Builtin driver: tools that are functions of this program, one file each.

mod fetch;
mod folder;
mod fs_list;
mod fs_read;
mod fs_write;
mod guarded;
mod place;
mod refusal;
mod root;
mod shown;
mod text_search;
mod time_now;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output, PathTarget, TargetKinds, Targets};
use haft_model::{Code, Plan, Stop, Timestamp, ToolKey};
use haft_sandbox::AddressGuard;
use serde_json::Value;

use crate::failure::{blocking, called_off, late, running, unread, unsent, while_running};
use crate::http::egress_allowlist::host_of;
use crate::watch::Watch;
use crate::web::{DnsLookup, look_up};
pub(crate) use place::WorkspacePath;
pub(crate) use refusal::PathRefusal;
pub(crate) use root::Root;

/// The driver of the builtin tools: its files are those of one workspace, its addresses those that
/// the guard allows.
#[derive(Debug)]
pub struct Builtin {
    root: Root,
    guard: AddressGuard,
    clock: fn() -> Timestamp,
    lookup: DnsLookup,
}

/// The builtin tools, by the names that contracts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuiltinTool {
    FsList,
    FsRead,
    FsWrite,
    HttpFetch,
    TextSearch,
    TimeNow,
}

const NAMES: &[&str] = &["fs.list", "fs.read", "fs.write", "http.fetch", "text.search", "time.now"];

impl Builtin {
    /// Builds the builtin tools over a workspace folder. Only `time.now` reads the clock.
    pub fn new(root: PathBuf, guard: AddressGuard, clock: fn() -> Timestamp) -> Builtin {
        Builtin { root: Root::new(root), guard, clock, lookup: look_up }
    }

    /// Replaces the DNS lookup of the system. The guard still checks the resolved addresses.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Builtin {
        Builtin { lookup, ..self }
    }

    /// Sets the user's environment, so that no tool writes the files that govern their home.
    pub fn at_home(self, variable: fn(&str) -> Option<String>) -> Builtin {
        Builtin { root: self.root.at_home(variable), ..self }
    }

    /// Protects the files that hooks and drivers execute and the files that Haft keeps: no tool
    /// writes them.
    pub fn protecting(self, place: &crate::WorkingFolder) -> Builtin {
        Builtin { root: self.root.protecting(place.programs.clone(), place.hidden.clone()), ..self }
    }

    /// The ids of the tools that this driver implements.
    pub fn tools() -> &'static [&'static str] {
        NAMES
    }
}

impl BuiltinTool {
    fn of(plan: &Plan) -> Result<BuiltinTool, Stop> {
        BuiltinTool::named(plan.tool.id.as_str())
    }

    fn named(id: &str) -> Result<BuiltinTool, Stop> {
        match id {
            "fs.list" => Ok(BuiltinTool::FsList),
            "fs.read" => Ok(BuiltinTool::FsRead),
            "fs.write" => Ok(BuiltinTool::FsWrite),
            "http.fetch" => Ok(BuiltinTool::HttpFetch),
            "text.search" => Ok(BuiltinTool::TextSearch),
            "time.now" => Ok(BuiltinTool::TimeNow),
            other => Err(Stop::new(Code::RouteNone, format!("there is no builtin tool `{other}`"))),
        }
    }
}

impl Driver for Builtin {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        let input = plan.mapped();
        match BuiltinTool::of(plan)? {
            BuiltinTool::FsList => fs_list::ListInput::of(&input).map(drop),
            BuiltinTool::FsRead => fs_read::ReadInput::of(&input).map(drop),
            BuiltinTool::FsWrite => fs_write::WriteInput::of(&input)?.refuse_state(&self.root),
            BuiltinTool::HttpFetch => fetch::asked(&input, &self.guard).map(drop),
            BuiltinTool::TextSearch => text_search::SearchInput::of(&input).map(drop),
            BuiltinTool::TimeNow => Ok(()),
        }
    }

    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        let (input, mut targets) = (plan.mapped(), Targets::default());
        match BuiltinTool::of(plan) {
            Ok(BuiltinTool::HttpFetch) if kinds.urls => {
                let url = fetch::asked(&input, &self.guard);
                targets.urls.extend(url.iter().map(|url| url.as_str().to_owned()));
            }
            Ok(
                BuiltinTool::FsList
                | BuiltinTool::FsRead
                | BuiltinTool::FsWrite
                | BuiltinTool::TextSearch,
            ) if kinds.paths => {
                let place = WorkspacePath::of(&input);
                let target = place.map(|place| self.root.target(&place));
                targets.paths.push(target.unwrap_or(PathTarget::Unresolved));
            }
            Ok(_) | Err(_) => {}
        }
        targets
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        matches!(BuiltinTool::of(plan), Ok(BuiltinTool::FsWrite | BuiltinTool::HttpFetch))
    }

    fn destination(&self, tool: &ToolKey, input: &Value) -> Option<String> {
        match BuiltinTool::named(tool.id.as_str()).ok()? {
            BuiltinTool::HttpFetch => Some(host_of(&fetch::asked(input, &self.guard).ok()?)),
            BuiltinTool::FsList
            | BuiltinTool::FsRead
            | BuiltinTool::FsWrite
            | BuiltinTool::TextSearch
            | BuiltinTool::TimeNow => None,
        }
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let tool = BuiltinTool::of(attempt.plan).map_err(unsent)?;
            Watch::of(&attempt).check().map_err(unsent)?;
            match tool {
                BuiltinTool::FsList => fs_list::run(&self.root, &attempt).await,
                BuiltinTool::FsRead => fs_read::run(&self.root, &attempt).await,
                BuiltinTool::FsWrite => fs_write::run(&self.root, &attempt).await,
                BuiltinTool::HttpFetch => fetch::run(&self.guard, self.lookup, &attempt).await,
                BuiltinTool::TextSearch => text_search::run(&self.root, &attempt).await,
                BuiltinTool::TimeNow => time_now::run((self.clock)()),
            }
        })
    }
}

/// A text field of the input. Contracts require it; an input that was not validated may lack it.
fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, Stop> {
    input.get(name).and_then(Value::as_str).ok_or_else(|| wrong(name, "is not a text"))
}

/// A whole number of the input within bounds, or its default.
fn number(
    input: &Value,
    name: &str,
    bounds: std::ops::RangeInclusive<u64>,
    otherwise: u64,
) -> Result<u64, Stop> {
    let Some(value) = input.get(name) else { return Ok(otherwise) };
    value.as_u64().filter(|number| bounds.contains(number)).ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        wrong(name, &format!("is no whole number from {least} to {most}"))
    })
}

/// The refusal of an input field with an invalid value.
fn wrong(name: &str, why: &str) -> Stop {
    Stop::new(Code::InputValue, format!("`{name}` {why}")).at(format!("/{name}"))
}
