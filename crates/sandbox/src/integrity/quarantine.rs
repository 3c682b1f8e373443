//! Quarantine: keeps what a run should not have made out of every program's sight, with a note.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_model::governing::STATE_FOLDER;

use super::survey::Survey;
use super::{GoverningChange, Intrusion};

/// The name of the note that describes the content.
const NOTE: &str = "NOTE.txt";

/// The quarantine folder of one run.
pub(super) struct Quarantine {
    workspace: PathBuf,
    folder: PathBuf,
}

impl Quarantine {
    /// Names a new folder, which is created on first use.
    pub(super) fn at(workspace: &Path) -> Quarantine {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{}", since.as_millis(), std::process::id());
        let folder = workspace.join(STATE_FOLDER).join("quarantine").join(name);
        Quarantine { workspace: workspace.to_owned(), folder }
    }

    /// Moves what was made to quarantine, and restores the symlinks and files that were there.
    pub(super) fn take(&self, intrusions: &mut [Intrusion], before: &Survey) {
        let mut note = String::from("Moved here because a confined program could have made it:\n");
        // What lies in a moved folder went along with it.
        for intrusion in intrusions.iter_mut() {
            if matches!(
                intrusion.change,
                GoverningChange::Created | GoverningChange::Relinked | GoverningChange::Replaced
            ) {
                intrusion.quarantined = self.keep(&intrusion.path).ok();
                note.push_str(&described(intrusion));
            }
            let target = before.found.get(&intrusion.path).and_then(|then| then.target.as_ref());
            if let (GoverningChange::Relinked, Some(target)) = (intrusion.change, target) {
                let _ = symlink(target, &intrusion.path);
            }
            if intrusion.change == GoverningChange::Replaced && intrusion.quarantined.is_some() {
                let _ = before.baseline.restore(&intrusion.path);
            }
        }
        if self.folder.is_dir() {
            let _ = fs::write(self.folder.join(NOTE), note);
        }
    }

    fn keep(&self, path: &Path) -> io::Result<PathBuf> {
        let inner = path.strip_prefix(&self.workspace).unwrap_or(path);
        let inner = inner.strip_prefix("/").unwrap_or(inner);
        let kept = self.folder.join(inner);
        if fs::symlink_metadata(path).is_err() && fs::symlink_metadata(&kept).is_ok() {
            return Ok(kept);
        }
        if let Some(above) = kept.parent() {
            fs::create_dir_all(above)?;
        }
        // A path on another file system stays beside, under a name that governs nothing.
        let moved = fs::rename(path, &kept).map(|()| kept).or_else(|_| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let beside = path.with_file_name(format!("quarantine-{}{name}", std::process::id()));
            fs::rename(path, &beside).map(|()| beside)
        })?;
        if fs::symlink_metadata(&moved).is_ok_and(|about| about.is_file()) {
            fs::set_permissions(&moved, fs::Permissions::from_mode(0o600))?;
        }
        Ok(moved)
    }
}

/// What the note says of one file: why it is here, and the command that puts it back.
fn described(intrusion: &Intrusion) -> String {
    let Intrusion { path, change, reason, quarantined } = intrusion;
    let mut words = format!("- {}: {reason}\n", path.to_string_lossy().escape_debug());
    if *change == GoverningChange::Replaced {
        words.push_str(
            "  It was replaced while a program could write it, perhaps by a person (`git config`, an \
             editor).\n  Its earlier content is back in place, if Haft had kept it.\n",
        );
    }
    let ends = quarantined.as_deref().and_then(shell_word).zip(shell_word(path));
    if let Some((kept, place)) = ends {
        words.push_str(&format!(
            "  If it is yours, read it, stop the servers of this workspace, and put it back:\n  \
             mv -f -- {kept} {place}\n"
        ));
    }
    words
}

/// A path as one word of a shell; `None` for one that a terminal would not show as it is.
fn shell_word(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control))?;
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_one_shell_word_or_none() {
        for (path, expected) in [
            ("/w/.git/config", Some("'/w/.git/config'")),
            ("/w/a b/$(x);`y`/.envrc", Some("'/w/a b/$(x);`y`/.envrc'")),
            ("/w/it's/.envrc", Some(r"'/w/it'\''s/.envrc'")),
            ("/w/a\nrm -r x/.envrc", None),
            ("/w/\u{1b}[2J/.envrc", None),
        ] {
            assert_eq!(shell_word(Path::new(path)).as_deref(), expected, "{path:?}");
        }
    }
}
