//! Host: a callable workspace that joins catalog, rules, drivers and ledger.

mod declared;
mod doctor;
mod driver_readiness;
mod hooks;
mod identity;
mod login;
mod probing;
mod readiness;
mod refresh;
mod secrets;
mod spans;
mod store;
mod subscription;
mod uses;
mod vault;
mod watching;
mod world;

pub use doctor::{Degree, DoctorFinding};
pub use identity::{IdentityFile, StoreRenewal};
pub use login::{Ask, Attending};
pub use probing::ProbeResult;
pub use refresh::ReloadOutcome;
pub use secrets::SecretState;
pub use spans::SpansSent;
pub use store::StoreChoice;
pub use subscription::Subscription;
pub use watching::Watching;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use haft_catalog::{CatalogEntry, DriverStates};
use haft_driver::{Driver, Hook, Vault};
use haft_drivers::Provision;
use haft_ledger::Store;
use haft_model::{Actor, Call, DriverId, Envelope, Notice, Role, Timestamp};
use haft_runtime::{
    BreakerOptions, CallOptions, Clock, DriverReadiness as _, Forms, NonInteractive, Options,
    Reader, Receipt, Runtime, Unsent, WallClock, World,
};
use haft_sandbox::{AddressGuard, Launcher};
use tokio::task::JoinError;

use crate::{Error, LoadOptions, Workspace};
use declared::DeclaredDrivers;
use driver_readiness::Watch;

/// Options for opening a host.
pub struct HostOptions {
    /// Options for loading the workspace.
    pub load: LoadOptions,
    /// The store of the ledger.
    pub store: StoreChoice,
    /// Where the identity of the store is remembered, so that a missing one does not pass for new.
    pub identity: IdentityFile,
    /// The tool that the process is about to call: opening a store that another program holds then
    /// waits no longer than a call of it may take, and never longer than ten seconds.
    pub first_tool: Option<String>,
    /// Hooks of the program, beside those of the workspace.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Code behind drivers of the workspace, by their ids.
    pub drivers: HashMap<DriverId, Arc<dyn Driver>>,
    /// The vault of the drivers; the workspace's own where none is named.
    pub vault: Option<Arc<dyn Vault>>,
    /// The file of the key that opens the workspace's own vault; that of the person who runs this
    /// where none is named.
    pub secrets_key: Option<PathBuf>,
    /// Egress guard: the addresses that builtin tools may reach, and drivers of kind http beside
    /// those that they name.
    pub addresses: AddressGuard,
    /// The sandbox launcher; this program itself where none is named and its `main` begins with
    /// [`crate::launcher`].
    pub launcher: Option<Launcher>,
    /// The clock; tests replace it.
    pub clock: Arc<dyn Clock>,
    /// Runtime options, before the workspace's settings apply.
    pub runtime: Options,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions {
            load: LoadOptions::default(),
            store: StoreChoice::default(),
            identity: IdentityFile::default(),
            first_tool: None,
            hooks: Vec::new(),
            drivers: HashMap::new(),
            vault: None,
            secrets_key: None,
            addresses: AddressGuard::public(),
            launcher: None,
            clock: Arc::new(WallClock),
            runtime: Options::default(),
        }
    }
}

/// A workspace that can be called.
pub struct Host {
    runtime: Arc<Runtime>,
    store: Arc<dyn Store>,
    workspace: RwLock<Arc<Workspace>>,
    /// Readiness of the workspace's drivers.
    watch: RwLock<Arc<Watch>>,
    /// Built drivers, which the next reload may reuse.
    declared: Mutex<DeclaredDrivers>,
    given: HostParts,
    /// Why the identity of the store is not remembered.
    unremembered: Option<String>,
}

/// Dependencies that the program passes in beside the workspace.
struct HostParts {
    hooks: Vec<Arc<dyn Hook>>,
    drivers: HashMap<DriverId, Arc<dyn Driver>>,
    vault: Option<Arc<dyn Vault>>,
    secrets_key: Option<PathBuf>,
    addresses: AddressGuard,
    launcher: Option<Launcher>,
}

