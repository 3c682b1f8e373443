//! Private files: reads a plaintext secret only from a file that its owner alone may access.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use haft_model::Secret;

/// Size limit of such a file, in bytes.
const MOST: u64 = 64 * 1024;

/// Reads a file; refuses one that another user owns, reads or writes.
pub(super) fn read(path: &Path) -> io::Result<Secret> {
    let file = File::open(path)?;
    // Checks the open file, not the path, so that a replaced path does not matter (TOCTOU).
    let about = file.metadata()?;
    let refused = |words: String| Err(io::Error::new(ErrorKind::PermissionDenied, words));
    if !about.is_file() {
        return refused("it is not a regular file".to_owned());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user".to_owned());
    }
    if about.mode() & 0o077 != 0 {
        return refused(format!("others may read or write it (mode {:o})", about.mode() & 0o777));
    }
    if about.len() > MOST {
        return refused(format!("it holds more than {MOST} bytes"));
    }
    let mut text = String::with_capacity(about.len() as usize + 1);
    file.take(MOST).read_to_string(&mut text)?;
    Ok(Secret::new(text))
}
