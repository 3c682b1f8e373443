//! Readiness records: installed programs, backend health and open circuit breakers, kept between
//! processes.
//!
//! `.haft/drivers.json` records for each driver and person what is installed and set up, because a
//! home folder is a person's own; `.haft/health.json` records the last health check of its backend.

mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use haft_catalog::{Circuit, Health, OpenBreaker};
use haft_drivers::Checkup;
use haft_model::{Timestamp, ToolKey};
use serde::{Deserialize, Serialize};

use crate::Error;
pub(crate) use kept::{Fresh, JsonFile, Stamp, stamp};

/// The most circuits of a driver that are shared with other processes: callers choose hosts.
const MOST_CIRCUITS: usize = 64;

/// The installation record of one driver for one person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRecord {
    /// Whether its program was found.
    pub installed: bool,
    /// Which file that was, and from when: another one may have another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The version that the program reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the driver supports that version.
    pub version_fits: bool,
    /// Why the version does not fit, where a check ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit: Option<String>,
    /// When the last check ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// Setup steps that are done.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub steps: BTreeSet<String>,
    /// Whether the setup is complete.
    pub ready: bool,
}

/// Records by driver and person.
pub(crate) type Records = BTreeMap<String, BTreeMap<String, DriverRecord>>;

/// The installation records of every driver's program in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    file: JsonFile,
    drivers: Records,
}

impl Readiness {
    /// Loads the records of a workspace. A file that cannot be read is an error, since a rewrite
    /// would lose its content.
    pub fn load(root: &Path) -> Result<Readiness, Error> {
        let file = Readiness::file(root);
        let drivers = file.read()?;
        Ok(Readiness { file, drivers })
    }

    pub(crate) fn file(root: &Path) -> JsonFile {
        JsonFile::new(root.join(".haft/drivers.json"))
    }

    /// Every record of a driver that is there, with the person whose it is.
    pub fn of<'a>(&'a self, driver: &str) -> impl Iterator<Item = (&'a str, &'a DriverRecord)> {
        let records = self.drivers.get(driver).into_iter().flatten();
        records.map(|(person, record)| (person.as_str(), record))
    }

    /// The record of a driver for a person; empty where there is none.
    pub fn get(&self, driver: &str, person: &str) -> DriverRecord {
        self.of(driver)
            .find(|(whose, _)| *whose == person)
            .map(|(_, record)| record.clone())
            .unwrap_or_default()
    }

    /// Puts on record what is known, at once and whole.
    pub fn put(&mut self, driver: &str, person: &str, record: DriverRecord) -> Result<(), Error> {
        self.drivers = self.file.change(|drivers: &mut Records| {
            drivers.entry(driver.to_owned()).or_default().insert(person.to_owned(), record);
        })?;
        Ok(())
    }
}

/// The health record of a driver's backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HealthRecord {
    /// The last health check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkup: Option<Checkup>,
    /// Open circuit breakers of the driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) circuits: Vec<OpenCircuit>,
}

/// An open circuit breaker: a tool of a driver, perhaps at one host, that failed again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenCircuit {
    /// The tool, as `id@major`.
    pub(crate) tool: String,
    /// The host, where callers choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// Failures in a row, and when the circuit becomes half-open.
    #[serde(flatten)]
    pub(crate) rest: OpenBreaker,
}

impl OpenCircuit {
    pub(crate) fn of(circuit: &Circuit, rest: OpenBreaker) -> OpenCircuit {
        OpenCircuit { tool: circuit.tool.to_string(), host: circuit.host.clone(), rest }
    }

    pub(crate) fn is(&self, circuit: &Circuit) -> bool {
        self.tool == circuit.tool.to_string() && self.host == circuit.host
    }

    /// The circuit that it is of a driver.
    pub(crate) fn circuit(&self, driver: &str) -> Option<Circuit> {
        let (id, major) = ToolKey::split(&self.tool);
        let tool = ToolKey::new(id, major?);
        Some(Circuit { driver: driver.into(), tool, host: self.host.clone() })
    }
}

/// The backends of a workspace, by driver.
pub(crate) type HealthRecords = BTreeMap<String, HealthRecord>;

/// The file of the backends of a workspace.
pub(crate) fn health_file(root: &Path) -> JsonFile {
    JsonFile::new(root.join(".haft/health.json"))
}

impl HealthRecord {
    /// The current health. A failure expires after the interval that the driver sets; a success is
    /// worth knowing for longer.
    pub(crate) fn health(&self, now: Timestamp) -> Health {
        match &self.checkup {
            Some(Checkup { at, why: None, .. }) => Health::Passed(*at),
            Some(checkup) if checkup.is_fresh(now) => {
                Health::Failed(checkup.why.clone().unwrap_or_default())
            }
            Some(_) | None => Health::NotLooked,
        }
    }

    /// The circuits that are open now.
    pub(crate) fn open(&self, now: Timestamp) -> impl Iterator<Item = &OpenCircuit> {
        self.circuits.iter().filter(move |one| now < one.rest.until)
    }

    /// The open breaker of a tool, whatever the host.
    pub(crate) fn rest(&self, tool: &ToolKey, now: Timestamp) -> Option<OpenBreaker> {
        let tool = tool.to_string();
        let found = self.open(now).find(|one| one.host.is_none() && one.tool == tool);
        found.map(|one| one.rest.clone())
    }

    /// Records that a circuit opened or closed, and drops expired entries.
    pub(crate) fn rests(&mut self, circuit: &Circuit, rest: Option<OpenBreaker>, now: Timestamp) {
        self.circuits.retain(|one| now < one.rest.until && !one.is(circuit));
        if self.circuits.len() < MOST_CIRCUITS {
            self.circuits.extend(rest.map(|rest| OpenCircuit::of(circuit, rest)));
        }
    }
}
