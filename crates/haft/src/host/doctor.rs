//! Doctor: checks of the machine and the workspace, each with the command that mends what is wrong.

mod drivers;
mod hardening;
mod machine;
mod people;
mod records;
mod settings;

use haft_contract::Severity;
use haft_model::{Actor, Timestamp, utc_day};

use super::Host;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The subject, such as `store` or `driver shop-http`.
    pub what: String,
    /// The severity.
    pub degree: Degree,
    /// The finding in words.
    pub says: String,
    /// The command that mends it.
    pub mend: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Degree {
    /// As it should be.
    Fine,
    /// Information; nothing to mend.
    Note,
    /// It works, and the operator should look at it.
    Warning,
    /// Something cannot work like this.
    Broken,
}

impl Degree {
    /// The severity as a stable word.
    pub fn name(self) -> &'static str {
        match self {
            Degree::Fine => "ok",
            Degree::Note => "note",
            Degree::Warning => "warning",
            Degree::Broken => "broken",
        }
    }
}

impl DoctorFinding {
    /// Something that is so.
    pub fn new(what: impl Into<String>, degree: Degree, says: impl Into<String>) -> DoctorFinding {
        DoctorFinding { what: what.into(), degree, says: says.into(), mend: None }
    }

    /// The same with the command that mends it.
    pub fn mended_by(self, command: impl Into<String>) -> DoctorFinding {
        DoctorFinding { mend: Some(command.into()), ..self }
    }
}

impl Host {
    /// Looks at everything that calls of an actor depend on. Programs are asked for their versions
    /// and backends whether they work; nothing is changed but what is on record of both.
    pub async fn examine(&self, actor: &Actor) -> Vec<DoctorFinding> {
        let mut found = self.manifests();
        found.extend(self.store_examined().await);
        found.extend(self.remembered_store_examined());
        found.push(self.sandbox_examined().await);
        found.extend(self.keys_examined());
        found.push(self.clock_examined().await);
        found.extend(self.drivers_examined(actor).await);
        found.extend(self.calls_examined().await);
        found.extend(self.hardening_examined().await);
        found.extend(self.settings_examined());
        found.extend(self.people_examined());
        found
    }

    /// The manifests, and which of them the lock does not know as they are.
    fn manifests(&self) -> Vec<DoctorFinding> {
        let workspace = self.workspace();
        let count = |severity| {
            let all = workspace.diagnostics().iter();
            all.filter(|found| found.severity == severity).count()
        };
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let read = workspace.manifest_count();
        let words = format!("{read} manifests, {errors} errors, {warnings} warnings");
        let manifests = match (errors, warnings) {
            _ if read == 0 => {
                let words = "there are no manifests, so only what comes with Haft can be called";
                DoctorFinding::new("workspace", Degree::Note, words).mended_by("haft init")
            }
            (0, 0) => DoctorFinding::new("workspace", Degree::Fine, words),
            (0, _) => DoctorFinding::new("workspace", Degree::Note, words).mended_by("haft check"),
            (_, _) => {
                DoctorFinding::new("workspace", Degree::Broken, words).mended_by("haft check")
            }
        };
        let today = utc_day(Timestamp::now());
        let blocked = workspace.snapshot().entries().filter_map(|entry| {
            let block = entry.blocked(today)?;
            let accept = block.help.contains("haft accept");
            let key = entry.contract.key();
            let words = block.message;
            accept.then(|| {
                DoctorFinding::new("lock", Degree::Warning, words)
                    .mended_by(format!("haft accept {key}"))
            })
        });
        std::iter::once(manifests).chain(blocked).collect()
    }
}
