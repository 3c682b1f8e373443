//! What is known of drivers from before: their programs, their backends, and which of them rest.
//!
//! `.haft/drivers.json` says of each driver and each person what is installed and set up, because a
//! home folder is a person's own; `.haft/health.json` how its backend was when somebody last looked.

mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use haft_catalog::{Circuit, Health, OpenBreaker};
use haft_drivers::Checkup;
use haft_model::{Timestamp, ToolKey};
use serde::{Deserialize, Serialize};

use crate::Error;
pub(crate) use kept::{Fresh, JsonFile, Stamp, stamp};

/// How many circuits of a driver are told to other processes: callers choose hosts.
const MOST_CIRCUITS: usize = 64;

/// What is known of one driver for one person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRecord {
    /// Whether its program is there.
    pub installed: bool,
    /// Which file that was, and from when: another one may have another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The version that the program said it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether that version is one that the driver works with.
    pub version_fits: bool,
    /// Why it is not, where somebody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit: Option<String>,
    /// When somebody last looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// The steps of its set-up that are done.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub steps: BTreeSet<String>,
    /// Whether nothing is left to do.
    pub ready: bool,
}

/// Records by driver and person.
pub(crate) type Records = BTreeMap<String, BTreeMap<String, DriverRecord>>;

/// What is known of every program behind a driver of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    file: JsonFile,
    drivers: Records,
}

impl Readiness {
    /// What a workspace has on record. A file that cannot be read is a fault, since what it says may
    /// not be forgotten by writing another.
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

    /// What is known of a driver for a person.
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

/// How the backend of a driver was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HealthRecord {
    /// What the last look at it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkup: Option<Checkup>,
    /// The tools and hosts that are left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) circuits: Vec<OpenCircuit>,
}

/// A tool of a driver, perhaps at one host, that is left alone because it failed again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenCircuit {
    /// The tool, as `id@major`.
    pub(crate) tool: String,
    /// The host, where callers choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// How often it failed in a row, and until when it rests.
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
    /// What the last look says now. A failure counts as long as the driver wants looks to hold; that
    /// it worked is worth knowing for longer.
    pub(crate) fn health(&self, now: Timestamp) -> Health {
        match &self.checkup {
            Some(Checkup { at, why: None, .. }) => Health::Passed(*at),
            Some(checkup) if checkup.is_fresh(now) => {
                Health::Failed(checkup.why.clone().unwrap_or_default())
            }
            Some(_) | None => Health::NotLooked,
        }
    }

    /// The circuits that rest now.
    pub(crate) fn open(&self, now: Timestamp) -> impl Iterator<Item = &OpenCircuit> {
        self.circuits.iter().filter(move |one| now < one.rest.until)
    }

    /// The rest of a tool, whatever the host.
    pub(crate) fn rest(&self, tool: &ToolKey, now: Timestamp) -> Option<OpenBreaker> {
        let tool = tool.to_string();
        let found = self.open(now).find(|one| one.host.is_none() && one.tool == tool);
        found.map(|one| one.rest.clone())
    }

    /// A circuit begins to rest, or works again. What rested long ago is forgotten with it.
    pub(crate) fn rests(&mut self, circuit: &Circuit, rest: Option<OpenBreaker>, now: Timestamp) {
        self.circuits.retain(|one| now < one.rest.until && !one.is(circuit));
        if self.circuits.len() < MOST_CIRCUITS {
            self.circuits.extend(rest.map(|rest| OpenCircuit::of(circuit, rest)));
        }
    }
}
