//! A workspace that can be called: its catalog, its rules, its drivers and its ledger joined.

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
use haft_model::{Actor, Call, DriverId, Envelope, Role, Timestamp};
use haft_runtime::{
    BreakerOptions, CallOptions, Clock, Forms, Lookout as _, NonInteractive, Options, Reader,
    Receipt, Runtime, Unsent, WallClock,
};
use haft_sandbox::{AddressGuard, Launcher};
use tokio::task::JoinError;

use crate::{Error, LoadOptions, Workspace};
use declared::DeclaredDrivers;
use driver_readiness::Watch;

/// How a host is opened.
pub struct HostOptions {
    /// How the workspace is loaded.
    pub load: LoadOptions,
    /// Where facts are kept.
    pub store: StoreChoice,
    /// Where it is remembered which store a workspace has, so that a missing one is not taken for new.
    pub identity: IdentityFile,
    /// The tool that the process is about to call: opening a store that another program holds then
    /// waits no longer than a call of it may take, and never longer than ten seconds.
    pub first_tool: Option<String>,
    /// Who is heard about calls, beside the hooks of the workspace.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Code behind drivers of the workspace, by their ids.
    pub drivers: HashMap<DriverId, Arc<dyn Driver>>,
    /// Where drivers get secrets from; the workspace's own vault where none is named.
    pub vault: Option<Arc<dyn Vault>>,
    /// The file of the key that opens the workspace's own vault; that of the person who runs this
    /// where none is named.
    pub secrets_key: Option<PathBuf>,
    /// Which addresses builtin tools may reach, and drivers of kind http beside those that they name.
    pub addresses: AddressGuard,
    /// What confines programs; this program itself where none is named and its `main` begins with
    /// [`crate::launcher`].
    pub launcher: Option<Launcher>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What the runtime is set to, before the workspace has its say.
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
    /// Knows how the drivers of the workspace are.
    watch: RwLock<Arc<Watch>>,
    /// What the next reading may take over.
    declared: Mutex<DeclaredDrivers>,
    given: HostParts,
    /// Why nothing remembers which store this is.
    unremembered: Option<String>,
}

/// What the program hands in beside the workspace.
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
                haft_contract::settings::NonInteractive::Ask => options.runtime.non_interactive,
                haft_contract::settings::NonInteractive::Deny => NonInteractive::Deny,
            },
            unsent: match settings.workspace.unsent {
                haft_contract::settings::Unsent::Refuse => options.runtime.unsent,
                haft_contract::settings::Unsent::Run => Unsent::Run,
            },
            forms: match settings.workspace.forms {
                haft_contract::settings::Forms::Inbox => options.runtime.forms,
                haft_contract::settings::Forms::People => Forms::People,
                haft_contract::settings::Forms::Off => Forms::Off,
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

    /// Makes one call and waits for its end. It goes on where nobody waits for it any more, and the
    /// answer that nobody took is there for whoever makes the same call again.
    pub async fn call(&self, call: Call) -> Envelope {
        let runtime = self.runtime.clone();
        let task = tokio::spawn(async move {
            let manner = CallOptions { receipt: Receipt::Acknowledged, ..CallOptions::default() };
            runtime.call(call, manner).await
        });
        let envelope = match task.await.map_err(JoinError::try_into_panic) {
            Ok(envelope) => envelope,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // Everything here is being shut down, this wait with it.
            Err(Err(_)) => std::future::pending().await,
        };
        self.runtime.hand_over(&envelope.invocation_id);
        envelope
    }

    /// The program of a driver, to install it and set it up.
    pub fn provision(&self, driver: &str) -> Option<Provision> {
        let workspace = self.workspace();
        let drivers = workspace.drivers();
        let found = drivers.iter().find(|found| found.id.as_str() == driver)?;
        let file = workspace.root().join(&*found.file);
        let folder = file.parent().unwrap_or(workspace.root()).to_owned();
        Some(Provision::new(found.raw(), folder, hooks::place(&workspace, &self.given)))
    }

    /// What is known of the drivers of a contract, for whoever calls. No backend is asked.
    pub async fn driver_states(&self, entry: &CatalogEntry, actor: &Actor) -> DriverStates {
        self.watch().look(entry, actor, Timestamp::now()).await
    }

    /// The pipeline, for those who want to say how they wait.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The pipeline, for those who keep it.
    pub fn shared_runtime(&self) -> Arc<Runtime> {
        self.runtime.clone()
    }

    /// What was recorded.
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

    /// Reads the workspace again. Calls that are under way keep what they began with, and drivers that
    /// are made of the same go on.
    pub fn reload(&self) -> Result<(), Error> {
        self.swap(self.workspace().reload()?);
        Ok(())
    }

    /// Puts a workspace in place of the one that holds.
    fn swap(&self, workspace: Workspace) {
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        *declared = DeclaredDrivers::of(&workspace, &self.given, Some(&declared));
        let (world, watch) = world::build(&workspace, &self.given, &declared);
        self.runtime.replace_world(world);
        *self.watch.write().unwrap_or_else(PoisonError::into_inner) = watch;
        *self.workspace.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(workspace);
    }

    /// Everything that is recorded from now on, or from an entry on.
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        Subscription::new(self.store.clone(), after)
    }

    /// Takes no more calls, lets those under way end, and calls off what takes longer than `patience`
    /// where it can be. Gives how many are left to whoever opens the workspace next.
    pub async fn stop(&self, patience: Duration) -> usize {
        self.runtime.stop(patience).await
    }

    /// Waits until everything is on the disk.
    pub async fn flush(&self) -> Result<(), Error> {
        Ok(self.store.flush().await?)
    }

    /// The name of the tenant that callers are of unless haft.toml says otherwise.
    pub fn tenant(&self) -> String {
        self.runtime.world().people.tenant.clone()
    }

    /// Somebody as haft.toml knows them. A person whom it does not know may call and not answer.
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
