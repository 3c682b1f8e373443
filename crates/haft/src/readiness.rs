//! What is known of the programs behind drivers: installed, of which version, set up as far as when.
//!
//! It is kept in `.haft/drivers.json`, for each driver and each person of this workspace, because a
//! login or a home folder is a person's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use haft_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;

/// What is known of one driver for one person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRecord {
    /// Whether its program is there.
    pub installed: bool,
    /// The version that the program said it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether that version is one that the driver works with.
    pub version_fits: bool,
    /// When somebody last looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// The steps of its set-up that are done.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub steps: BTreeSet<String>,
    /// Whether nothing is left to do.
    pub ready: bool,
}

/// What is known of every driver of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    path: PathBuf,
    drivers: BTreeMap<String, BTreeMap<String, DriverRecord>>,
}

impl Readiness {
    /// What a workspace has on record. A file that cannot be read is a fault, since what it says may
    /// not be forgotten by writing another.
    pub fn load(root: &Path) -> Result<Readiness, Error> {
        let path = root.join(".haft/drivers.json");
        let unreadable = |cause: io::Error| Error::Unreadable { path: path.clone(), cause };
        let drivers = match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|fault| unreadable(fault.into()))?
            }
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(fault) => return Err(unreadable(fault)),
        };
        Ok(Readiness { path, drivers })
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
        self.drivers.entry(driver.to_owned()).or_default().insert(person.to_owned(), record);
        let unwritable = |cause: io::Error| Error::Unwritable { path: self.path.clone(), cause };
        let text =
            serde_json::to_vec_pretty(&self.drivers).map_err(|fault| unwritable(fault.into()))?;
        let beside = self.path.with_extension("json.new");
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(unwritable)?;
        }
        fs::write(&beside, text).and_then(|()| fs::rename(&beside, &self.path)).map_err(unwritable)
    }
}
