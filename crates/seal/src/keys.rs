//! Key files: 32 random bytes with owner-only permissions, created on first use.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A secret key of 256 bits.
pub type Key = [u8; 32];

/// Reads a key file, or creates one. Of several concurrent creators, one wins.
pub fn load_or_make(path: &Path) -> io::Result<Key> {
    match load(path) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    let key = generate()?;
    let beside = beside(path)?;
    let written = write_new(&beside, hex(&key).as_bytes());
    // A link, unlike a rename, never replaces an existing file.
    let linked = written.and_then(|()| fs::hard_link(&beside, path));
    fs::remove_file(&beside)?;
    match linked {
        Err(fault) if fault.kind() != ErrorKind::AlreadyExists => Err(fault),
        Ok(()) | Err(_) => load(path),
    }
}

/// A fresh random key.
pub fn generate() -> io::Result<Key> {
    let mut key = Key::default();
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

/// Reads the key of a file.
pub fn load(path: &Path) -> io::Result<Key> {
    let mut text = String::new();
    File::open(path)?.read_to_string(&mut text)?;
    unhex(text.trim())
        .and_then(|bytes| Key::try_from(bytes).ok())
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the file holds no key"))
}

/// Atomic replace: writes a file beside it, syncs it, and renames it over the old one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    write_new(&beside, bytes)?;
    fs::rename(&beside, path)
}

/// Syncs the folder of a file, so that a replaced file stays replaced after a crash.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// An unused name in the same folder.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut tag = [0; 8];
    getrandom::fill(&mut tag).map_err(io::Error::other)?;
    Ok(path.with_extension(format!("{}.part", hex(&tag))))
}

/// Writes and syncs a new file that only its owner may read.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
        text
    })
}

/// Decodes hexadecimal text.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect(),
    )
}
