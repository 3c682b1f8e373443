//! `haft audit`: verifies the ledger's hash chain, and exports it for an auditor.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::{IdentityFile, LoadOptions, Workspace};
use haft_ledger::{
    ForeignRecord, LogHead, Pins, Verification, export, rebuild_store, receive,
    verify_folder_against, verify_store_against,
};
use haft_model::{Code, Stop};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Check the log of this workspace, or of an exported folder, byte for byte and offline.
    Verify {
        /// A folder that `haft audit export` wrote; the workspace's own store when absent.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// The fingerprint of the key that signed it, as an earlier check printed it; several may be
        /// given.
        #[arg(long = "key", value_name = "FINGERPRINT", value_parser = fingerprint)]
        keys: Vec<String>,
        /// An end that was seen before, `NUMBER:HASH`, as an earlier check or export printed it; several
        /// may be given.
        #[arg(long = "head", value_name = "HEAD")]
        heads: Vec<LogHead>,
    },
    /// Read records of Agent Tool that another program, or an older version, wrote.
    Read {
        /// Records in JSON: one, a list or one a line, as `haft trace --records` prints them or bare.
        file: PathBuf,
    },
    /// Make the lists of calls, questions, answers and tokens again from the log.
    Rebuild,
    /// Write the log, its signed end and the public keys into a folder.
    Export {
        /// Where.
        #[arg(long, value_name = "DIR")]
        output: PathBuf,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments {
        Arguments::Verify { folder, keys, heads } => verify(context, folder, (keys, heads)),
        Arguments::Read { file } => read(context, &file),
        Arguments::Rebuild => rebuild(context),
        Arguments::Export { output } => export_to(context, output).await,
    }
}

fn verify(
    context: &Context,
    folder: Option<PathBuf>,
    (keys, heads): (Vec<String>, Vec<LogHead>),
) -> Result<Exit> {
    let found = match folder {
        Some(folder) => verify_folder_against(&folder, &Pins { keys, heads, store: None }),
        None => {
            let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
            let mut pins = workspace.store_pins(&IdentityFile::default())?;
            pins.keys.extend(keys);
            pins.heads.extend(heads);
            let found = verify_store_against(&workspace.store_files()?, &pins);
            if let (true, Some(last)) = (found.is_sound(), &found.last) {
                remember(&workspace, last, &found.keys);
            }
            found
        }
    };
    if context.json {
        output::json(&serde_json::to_value(&found)?)?;
    } else {
        show(&found)?;
    }
    Ok(if found.is_sound() { Exit::Done } else { Exit::FAILED })
}

/// A text that can be a fingerprint.
fn fingerprint(text: &str) -> Result<String, String> {
    let fits = (16..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match fits {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("write 16 to 64 hexadecimal digits, as `haft audit verify` prints".to_owned()),
    }
}

/// Remembers how far the log was seen, so that the next check on this machine notices a shorter one.
fn remember(workspace: &Workspace, head: &LogHead, keys: &[String]) {
    if let Err(fault) = workspace.remember_head(&IdentityFile::default(), head, keys) {
        output::remark(format!("warning: {fault}: a later check cannot be held to this end"));
    }
}

fn read(context: &Context, file: &Path) -> Result<Exit> {
    let text = std::fs::read_to_string(file).with_context(|| format!("`{}`", file.display()))?;
    let records = match receive(&text) {
        Ok(records) => records,
        Err(fault) => {
            let stop = Stop::new(Code::InputValue, format!("`{}`: {fault}", file.display()));
            return output::stop(&stop, context.json);
        }
    };
    if context.json {
        output::json(&serde_json::to_value(&records)?)?;
        return Ok(Exit::Done);
    }
    for ForeignRecord { kind, record, was, remarks } in &records {
        let of = record.get("event_type").or(record.get("status")).or(record.get("tool_id"));
        let of = of.and_then(Value::as_str).unwrap_or_default();
        let was = was.as_ref().map(|was| format!(", written in {was}")).unwrap_or_default();
        output::line(format!("{kind:<20}  {}{was}", output::visible(of)))?;
        for remark in remarks {
            output::line(format!("{:20}  ! {}", "", output::visible(remark)))?;
        }
    }
    Ok(Exit::Done)
}

fn rebuild(context: &Context) -> Result<Exit> {
    let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
    let files = workspace.store_files()?;
    if !files.db.is_file() {
        workspace.store_is_not_missing(&IdentityFile::default())?;
        return nothing_yet(context);
    }
    let entries = rebuild_store(&files).map_err(haft::Error::from)?;
    if context.json {
        output::json(&json!({ "entries": entries }))?;
    } else {
        output::line(format!("the lists are those that follow from {entries} entries"))?;
    }
    Ok(Exit::Done)
}

fn nothing_yet(context: &Context) -> Result<Exit> {
    let stop = Stop::new(Code::ResourceNotFound, "nothing was recorded yet");
    output::stop(&stop, context.json)
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
    if let Some(last) = &found.last {
        output::line(format!("  head {last}"))?;
    }
    for key in &found.keys {
        output::line(format!("  key  {key}"))?;
    }
    Ok(())
}

async fn export_to(context: &Context, folder: PathBuf) -> Result<Exit> {
    let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
    let files = workspace.store_files()?;
    if !files.db.is_file() {
        workspace.store_is_not_missing(&IdentityFile::default())?;
        return nothing_yet(context);
    }
    // It remembers the end that is exported when it is closed.
    let store = workspace.open_store(&IdentityFile::default())?;
    let count = export(&store, &folder).await.map_err(haft::Error::from)?;
    let head = store.signed_head().await.map_err(haft::Error::from)?;
    let key = store.key().to_owned();
    store.close().await.map_err(haft::Error::from)?;
    if context.json {
        output::json(&json!({ "entries": count, "folder": folder, "head": head, "key": key }))?;
    } else {
        let folder = folder.display();
        output::line(format!("wrote {count} entries to {folder}"))?;
        if let Some(head) = &head {
            output::line(format!("  head {head}"))?;
        }
        output::line(format!("  key  {key}"))?;
        output::remark(format!("  `haft audit verify {folder}` checks them anywhere"));
    }
    Ok(Exit::Done)
}
