//! Login record: who logged in to which driver and when, without any token.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use haft_model::Timestamp;
use serde::{Deserialize, Serialize};

/// Most missing scopes that a record keeps.
const MOST_LACKED: usize = 64;

/// A login of one actor to one driver, in this workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginRecord {
    /// The driver's id.
    pub driver: String,
    /// The actor; `None` means every actor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub actor: Option<String>,
    /// When the login was made or last renewed.
    pub since: Timestamp,
    /// Whether a call found the login expired.
    #[serde(default)]
    pub expired: bool,
    /// The granted scopes, if the authorization server named them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scopes: Vec<String>,
    /// Scopes that calls lacked since then; the next login requests them as well.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lacked: Vec<String>,
}

/// The file of login records.
#[derive(Clone, Debug)]
pub struct Logins {
    file: PathBuf,
}

impl Logins {
    /// The records in a file, which need not exist.
    pub fn new(file: PathBuf) -> Logins {
        Logins { file }
    }

    /// The login of an actor: their own, else the one for every actor.
    pub fn find(&self, driver: &str, actor: &str) -> io::Result<Option<LoginRecord>> {
        Ok(Logins::of(&self.all()?, driver, actor).cloned())
    }

    /// Finds a login among records that were read already.
    pub fn of<'a>(all: &'a [LoginRecord], driver: &str, actor: &str) -> Option<&'a LoginRecord> {
        let whose = |wanted: Option<&str>| {
            all.iter().find(|one| one.driver == driver && one.actor.as_deref() == wanted)
        };
        whose(Some(actor)).or_else(|| whose(None))
    }

    /// Stores a login, and replaces the earlier one of the same driver and actor.
    pub fn put(&self, login: LoginRecord) -> io::Result<()> {
        let _lock = self.locked()?;
        let mut all = self.all()?;
        all.retain(|one| one.driver != login.driver || one.actor != login.actor);
        all.push(login);
        self.save(&all)
    }

    /// Marks an actor's login as expired; returns whether there was one.
    pub fn expired(&self, driver: &str, actor: &str) -> io::Result<bool> {
        let _lock = self.locked()?;
        let Some(found) = self.find(driver, actor)? else { return Ok(false) };
        let mut all = self.all()?;
        all.iter_mut().filter(|one| **one == found).for_each(|one| one.expired = true);
        self.save(&all)?;
        Ok(true)
    }

    /// Records the scopes that a call lacked.
    pub fn fell_short(&self, driver: &str, actor: &str, scopes: &[String]) -> io::Result<()> {
        let _lock = self.locked()?;
        let Some(found) = self.find(driver, actor)? else { return Ok(()) };
        let mut all = self.all()?;
        for one in all.iter_mut().filter(|one| **one == found) {
            let lacked = scopes.iter().filter(|scope| !one.lacked.contains(scope)).cloned();
            let lacked: Vec<String> = lacked.collect();
            one.lacked.extend(lacked);
            one.lacked.truncate(MOST_LACKED);
        }
        self.save(&all)
    }

    /// Clears the expiry of these drivers' logins after a secret changed; `None` means every actor.
    pub fn mended(&self, drivers: &[String], actor: Option<&str>) -> io::Result<()> {
        let _lock = self.locked()?;
        let mut all = self.all()?;
        let theirs = |one: &LoginRecord| {
            one.expired
                && drivers.contains(&one.driver)
                && actor.is_none_or(|actor| one.actor.as_deref() == Some(actor))
        };
        if !all.iter().any(theirs) {
            return Ok(());
        }
        all.iter_mut().filter(|one| theirs(one)).for_each(|one| one.expired = false);
        self.save(&all)
    }

    /// All records; none if the file does not exist.
    pub fn all(&self) -> io::Result<Vec<LoginRecord>> {
        match fs::read(&self.file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }

    fn save(&self, all: &[LoginRecord]) -> io::Result<()> {
        haft_seal::replace(&self.file, &serde_json::to_vec_pretty(all)?)
    }

    fn locked(&self) -> io::Result<File> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let path = self.file.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        lock.lock()?;
        Ok(lock)
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::Folder;

    use super::*;

    #[test]
    fn a_login_is_its_actors_own_and_else_everybodys() {
        let folder = Folder::new();
        let logins = Logins::new(folder.path().join(".haft/logins.json"));
        let login = |actor: Option<&str>| LoginRecord {
            driver: "bank".to_owned(),
            actor: actor.map(str::to_owned),
            since: Timestamp::UNIX_EPOCH,
            expired: false,
            scopes: Vec::new(),
            lacked: Vec::new(),
        };
        assert_eq!(logins.find("bank", "user:ana").unwrap(), None);
        logins.put(login(Some("user:ana"))).unwrap();
        logins.put(login(Some("user:ana"))).unwrap();
        assert_eq!(logins.find("bank", "user:ana").unwrap(), Some(login(Some("user:ana"))));
        assert_eq!(logins.find("bank", "user:bob").unwrap(), None);
        logins.put(login(None)).unwrap();
        assert_eq!(logins.find("bank", "user:bob").unwrap(), Some(login(None)));
        assert!(logins.expired("bank", "user:ana").unwrap());
        assert!(logins.find("bank", "user:ana").unwrap().unwrap().expired);
        assert!(!logins.find("bank", "user:bob").unwrap().unwrap().expired);
        assert!(!logins.expired("shop", "user:ana").unwrap());
    }

    #[test]
    fn missing_scopes_are_recorded_once_until_next_login() {
        let folder = Folder::new();
        let logins = Logins::new(folder.path().join(".haft/logins.json"));
        let login = LoginRecord {
            driver: "bank".to_owned(),
            actor: None,
            since: Timestamp::UNIX_EPOCH,
            expired: false,
            scopes: vec!["read".to_owned()],
            lacked: Vec::new(),
        };
        let write = ["write".to_owned()];
        logins.fell_short("bank", "user:ana", &write).unwrap();
        assert_eq!(logins.all().unwrap(), [], "nobody is logged in");
        logins.put(login.clone()).unwrap();
        logins.fell_short("bank", "user:ana", &write).unwrap();
        logins.fell_short("bank", "user:ana", &write).unwrap();
        let short = LoginRecord { lacked: write.to_vec(), ..login.clone() };
        assert_eq!(logins.all().unwrap(), [short]);
        logins.put(login.clone()).unwrap();
        assert_eq!(logins.all().unwrap(), [login]);
    }
}
