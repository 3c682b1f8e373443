//! Program readiness: whether a driver's program is installed, set up, and of the right version.

use haft_catalog::{Mend, Probe};
use haft_contract::Driver;
use haft_model::{DriverKind, Timestamp};
use haft_notation::range;

use super::Watch;
use super::declares::Declares;
use crate::Error;
use crate::readiness::{DriverRecord, Readiness, Records};

/// Whether a version lies in a range.
fn version_fits(version: &str, wanted: &str) -> bool {
    range::parse(wanted).is_ok_and(|wanted| wanted.contains(version))
}

impl Watch {
    /// Whether the program of a driver is there, of the right version and set up, as far as a look
    /// at files tells.
    pub(super) fn program(&self, driver: &Driver, declares: &Declares) -> (Probe, Probe) {
        let Some(provision) = &declares.program else {
            return (Probe::NotLooked, Probe::NotLooked);
        };
        let run = || format!("haft setup {}", driver.id);
        if let Err(stop) = provision.program() {
            return (Probe::Failed(Mend { why: stop.message, run: run() }), Probe::NotLooked);
        }
        let records = self.records.get(|_| Readiness::file(&self.root).read::<Records>());
        let known = records.get(driver.id.as_str());
        let of_person = |(whose, _): &(&String, &DriverRecord)| {
            self.person.as_ref().is_none_or(|person| *whose == person)
        };
        let mine = known.into_iter().flatten().find(of_person).map(|(_, record)| record);
        let done = |step: &&String| mine.is_some_and(|mine| mine.steps.contains(*step));
        if let Some(left) = declares.steps.iter().find(|step| !done(step)) {
            let why = format!("step `{left}` of its set-up is not done");
            return (Probe::Failed(Mend { why, run: run() }), Probe::NotLooked);
        }
        // A record about another file says nothing about this one.
        let same = provision.stamp();
        let looked = known.into_iter().flatten().map(|(_, record)| record);
        let mut looked = looked.filter(|record| record.program.is_some() && record.program == same);
        let version = match looked.next() {
            Some(record) if record.version_fits => Probe::Passed,
            Some(record) => {
                let unknown = || "the version of its program is unknown".to_owned();
                let why = record.misfit.clone().unwrap_or_else(unknown);
                Probe::Failed(Mend { why, run: run() })
            }
            None => Probe::NotLooked,
        };
        (Probe::Passed, version)
    }

    /// Runs the version check of a driver's program, where it declares one and this very file has
    /// no record yet, and records the answer.
    pub(in crate::host) async fn ask_version(&self, driver: &Driver) -> Result<(), Error> {
        if driver.kind != DriverKind::Cli {
            return Ok(());
        }
        let declares = self.declares(driver);
        let Some(provision) = declares.program.as_ref().filter(|_| declares.asks_version) else {
            return Ok(());
        };
        let Some(file) = provision.stamp().filter(|file| !self.knows(driver, file)) else {
            return Ok(());
        };
        let asked = provision.version(version_fits).await;
        let misfit = asked.as_ref().err().map(|stop| stop.message.clone());
        let person = self.person.as_deref().unwrap_or("local");
        let mut readiness = Readiness::load(&self.root)?;
        let known = readiness.get(driver.id.as_str(), person);
        let record = DriverRecord {
            installed: true,
            program: Some(file),
            version_fits: misfit.is_none(),
            misfit,
            version: asked.ok().flatten(),
            checked_at: Some(Timestamp::now()),
            ..known
        };
        readiness.put(driver.id.as_str(), person, record)
    }

    /// Whether a version check of this very file is on record.
    fn knows(&self, driver: &Driver, file: &str) -> bool {
        let records = self.records.get(|_| Readiness::file(&self.root).read::<Records>());
        let mut known = records.get(driver.id.as_str()).into_iter().flatten();
        known.any(|(_, record)| record.program.as_deref() == Some(file))
    }
}
