//! Driver readiness: installation, login, health and circuit breaker of each driver, for the
//! caller.
//!
//! Nothing is started and no backend is asked here, except to renew a login that is due. Files are
//! read again when they changed, so that what another process did is known at the next call.

mod declares;
mod programs;
mod secrets;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_catalog::{
    AuthState, Binding, CatalogEntry, Circuit, DriverState, DriverStates, Mend, OpenBreaker,
};
use haft_contract::{AuthBlock, Driver};
use haft_driver::BoxFuture;
use haft_drivers::{Keeper, LoginRecord, Logins, Program, WorkingFolder, is_kept};
use haft_model::{Actor, DriverId, DriverKind, Stop, Timestamp};
use haft_runtime::DriverReadiness;

use super::login::unreadable;
use super::readiness::{self, LoginState};
use crate::readiness::{Fresh, HealthRecord, HealthRecords, Readiness, Records, health_file};
use declares::Declares;
use secrets::Secrets;

/// Answers readiness questions about the drivers of a workspace.
pub(super) struct Watch {
    root: PathBuf,
    secrets: Secrets,
    place: WorkingFolder,
    /// Drivers behind which there is code of the program, which knows how it is.
    code: Vec<DriverId>,
    /// The user whose home folder this is.
    person: Option<String>,
    declared: Mutex<HashMap<DriverId, Arc<Declares>>>,
    records: Fresh<Records>,
    health: Fresh<HealthRecords>,
    logins: Fresh<Vec<LoginRecord>>,
}

/// Dependencies that the host passes in.
pub(super) struct Sources {
    pub(super) root: PathBuf,
    /// The workspace's vault; `None` where the program brings its own.
    pub(super) keeper: Option<Arc<Keeper>>,
    pub(super) place: WorkingFolder,
    pub(super) code: Vec<DriverId>,
}

impl Watch {
    pub(super) fn new(Sources { root, keeper, place, code }: Sources) -> Watch {
        let person = ["USER", "LOGNAME"].iter().find_map(|name| (place.variable)(name));
        Watch {
            secrets: Secrets::new(keeper),
            code,
            person: person.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
            declared: Mutex::default(),
            records: Fresh::new(Readiness::file(&root).path().to_owned()),
            health: Fresh::new(health_file(&root).path().to_owned()),
            logins: Fresh::new(root.join(super::login::FILE)),
            place,
            root,
        }
    }

    /// The state of one driver, for one of its entries or for all of them; `None` where code of
    /// this program serves it.
    pub(super) async fn state(
        &self,
        driver: &Driver,
        entry: Option<usize>,
        actor: &Actor,
        now: Timestamp,
    ) -> Option<DriverState> {
        let mut state = self.machine(driver, now)?;
        // A file that cannot be read says nothing here; `haft doctor` reports it.
        if let Ok((auth, login)) = self.auth(driver, entry, actor).await {
            (state.auth, state.login) = (auth, login);
        }
        Some(state)
    }

    /// Like `state`, without logins: what files say, the same for every caller.
    fn machine(&self, driver: &Driver, now: Timestamp) -> Option<DriverState> {
        if driver.kind == DriverKind::Builtin || self.code.contains(&driver.id) {
            return None;
        }
        let health = self.backend(&driver.id);
        let mut state = DriverState { health: health.health(now), ..DriverState::default() };
        // Most drivers have neither, and their manifests need not be read again.
        if driver.kind == DriverKind::Cli {
            (state.installed, state.version) = self.program(driver, &self.declares(driver));
        }
        Some(state)
    }

