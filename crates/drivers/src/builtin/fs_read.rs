//! `fs.read`: reads a file of the workspace, or a byte range of it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use haft_driver::{Attempt, Failure, Output};
use haft_model::Stop;
use serde_json::{Value, json};

use super::place::WorkspacePath;
use super::refusal::PathRefusal;
use super::root::Root;
use super::shown::{ByteEnd, show};
use super::{blocking, number, unread, while_running};

const USUAL: u64 = 1024 * 1024;
const MOST: u64 = 10 * 1024 * 1024;

/// Largest read in bytes that stays on this thread: handing it to another takes longer than the
/// read.
const QUICK: u64 = 64 * 1024;

/// The validated input of a call.
pub(super) struct ReadInput {
    place: WorkspacePath,
    offset: u64,
    length: u64,
}

impl ReadInput {
    pub(super) fn of(input: &Value) -> Result<ReadInput, Stop> {
        Ok(ReadInput {
            place: WorkspacePath::of(input)?,
            offset: number(input, "offset", 0..=u64::MAX, 0)?,
            length: number(input, "length", 1..=MOST, USUAL)?,
        })
    }
}

pub(super) async fn run(root: &Root, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    let asked = ReadInput::of(&attempt.input).map_err(while_running).map_err(unread)?;
    let refused = |refusal: PathRefusal| unread(refusal.about(&asked.place));
    let (file, size) = root.open_guarded(&asked.place, &attempt.guard).map_err(unread)?;
    let offset = asked.offset;
    let wanted = asked.length.min(size.saturating_sub(offset));
    let read = if wanted <= QUICK {
        part(&file, offset, wanted)
    } else {
        blocking(move || part(&file, offset, wanted)).await.map_err(unread)?
    };
    let bytes = read.map_err(|fault| refused(fault.into()))?;
    let cut = offset.saturating_add(bytes.len() as u64) < size;
    let shown = show(bytes, if cut { ByteEnd::Cut } else { ByteEnd::Whole });
    Ok(Output::read(json!({
        "path": asked.place.written,
        "content": shown.content,
        "encoding": shown.encoding,
        "size": size,
        "offset": offset,
        "more": offset.saturating_add(shown.bytes as u64) < size,
    })))
}

/// Reads bytes from an offset; fewer if the file was truncated meanwhile.
fn part(file: &File, offset: u64, wanted: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(wanted).unwrap_or_default()];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
