//! Verified download of a program: its SHA-256 matches, or it is not used.

use std::fs;
use std::path::Path;
use std::time::Duration;

use haft_model::{Digest, Stop};
use haft_sandbox::{Access, AddressGuard, ConfinedProgram, ExitKind, MountedPath};

use super::{Provision, setup};
use crate::web;

/// Most bytes of a program or archive.
const LARGEST: usize = 256 * 1024 * 1024;

/// Timeout of a download.
const PATIENCE: Duration = Duration::from_secs(300);

/// Downloads a URL and verifies its SHA-256.
pub(super) async fn fetch(url: &str, sha256: &str, guard: &AddressGuard) -> Result<Vec<u8>, Stop> {
    let bytes = tokio::time::timeout(PATIENCE, web::download(guard, url, LARGEST)).await;
    let bytes = bytes.map_err(|_| setup(format!("`{url}` took too long")))?;
    let bytes = bytes.map_err(|why| setup(format!("`{url}` could not be fetched: {why}")))?;
    let found = Digest::of_bytes(&bytes);
    let found = found.as_str().trim_start_matches("sha256:");
    match found == sha256 {
        true => Ok(bytes),
        false => {
            let words = format!("`{url}` has the hash {found}, and {sha256} was declared");
            Err(setup(words).help("do not use it: ask its publisher"))
        }
    }
}

impl Provision {
    /// Extracts one file from an archive with a `tar` that sees only the shelf.
    pub(super) async fn untarred(
        &self,
        archive: &Path,
        shelf: &Path,
        inner: &str,
    ) -> Result<(), Stop> {
        let shelf = fs::canonicalize(shelf).unwrap_or_else(|_| shelf.to_owned());
        let archive = shelf.join(archive.file_name().unwrap_or_default());
        let args = ["--extract", "--no-same-owner", "--file"].map(str::to_owned).into_iter();
        let args = args.chain([archive.display().to_string(), "--".to_owned(), inner.to_owned()]);
        let confined = ConfinedProgram {
            program: "tar".into(),
            args: args.collect(),
            shown: vec![MountedPath { path: shelf.clone(), access: Access::Write }],
            cwd: shelf,
            ..ConfinedProgram::default()
        };
        let ended = self.ran(confined, &self.place.walls, Duration::from_secs(120)).await?;
        match ended.end {
            ExitKind::Exited(0) => Ok(()),
            ExitKind::Exited(_)
            | ExitKind::Killed(_)
            | ExitKind::OutOfMemory
            | ExitKind::OutOfTime
            | ExitKind::CalledOff => {
                let said = crate::failure::complaint(&ended.stderr);
                Err(setup(format!("`{inner}` could not be taken out of the archive{said}")))
            }
        }
    }
}
