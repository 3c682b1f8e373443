//! Record checks: the store itself, calls with an unknown outcome, open approvals, and missing
//! secrets.

use haft_ledger::{QuestionFilter, RunFilter};
use haft_model::Timestamp;

use super::super::Host;
use super::{Degree, DoctorFinding};

/// How many calls are counted.
const MOST: usize = 1000;

impl Host {
    /// The store's location, and whether it can be written.
    pub(super) async fn store_examined(&self) -> Option<DoctorFinding> {
        let files = self.workspace().store_files();
        let shown = match &files {
            Ok(files) => files.db.display().to_string(),
            Err(fault) => {
                return Some(DoctorFinding::new("store", Degree::Broken, fault.to_string()));
            }
        };
        let there = files.is_ok_and(|files| files.db.is_file());
        Some(match self.store.probe().await {
            Err(fault) => {
                let words = format!("`{shown}` cannot be written: {fault}");
                DoctorFinding::new("store", Degree::Broken, words).mended_by("haft audit verify")
            }
            Ok(()) if !there => DoctorFinding::new(
                "store",
                Degree::Note,
                "nothing was recorded yet, so there is none",
            ),
            Ok(()) => {
                let words = format!("`{shown}`; what may change something waits for the disk");
                DoctorFinding::new("store", Degree::Fine, words)
            }
        })
    }

    /// Whether a missing store would be noticed.
    pub(super) fn remembered_store_examined(&self) -> Option<DoctorFinding> {
        let why = self.unremembered.as_ref()?;
        let words =
            format!("nothing remembers it, so a deleted store is taken for a new one: {why}");
        let found = DoctorFinding::new("store", Degree::Warning, words);
        Some(found.mended_by("set `XDG_STATE_HOME`, or `[store] identity_file` in haft.toml"))
    }

    /// Calls and approvals that wait for people, and secrets without a value.
    pub(super) async fn calls_examined(&self) -> Vec<DoctorFinding> {
        let mut found = Vec::new();
        let broken = |what: &str, says: String| DoctorFinding::new(what, Degree::Broken, says);
        let unknown = RunFilter { unknown: true, most: MOST, ..RunFilter::default() };
        match self.reader().runs(&unknown).await {
            Err(stop) => found.push(broken("calls", stop.message)),
            Ok(runs) if runs.is_empty() => {}
            Ok(runs) => {
                let words = match runs.len() {
                    1 => "the effect of one is unknown".to_owned(),
                    many => format!("the effect of {many} is unknown"),
                };
                let seen = DoctorFinding::new("calls", Degree::Warning, words);
                found.push(seen.mended_by("haft runs --unknown"));
            }
        }
        let open = QuestionFilter { open: true, ..QuestionFilter::default() };
        let now = Timestamp::now();
        match self.runtime().questions(&open).await {
            Err(stop) => found.push(broken("approvals", stop.message)),
            Ok(open) => {
                let waiting = open.iter().filter(|one| one.question.expires_at > now).count();
                let words = match waiting {
                    1 => "one question waits for an answer".to_owned(),
                    many => format!("{many} questions wait for an answer"),
                };
                let seen = DoctorFinding::new("approvals", Degree::Note, words);
                found.extend((waiting > 0).then(|| seen.mended_by("haft approvals")));
            }
        }
        found.extend(self.secrets_examined());
        found
    }

    fn secrets_examined(&self) -> Vec<DoctorFinding> {
        let listed = match self.secrets() {
            Ok(listed) => listed,
            Err(stop) => {
                let found = DoctorFinding::new("secrets", Degree::Broken, stop.message);
                let help = stop.help.filter(|help| !help.is_empty());
                return vec![DoctorFinding { mend: help, ..found }];
            }
        };
        let lacks = |one: &&super::super::SecretState| {
            one.backend == "haft" && one.shared.is_none() && one.actors.is_empty()
        };
        let used = listed.iter().filter(|one| !one.drivers.is_empty() || !one.tools.is_empty());
        let missing = used.filter(lacks).map(|one| {
            let by = if one.drivers.is_empty() { &one.tools } else { &one.drivers };
            let words = format!("`{}` has no value, and {} uses it", one.slug, by.join(", "));
            let found = DoctorFinding::new("secrets", Degree::Warning, words);
            found.mended_by(format!("haft secrets set {}", one.slug))
        });
        missing.collect()
    }
}