impl Host {
    /// Loads a workspace and opens its ledger.
    pub fn open(root: impl AsRef<Path>, options: HostOptions) -> Result<Host, Error> {
        let workspace = Workspace::load(root, options.load)?;
        let (store, unremembered) =
            options.store.open(&workspace, &options.identity, options.first_tool.as_deref())?;
        let settings = workspace.settings();
        let runtime_options = Options {
            max_parallel: settings.limits.max_parallel as usize,
            non_interactive: match settings.workspace.non_interactive {
                NonInteractive::Ask => options.runtime.non_interactive,
                NonInteractive::Deny => NonInteractive::Deny,
            },
            unsent: match settings.workspace.unsent {
                Unsent::Refuse => options.runtime.unsent,
                Unsent::Run => Unsent::Run,
            },
            forms: match settings.workspace.forms {
                Forms::Inbox => options.runtime.forms,
                Forms::People => Forms::People,
                Forms::Off => Forms::Off,
            },
            form: settings.limits.form_ms.map_or(options.runtime.form, Duration::from_millis),
            rest: BreakerOptions {
                failures: settings.limits.rest.failures,
                pause: Duration::from_millis(settings.limits.rest.pause_ms),
            },
            ..options.runtime
        };
        let given = HostParts {
            hooks: options.hooks,
            drivers: options.drivers,
            vault: options.vault,
            secrets_key: options.secrets_key,
            addresses: options.addresses,
            launcher: options.launcher,
        };
        let declared = DeclaredDrivers::of(&workspace, &given, None);
        let (world, watch) = world::build(&workspace, &given, &declared);
        Ok(Host {
            runtime: Runtime::new(world, store.clone(), options.clock, runtime_options).into(),
            store,
            workspace: RwLock::new(Arc::new(workspace)),
            watch: RwLock::new(watch),
            declared: Mutex::new(declared),
            given,
            unremembered,
        })
    }

    /// Makes one call and waits for its result. The call goes on when its caller goes away, and the
    /// undelivered result is kept for a repeat of the same call.
    pub async fn call(&self, call: Call) -> Envelope {
        let runtime = self.runtime.clone();
        let task = tokio::spawn(async move {
            let options = CallOptions { receipt: Receipt::Acknowledged, ..CallOptions::default() };
            runtime.call(call, options).await
        });
        let envelope = match task.await.map_err(JoinError::try_into_panic) {
            Ok(envelope) => envelope,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The async runtime is shutting down, and this wait with it.
            Err(Err(_)) => std::future::pending().await,
        };
        self.runtime.mark_delivered(&envelope.invocation_id);
        envelope
    }

    /// The program of a driver, to install it and set it up.
    pub fn provision(&self, driver: &str) -> Option<Provision> {
        let workspace = self.workspace();
        let drivers = workspace.drivers();
        let found = drivers.iter().find(|found| found.id.as_str() == driver)?;
        let file = workspace.root().join(&*found.file);
        let folder = file.parent().unwrap_or(workspace.root()).to_owned();
        Some(Provision::new(found.manifest().ok()?, folder, hooks::place(&workspace, &self.given)))
    }

    /// The states of a contract's drivers, for the caller. Asks no backend.
    pub async fn driver_states(&self, entry: &CatalogEntry, actor: &Actor) -> DriverStates {
        self.watch().look(entry, actor, Timestamp::now()).await
    }

    /// The call pipeline, for callers that set their own call options.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The call pipeline, to keep beyond this borrow.
    pub fn shared_runtime(&self) -> Arc<Runtime> {
        self.runtime.clone()
    }

    /// A reader of the ledger.
    pub fn reader(&self) -> Reader {
        self.runtime.reader()
    }

    /// The workspace as it was last read.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.workspace.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn watch(&self) -> Arc<Watch> {
        self.watch.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the workspace again. Calls in flight keep the snapshot they began with, and unchanged
    /// drivers keep running.
    pub fn reload(&self) -> Result<(), Error> {
        self.swap(self.workspace().reload()?);
        Ok(())
    }

    /// Puts a workspace in place of the one that holds.
    fn swap(&self, workspace: Workspace) {
        let notices = world::notices(&workspace);
        self.swap_with_notices(workspace, notices);
    }

    /// The same with notices about files that are not in force. One step: a reader never sees the new
    /// workspace without them.
    fn swap_with_notices(&self, workspace: Workspace, notices: Arc<[Notice]>) {
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        *declared = DeclaredDrivers::of(&workspace, &self.given, Some(&declared));
        let (world, watch) = world::build(&workspace, &self.given, &declared);
        self.runtime.replace_world(World { notices, ..world });
        *self.watch.write().unwrap_or_else(PoisonError::into_inner) = watch;
        *self.workspace.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(workspace);
    }

    /// Subscribes to ledger entries, from now on or after an entry.
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        Subscription::new(self.store.clone(), after)
    }

    /// Graceful shutdown: takes no more calls, lets those in flight end, and cancels calls that
    /// outlast `patience` where that is supported. Returns how many are left to the recovery of the
    /// next host.
    pub async fn stop(&self, patience: Duration) -> usize {
        self.runtime.stop(patience).await
    }

    /// Waits until every entry of the ledger is durable.
    pub async fn flush(&self) -> Result<(), Error> {
        Ok(self.store.flush().await?)
    }

    /// The default tenant of callers.
    pub fn tenant(&self) -> String {
        self.runtime.world().people.tenant.clone()
    }

    /// The actor of an id, with the roles of haft.toml. A person it does not list may call and not
    /// approve.
    pub fn actor(&self, id: &str) -> Actor {
        self.runtime.world().people.actor(id)
    }

    /// The person who runs this process: owner of the workspace, and approver.
    pub fn owner(&self, login: &str) -> Actor {
        let mut actor = self.actor(&format!("user:{login}"));
        actor.roles.extend([Role::Admin, Role::Approver]);
        actor
    }
}
