//! Log export: a log as portable files, written by `export` and checked by `verify_folder`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::chain::ChainWalk;
use super::store::published_head;
use super::{Finding, Pins, Verification};
use crate::signed_checkpoint::{HEAD, KEYS, Keyring};
use crate::sqlite::SqliteStore;
use crate::{Error, LedgerEntry, Store};

/// The file of the entries, one line each.
const LOG: &str = "audit-log.jsonl";

/// Page size, in entries.
const PAGE: usize = 1000;

/// Exports a store's log into a folder: the entries, the signed checkpoint and the public keys.
/// Payloads are not exported.
pub async fn export(store: &SqliteStore, folder: &Path) -> Result<u64, Error> {
    let failed = |fault: io::Error| Error::Unwritable { cause: fault.to_string() };
    store.flush().await?;
    fs::create_dir_all(folder).map_err(failed)?;
    // A concurrent writer makes the log longer than the checkpoint copied here, never shorter.
    let from = store.options().folder();
    for name in [HEAD, KEYS] {
        match fs::copy(from.join(name), folder.join(name)) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(failed(fault)),
            Ok(_) | Err(_) => {}
        }
    }
    let mut log = BufWriter::new(File::create(folder.join(LOG)).map_err(failed)?);
    let mut count = 0;
    let mut after = None;
    loop {
        let page = store.entries(after, PAGE).await?;
        let Some(LedgerEntry { seq, .. }) = page.last() else { break };
        after = Some(*seq);
        count += page.len() as u64;
        for entry in &page {
            writeln!(log, "{}", entry.line).map_err(failed)?;
        }
    }
    let log = log.into_inner().map_err(|fault| failed(fault.into_error()))?;
    log.sync_all().map_err(failed)?;
    Ok(count)
}

/// Verifies a folder that `export` wrote, or one of the same form.
pub fn verify_folder(folder: &Path) -> Verification {
    verify_folder_against(folder, &Pins::default())
}

/// The same, checked against pins.
pub fn verify_folder_against(folder: &Path, pins: &Pins) -> Verification {
    let (heads, unreadable) = published_head(folder);
    let mut walk = ChainWalk::new(heads, &Keyring::load(folder), pins);
    unreadable.into_iter().for_each(|finding| walk.report(finding));
    match fs::read(folder.join(LOG)) {
        Ok(bytes) => lines(&mut walk, &bytes),
        Err(fault) => {
            let message = format!("`{LOG}` cannot be read: {fault}");
            walk.report(Finding::of_all("store.corrupt", message));
        }
    }
    walk.end();
    if walk.found.entries == 0 && walk.found.is_sound() {
        // An empty export looks like one from which everything was removed.
        let message = "nothing is on record, and so no end of it is signed";
        walk.report(Finding::of_all("head.missing", message));
    }
    walk.found
}

fn lines(walk: &mut ChainWalk, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end);
        walk.take(None, line);
        rest = after.get(1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        let message = "the last line has no end, so it may not be whole";
        walk.take(None, rest);
        walk.report(Finding::of_all("chain.truncated", message));
    }
}
