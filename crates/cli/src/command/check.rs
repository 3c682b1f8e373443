//! `haft check`: reads every manifest and says what is wrong.

use std::path::PathBuf;

use anyhow::Result;
use haft::{LoadOptions, Workspace};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print SARIF, for code review.
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
    /// Hold manifests to the schemas that the AIPs publish, from this folder.
    #[arg(long, value_name = "DIR")]
    strict_published_schema: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let options =
        LoadOptions { published_schemas: arguments.strict_published_schema, ..Default::default() };
    let workspace = Workspace::load(&context.directory, options)?;
    let diagnostics = workspace.diagnostics();
    if context.json {
        output::json(&json!({ "diagnostics": diagnostics }))?;
    } else if arguments.sarif {
        output::json(&output::sarif(diagnostics))?;
    } else {
        output::show_diagnostics(&workspace, diagnostics)?;
        output::line(output::summary(diagnostics, workspace.manifest_count()))?;
    }
    Ok(if workspace.has_errors() { Exit::FAILED } else { Exit::Done })
}