    /// Renews a login that is due.
    pub(super) async fn renew(
        &self,
        driver: &Driver,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(), Stop> {
        if driver.auth.is_none() && driver.kind != DriverKind::Mcp {
            return Ok(());
        }
        let declares = self.declares(driver);
        let Some(block) = &declares.auth else { return Ok(()) };
        match self.login(driver, actor.id.as_str())? {
            Some(login) if block.is_due(login.since, now) => {
                self.renewed(driver, block, login).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The login state, and the command that mends it.
    pub(super) async fn auth(
        &self,
        driver: &Driver,
        entry: Option<usize>,
        actor: &Actor,
    ) -> Result<(AuthState, Option<Mend>), Stop> {
        if driver.auth.is_none() && driver.kind != DriverKind::Mcp {
            return Ok((AuthState::NotRequired, None));
        }
        let declares = self.declares(driver);
        let Some(block) = &declares.auth else { return Ok((AuthState::NotRequired, None)) };
        let who = actor.id.as_str();
        let login = self.login(driver, who)?;
        let used = self.secrets.missing(declares.used(entry), who).await;
        let variables = self.secrets.missing(&block.state.env, who).await;
        let (Some(used), Some(variables)) = (used, variables) else {
            return Ok((AuthState::NotLooked, None));
        };
        let there =
            |missing: &[Option<Stop>]| missing.iter().map(Option::is_none).collect::<Vec<_>>();
        let (there_used, there_variables) = (there(&used), there(&variables));
        let auth = self.stands(block, login.as_ref(), &there_used, &there_variables);
        let first = used.into_iter().chain(variables).flatten().next();
        Ok((auth, self.mend(auth, driver, actor, first)))
    }

    /// The login state as far as files tell at once; the vault is not asked.
    fn auth_now(&self, driver: &Driver, entry: Option<usize>, actor: &Actor) -> AuthState {
        if driver.auth.is_none() && driver.kind != DriverKind::Mcp {
            return AuthState::NotRequired;
        }
        let declares = self.declares(driver);
        let Some(block) = &declares.auth else { return AuthState::NotRequired };
        let who = actor.id.as_str();
        let used = self.secrets.there(declares.used(entry), who);
        let variables = self.secrets.there(&block.state.env, who);
        match (self.login(driver, who), used, variables) {
            (Ok(login), Some(used), Some(variables)) => {
                self.stands(block, login.as_ref(), &used, &variables)
            }
            (Ok(_) | Err(_), _, _) => AuthState::NotLooked,
        }
    }

    fn stands(
        &self,
        block: &AuthBlock,
        login: Option<&LoginRecord>,
        used: &[bool],
        variables: &[bool],
    ) -> AuthState {
        let kept = is_kept(block, &self.place);
        readiness::stands(LoginState { block: Some(block), used, variables, login, kept })
    }

    /// The remedy of a login: its flow, or setting the secret that it is.
    fn mend(
        &self,
        auth: AuthState,
        driver: &Driver,
        actor: &Actor,
        missing: Option<Stop>,
    ) -> Option<Mend> {
        let why = match auth {
            AuthState::LoggedOut => format!("`{}` is not logged in", actor.id),
            AuthState::Expired => "the login has run out".to_owned(),
            AuthState::NotLooked | AuthState::NotRequired | AuthState::LoggedIn => return None,
        };
        if self.declares(driver).has_way {
            let own = self.person.as_ref().map(|person| format!("user:{person}"));
            let run = match own.as_deref() == Some(actor.id.as_str()) {
                true => format!("haft login {}", driver.id),
                false => format!("haft login {} --as {}", driver.id, actor.id),
            };
            return Some(Mend { why, run });
        }
        let missing = missing?;
        let run =
            missing.help.filter(|help| help.starts_with("haft ") || help.starts_with("chmod "));
        Some(Mend {
            why: missing.message,
            run: run.unwrap_or_else(|| "haft secrets list".to_owned()),
        })
    }

    /// Renews a login by the command of its driver; one that fails has run out.
    async fn renewed(
        &self,
        driver: &Driver,
        block: &AuthBlock,
        login: LoginRecord,
    ) -> Result<(), Stop> {
        let command = block.refresh.as_ref().and_then(|refresh| refresh.cmd.as_deref());
        // An empty command means that the driver renews it itself.
        let Some(command) = command.filter(|command| !command.trim().is_empty()) else {
            return Ok(());
        };
        let manifest = driver.manifest()?;
        let done = Program { manifest: &manifest, place: &self.place }.run(command).await;
        let expired = !matches!(done, Ok(0));
        let since = if expired { login.since } else { Timestamp::now() };
        self.logins().put(LoginRecord { expired, since, ..login }).map_err(unreadable)
    }

    pub(super) fn logins(&self) -> Logins {
        Logins::new(self.root.join(super::login::FILE))
    }

    fn login(&self, driver: &Driver, who: &str) -> Result<Option<LoginRecord>, Stop> {
        let mut failed = None;
        let all = self.logins.get(|_| self.logins().all().map_err(|fault| failed = Some(fault)));
        match failed {
            Some(fault) => Err(unreadable(fault)),
            None => Ok(Logins::of(&all, driver.id.as_str(), who).cloned()),
        }
    }

    fn declares(&self, driver: &Driver) -> Arc<Declares> {
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        let declares = declared.entry(driver.id.clone());
        declares.or_insert_with(|| Arc::new(Declares::of(driver, &self.root, &self.place))).clone()
    }

    fn backends(&self) -> Arc<HealthRecords> {
        self.health.get(|_| health_file(&self.root).read())
    }

    /// Whether a driver declares a health check.
    pub(super) fn is_looked_at(&self, driver: &Driver) -> bool {
        self.declares(driver).is_looked_at
    }

    /// The health record of a backend.
    pub(super) fn backend(&self, driver: &DriverId) -> HealthRecord {
        self.backends().get(driver.as_str()).cloned().unwrap_or_default()
    }

    /// The circuits that are open now.
    pub(super) fn open_circuits(&self, now: Timestamp) -> Vec<(Circuit, OpenBreaker)> {
        let all = self.backends();
        let open = all.iter().flat_map(|(driver, record)| {
            let open = record.open(now);
            open.filter_map(|one| Some((one.circuit(driver)?, one.rest.clone())))
        });
        open.collect()
    }

    /// Changes what is on record of a backend.
    pub(super) fn note(
        &self,
        driver: &str,
        change: impl FnOnce(&mut HealthRecord),
    ) -> Result<(), crate::Error> {
        let file = health_file(&self.root);
        file.change(|all: &mut HealthRecords| change(all.entry(driver.to_owned()).or_default()))?;
        Ok(())
    }
}

impl DriverReadiness for Watch {
    fn prepare<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mine = |driver: &Driver| !self.code.contains(&driver.id);
            for driver in entry.callable().map(|one| &one.driver).filter(|one| mine(one)) {
                // A login that cannot be renewed has run out, and a program that does not say its
                // version has none that fits; both are seen when it is looked.
                let _ = self.renew(driver, actor, now).await;
                let _ = self.ask_version(driver).await;
            }
        })
    }

    fn look<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, DriverStates> {
        Box::pin(async move {
            let mut states = DriverStates::default();
            for binding in &entry.bindings {
                let id = &binding.driver.id;
                let state = self.state(&binding.driver, Some(binding.entry), actor, now).await;
                let Some(mut state) = state else { continue };
                state.rest = self.backend(id).rest(entry.contract.key(), now);
                states.insert(id.clone(), state);
            }
            states
        })
    }

    fn glance(&self, binding: &Binding, now: Timestamp) -> Option<DriverState> {
        self.machine(&binding.driver, now)
    }

    fn lacks_login(&self, binding: &Binding, actor: &Actor) -> bool {
        let driver = &binding.driver;
        if driver.kind == DriverKind::Builtin || self.code.contains(&driver.id) {
            return false;
        }
        let stands = self.auth_now(driver, Some(binding.entry), actor);
        matches!(stands, AuthState::LoggedOut | AuthState::Expired)
    }

    fn ran_out(&self, driver: &DriverId, actor: &Actor) {
        // The caller is told anyway; an expiry that cannot be recorded is noticed again by the next
        // call.
        let _ = self.logins().expired(driver.as_str(), actor.id.as_str());
    }

    fn falls_short(&self, driver: &DriverId, actor: &Actor, scopes: &[String]) {
        // The same holds here.
        let _ = self.logins().fell_short(driver.as_str(), actor.id.as_str(), scopes);
    }

    fn resting(&self, now: Timestamp) -> Vec<Circuit> {
        self.open_circuits(now).into_iter().map(|(circuit, _)| circuit).collect()
    }

    fn rests(&self, circuit: &Circuit, rest: Option<OpenBreaker>) {
        // Other processes may do without; this one knows it anyway.
        let _ = self.note(circuit.driver.as_str(), |record| {
            record.rests(circuit, rest, Timestamp::now());
        });
    }
}
