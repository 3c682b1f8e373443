//! Secret hand-over: sealed memory files, so that no message to the launcher holds a secret.

use std::io;
use std::os::fd::OwnedFd;

use haft_model::Secret;
use rustix::fs::{MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, memfd_create, seek};

/// A sealed memory file that holds a secret.
pub(super) fn sealed(secret: &Secret) -> io::Result<OwnedFd> {
    in_memory(secret.expose())
}

/// A sealed memory file with a text, positioned at its beginning.
pub(crate) fn in_memory(text: &str) -> io::Result<OwnedFd> {
    let usual = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some machines require `NOEXEC_SEAL`; kernels before 6.3 do not know it.
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
