//! Secrets on their way to a program: as files in memory, so that no text of ours holds them.

use std::io;
use std::os::fd::OwnedFd;

use haft_model::Secret;
use rustix::fs::{MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, memfd_create, seek};

/// A file that holds a secret, that nobody can change, and that is on no disk.
pub(super) fn sealed(secret: &Secret) -> io::Result<OwnedFd> {
    in_memory(secret.expose())
}

/// A file that nobody can change and that is on no disk, at its beginning.
pub(crate) fn in_memory(text: &str) -> io::Result<OwnedFd> {
    let usual = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some machines want it said that nobody runs it; kernels before 6.3 do not know the word.
    let file = memfd_create("haft", usual | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| memfd_create("haft", usual))?;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, all)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}
