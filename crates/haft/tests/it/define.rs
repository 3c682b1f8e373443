//! Tests of code-defined contracts and drivers: types in, the catalog's answers and outputs out.

mod driver;
mod run;
mod schema;
mod workspace;

use haft::{
    Args, DefineError, Definitions, DriverHandle, LoadOptions, Tool, ToolHandle, Workspace,
};
use haft_catalog::Snapshot;
use haft_contract::Severity;
use haft_model::{ActorId, ApprovalClass, Call, Plan, Stop, Timestamp, utc_day};
use haft_testkit::Folder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Deserialize, JsonSchema)]
struct Sides {
    /// How long the first one is.
    width: u32,
    /// How long the other one is.
    height: Option<u32>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Area {
    area: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Kept {
    length: usize,
}

/// A contract that reads.
fn area() -> ToolHandle<Sides, Area> {
    Tool::<Sides, Area>::builder("shape.area")
        .description("Says how large a rectangle is.")
        .read_only()
        .define()
        .unwrap()
}

/// A contract that writes.
fn keep() -> ToolHandle<Note, Kept> {
    Tool::<Note, Kept>::builder("note.keep")
        .description("Keeps a note.")
        .mutates(["workspace:notes"])
        .approval(ApprovalClass::OnMutate)
        .risk(1)
        .define()
        .unwrap()
}

/// A driver for both.
fn host() -> DriverHandle {
    haft::define_driver("host-shapes")
        .implement(&area(), |args: Args<Sides>| async move {
            let Sides { width, height } = args.input;
            Ok(Area { area: u64::from(width) * u64::from(height.unwrap_or(width)) })
        })
        .implement(
            &keep(),
            |args: Args<Note>| async move { Ok(Kept { length: args.input.text.len() }) },
        )
        .define()
        .unwrap()
}

/// A workspace of some files with what the program defines.
fn load(folder: &Folder, definitions: Definitions) -> Workspace {
    let options = LoadOptions { definitions, ..LoadOptions::default() };
    Workspace::load(folder.path(), options).unwrap()
}

fn plan(snapshot: &Snapshot, tool: &str, input: Value) -> Result<Plan, Stop> {
    let call = Call::new(ActorId::from("agent:a"), tool, input);
    snapshot.plan(call, utc_day(Timestamp::now()))
}

/// What is wrong, as `code file: message`, beside that nothing was accepted yet.
fn said(workspace: &Workspace) -> Vec<String> {
    let unaccepted = ["L005", "L006"];
    let found = workspace.diagnostics().iter().filter(|at| !unaccepted.contains(&at.code));
    found.map(|at| format!("{} {}: {}", at.code, at.file, at.message)).collect()
}

/// Why something could not be defined, as codes.
fn codes(error: &DefineError) -> Vec<&str> {
    match error {
        DefineError::Refused { diagnostics, .. } => diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(|found| found.code)
            .collect(),
        other => panic!("{other}"),
    }
}
