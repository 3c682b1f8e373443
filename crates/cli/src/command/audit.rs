//! `haft audit`: proving what was recorded, and handing it to somebody else.

use std::path::PathBuf;

use anyhow::Result;
use haft::{LoadOptions, Workspace};
use haft_ledger::{SqliteStore, Verification, export, verify_folder, verify_store};
use haft_model::{Code, Stop};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Check the log of this workspace, or of an exported folder, byte for byte and offline.
    Verify {
        /// A folder that `haft audit export` wrote; the workspace's own store when absent.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Write the log, its signed end and the public keys into a folder.
    Export {
        /// Where.
        #[arg(long, value_name = "DIR")]
        output: PathBuf,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments {
        Arguments::Verify { folder } => verify(context, folder),
        Arguments::Export { output } => export_to(context, output).await,
    }
}

fn verify(context: &Context, folder: Option<PathBuf>) -> Result<Exit> {
    let found = match folder {
        Some(folder) => verify_folder(&folder),
        None => {
            let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
            verify_store(&workspace.store_files()?)
        }
    };
    if context.json {
        output::json(&serde_json::to_value(&found)?)?;
    } else {
        show(&found)?;
    }
    Ok(if found.is_sound() { Exit::Done } else { Exit::FAILED })
}

fn show(found: &Verification) -> Result<()> {
    for finding in &found.findings {
        let place = finding.seq.map(|seq| format!(" at entry {seq}")).unwrap_or_default();
        let code = finding.code;
        output::line(format!("\x1b[1;31m{code}\x1b[0m{place}: {}", finding.message))?;
    }
    let count = found.entries;
    let entries = if count == 1 { "entry" } else { "entries" };
    match found.findings.len() {
        0 => output::line(format!("\x1b[32m✔\x1b[0m {count} {entries}, every link holds"))?,
        1 => output::line(format!("\x1b[31m✘\x1b[0m {count} {entries}, 1 finding"))?,
        many => output::line(format!("\x1b[31m✘\x1b[0m {count} {entries}, {many} findings"))?,
    }
    match &found.head {
        Some(head) => output::line(format!("  the last is {head}")),
        None => Ok(()),
    }
}

async fn export_to(context: &Context, folder: PathBuf) -> Result<Exit> {
    let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
    let files = workspace.store_files()?;
    if !files.db.is_file() {
        let stop = Stop::new(Code::ResourceNotFound, "nothing was recorded yet");
        return output::stop(&stop, context.json);
    }
    let store = SqliteStore::open(files).map_err(haft::Error::from)?;
    let count = export(&store, &folder).await.map_err(haft::Error::from)?;
    store.close().await.map_err(haft::Error::from)?;
    if context.json {
        output::json(&json!({ "entries": count, "folder": folder }))?;
    } else {
        let folder = folder.display();
        output::line(format!("wrote {count} entries to {folder}"))?;
        output::remark(format!("  `haft audit verify {folder}` checks them anywhere"));
    }
    Ok(Exit::Done)
}
