//! Baseline of mounted governing paths: their identities and contents when a run began.
//!
//! A read-only mount covers a file and not its name. A process outside that renames another file
//! over the name detaches the mount, and the program may write that file from then on. So a changed
//! identity ends the program, and what it could have written is compared with the baseline.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haft_model::governing::{Governing, GoverningKind};

use super::{GoverningChange, Intrusion};

/// Largest file in bytes whose content is kept for a restore, and most bytes kept for one run.
const LARGEST: u64 = 1 << 20;
const MOST_BYTES: u64 = 8 << 20;

/// The identity of a file or folder, whatever its name: device, inode, and birth time, because
/// inode numbers are reused.
pub(super) type Identity = (u64, u64, u64);

/// The identity of a path; a symlink is not followed.
pub(super) fn identity_at(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().map(|about| identity(&about))
}

pub(super) fn identity(about: &Metadata) -> Identity {
    let made = about.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |made| u64::try_from(made.as_nanos()).unwrap_or(u64::MAX));
    (about.dev(), about.ino(), made)
}

/// The paths that were mounted read-only when a run began.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline(BTreeMap<PathBuf, Mounted>);

#[derive(Clone, Debug)]
struct Mounted {
    row: &'static Governing,
    identity: Identity,
    /// Content and mode of a file that is small enough to keep.
    content: Option<(Vec<u8>, u32)>,
}

impl Baseline {
    /// Reads the paths that are about to be mounted.
    pub(super) fn of<'a>(
        paths: impl Iterator<Item = (&'a PathBuf, &'static Governing)>,
    ) -> Baseline {
        let mut left = MOST_BYTES;
        let mut mounted = BTreeMap::new();
        for (path, row) in paths {
            let Ok(about) = fs::symlink_metadata(path) else { continue };
            let held = about.is_file() && about.len() <= LARGEST.min(left);
            let content = held.then(|| fs::read(path).ok()).flatten();
            left = left.saturating_sub(content.as_ref().map_or(0, |bytes| bytes.len() as u64));
            let content = content.map(|bytes| (bytes, about.mode()));
            mounted.insert(path.clone(), Mounted { row, identity: identity(&about), content });
        }
        Baseline(mounted)
    }

    /// Whether a path existed and was mounted.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a mount may be detached, so that the program must be ended.
    pub(super) fn is_stale(&self) -> bool {
        self.0.iter().any(|(path, then)| identity_at(path) != Some(then.identity))
    }

    /// Paths that were replaced from outside and that the program could write since. A file that
    /// the loader reads is left to acceptance, which lets nothing looser come into force.
    pub(super) fn replaced(&self) -> Vec<Intrusion> {
        let changed = self.0.iter().filter(|(path, then)| {
            let is_other = identity_at(path).is_some_and(|now| now != then.identity);
            is_other && !then.is_accepted_by_content(path) && !then.is_same(path)
        });
        let intrusion = |(path, then): (&PathBuf, &Mounted)| Intrusion {
            path: path.clone(),
            change: GoverningChange::Replaced,
            reason: then.row.reason,
            quarantined: None,
        };
        changed.map(intrusion).collect()
    }

    /// Restores a file, after its replacement was moved to quarantine.
    pub(super) fn restore(&self, path: &Path) -> io::Result<()> {
        let Some((bytes, mode)) = self.0.get(path).and_then(|then| then.content.as_ref()) else {
            return Ok(());
        };
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        io::Write::write_all(&mut file, bytes)?;
        file.set_permissions(Permissions::from_mode(*mode & 0o7777))
    }
}

impl Mounted {
    fn is_accepted_by_content(&self, path: &Path) -> bool {
        let gated = matches!(self.row.kind, GoverningKind::Settings | GoverningKind::Manifest);
        gated && fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
    }

    fn is_same(&self, path: &Path) -> bool {
        let Some((bytes, mode)) = &self.content else { return false };
        let same = |about: Metadata| {
            about.is_file() && about.mode() == *mode && about.len() == bytes.len() as u64
        };
        fs::symlink_metadata(path).is_ok_and(same) && fs::read(path).is_ok_and(|now| now == *bytes)
    }
}
