//! Settings checks: unaccepted settings, state that can be lost, and the leftovers of runs.

use std::fs;

use super::super::Host;
use super::{Degree, DoctorFinding};
use crate::GoverningStanding;

impl Host {
    /// Everything of this kind.
    pub(super) fn settings_examined(&self) -> Vec<DoctorFinding> {
        let all = [self.acceptance_examined(), self.quarantine_examined(), self.memo_examined()];
        all.into_iter().flatten().collect()
    }

    /// Whether what governs is what people accepted.
    fn acceptance_examined(&self) -> Option<DoctorFinding> {
        let (degree, words) = match self.workspace().governing_standing() {
            GoverningStanding::Accepted => return None,
            GoverningStanding::Unrecorded => {
                let words = "haft.lock does not hold what governs, so a looser setting goes unseen";
                (Degree::Note, words.to_owned())
            }
            GoverningStanding::Tighter(files) => {
                (Degree::Note, format!("{} is stricter than was accepted", files.join(", ")))
            }
            GoverningStanding::Looser(files, ways) => {
                let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
                let ways = if ways.is_empty() { files.join(", ") } else { ways.join("; ") };
                let words = format!("looser than was accepted, so that no server starts: {ways}");
                (Degree::Broken, words)
            }
        };
        Some(DoctorFinding::new("settings", degree, words).mended_by("haft accept --settings"))
    }

    /// Whether something lies in quarantine that a confined program made.
    fn quarantine_examined(&self) -> Option<DoctorFinding> {
        let folder = self.workspace().root().join(".haft/quarantine");
        let kept = fs::read_dir(&folder).into_iter().flatten().flatten().count();
        let shown = folder.display();
        let runs = if kept == 1 { "one run" } else { "several runs" };
        let words =
            format!("`{shown}` holds what {runs} made, or could have made, and should not have");
        let seen = DoctorFinding::new("quarantine", Degree::Warning, words);
        let mend = format!(
            "read {shown}/*/NOTE.txt, which tells how to put back a file of yours, then rm -r {shown}/*"
        );
        (kept > 0).then(|| seen.mended_by(mend))
    }

    /// Whether the memo of which store this is goes together with the workspace's other files.
    fn memo_examined(&self) -> Option<DoctorFinding> {
        let workspace = self.workspace();
        let file = workspace.settings().store.identity_file.as_ref()?;
        let root = workspace.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let place = root.join(file);
        let existing = place.ancestors().find_map(|path| path.canonicalize().ok())?;
        let words = format!(
            "`identity_file` is `{file}` inside of the workspace: what deletes the store, such as \
             `git clean -fdx`, deletes the memory of it too"
        );
        let seen = DoctorFinding::new("store", Degree::Warning, words);
        let mend =
            "name a file outside of the workspace under `[store]`, or take `identity_file` out";
        existing.starts_with(&root).then(|| seen.mended_by(mend))
    }
}
