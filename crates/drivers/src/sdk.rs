//! SDK driver (AIP-33): calls functions of packages in pooled worker processes.
//!
//! A worker is a confined process of Node or Python. Reads share a worker and overlap in it; a call
//! that may mutate has a worker of its own, so that the exit of a neighbour is never taken for its
//! own. Calls with different sandbox profiles or different secrets never share a worker.

mod arguments;
mod call;
mod hearing;
mod interpreter;
mod manifest;
mod slots;
mod wire;
mod worker;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output, TargetKinds, Targets};
use haft_model::{Code, Digest, Plan, Secret, Stop};
use haft_sandbox::{Access, Bounds, ConfinedProgram, MountedPath};
use serde_json::{Map, json};

use crate::failure::{called_off, intruded, late, unsent, while_running};
use crate::pool::{ItemOwner, KeyedPool};
use crate::sandbox_opening::SandboxOpening;
use crate::watch::Watch;
use crate::web::MOST_BYTES;
use crate::{DeclaredEntries, WorkingFolder, closed, targets};
use arguments::FunctionInputs;
use call::WorkerCall;
use interpreter::Interpreter;
pub(crate) use interpreter::node;
use manifest::{Function, Package, Runtime};
use slots::{Slot, Slots};
use wire::Ask;
use worker::Worker;

/// The scripts of the workers.
const NODE: &str = include_str!("sdk/worker.mjs");
const PYTHON: &str = include_str!("sdk/worker.py");

/// Idle time after which a worker is evicted.
const IDLE: Duration = Duration::from_secs(120);

/// CPU seconds for all calls of a worker together, unless a runner sets less. Its deadline bounds a
/// single call.
const LIFE: u64 = 3600;

/// A driver of kind sdk. It parses its manifest on first use.
pub struct Sdk {
    declared: LazyLock<DeclaredEntries, Box<dyn FnOnce() -> DeclaredEntries + Send>>,
    place: WorkingFolder,
    workers: KeyedPool<WorkerKey, Worker>,
    slots: Slots,
}

/// The calls that may share a worker: those with an equal value use the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WorkerKey {
    /// Digest of the sandbox profile.
    profile: Digest,
    /// The actor whose secrets the worker holds.
    owner: Option<ItemOwner>,
    /// Digest of the secrets in its environment.
    values: Digest,
    /// The slot of a call that may change something; such calls share no worker at a time.
    number: Option<usize>,
}

/// The worker of a call, and its key in the pool.
struct HeldWorker<'a> {
    key: WorkerKey,
    worker: Arc<Worker>,
    version: Option<String>,
    _slot: Option<Slot<'a>>,
}

impl Sdk {
    /// Builds a driver over a manifest, whose workers run in a working folder.
    pub fn new(
        declared: impl FnOnce() -> DeclaredEntries + Send + 'static,
        place: WorkingFolder,
    ) -> Sdk {
        let declared: Box<dyn FnOnce() -> DeclaredEntries + Send> = Box::new(declared);
        let declared = LazyLock::new(declared);
        Sdk { declared, place, workers: KeyedPool::new(IDLE), slots: Slots::default() }
    }

    /// A worker for a call, with its package loaded.
    async fn worker(
        &self,
        package: &Package,
        attempt: &Attempt<'_>,
        secrets: BTreeMap<String, Secret>,
        owner: Option<ItemOwner>,
    ) -> Result<HeldWorker<'_>, Stop> {
        let (plan, guard) = (attempt.plan, &attempt.guard);
        let opening = SandboxOpening::of(self.declared.manifest()?, plan, &self.place)?;
        if !guard.is_empty() {
            let kinds = TargetKinds { paths: guard.watches_paths(), ..TargetKinds::ALL };
            targets::check(&self.touched(plan, kinds)?, guard)?;
        }
        let interpreter = Interpreter::of(package, &opening.root, &self.place)?;
        let slot = match plan.effects.may_mutate() {
            true => Some(self.slots.take().await),
            false => None,
        };
        let values: Vec<&str> = secrets.values().map(Secret::expose).collect();
        let number = slot.as_ref().map(|slot| slot.number);
        let ran_by = interpreter.program.display().to_string();
        let mut confined = self.confined(package, &opening, interpreter);
        closed::hide(&mut confined, guard, &opening.root, &self.place);
        let hidden = &confined.hidden;
        let values = Digest::of(&values);
        let profile = format!("{opening:?} {hidden:?}");
        let profile = Digest::of_bytes(profile.as_bytes());
        let key = WorkerKey { profile, owner, values, number };
        let confined = ConfinedProgram { secret_env: secrets.clone(), ..confined };
        let make = || async { Ok(Worker::start(confined.clone(), &self.place.walls).await) };
        let mut worker = self.workers.get(&key, make).await?;
        if worker.is_gone() {
            // The worker exited while it was idle.
            self.workers.let_go(&key, &worker).await;
            worker = self.workers.get(&key, make).await?;
        }
        if worker.is_stale() {
            self.retire(&key, worker).await?;
            worker = self.workers.get(&key, make).await?;
        }
        let held = match worker.installed(load(package)).await {
            Ok((there, version)) => fitting(package, *there, version.as_deref(), &ran_by),
            Err(stop) => Err(stop),
        };
        match held {
            Ok(version) => Ok(HeldWorker { key, worker, version, _slot: slot }),
            // A missing set-up is checked again by the next call.
            Err(stop) if stop.code == Code::SetupRequired => {
                self.workers.let_go(&key, &worker).await;
                Err(stop)
            }
            Err(stop) => {
                self.workers.broke(&key, &worker).await;
                Err(stop)
            }
        }
    }

    /// Ends a worker that lost a read-only mount, at the latest with the last call that uses it.
    /// What it did to the rules meanwhile is a violation.
    async fn retire(&self, key: &WorkerKey, stale: Arc<Worker>) -> Result<(), Stop> {
        self.workers.let_go(key, &stale).await;
        let mut intrusions = stale.inspect().await;
        if let Some(own) = Arc::into_inner(stale) {
            intrusions.extend(own.retire().await);
        }
        intruded(&intrusions, &self.place.root).map_or(Ok(()), Err)
    }

    /// The targets of a call: the interpreter with its package, and the files that its input names.
    /// The worker's script is Haft's own, and no call supplies it.
    fn touched(&self, plan: &Plan, kinds: TargetKinds) -> Result<Targets, Stop> {
        let manifest = self.declared.manifest()?;
        let (root, mut told) = targets::of_call(plan, kinds, manifest, &self.place);
        let Some(root) = root else { return Ok(told) };
        if kinds.commands {
            let package = Package::read(&self.declared)?;
            let by = Interpreter::of(&package, &root, &self.place)?;
            let argv = [by.program.display().to_string(), package.name.clone()];
            let driver = plan.route.driver.to_string();
            told.backend.commands.push(targets::kept(&argv, &driver, &self.place, &root));
        }
        Ok(told)
    }

    /// The process of a worker: the interpreter with our script as an argument.
    fn confined(
        &self,
        package: &Package,
        opening: &SandboxOpening,
        by: Interpreter,
    ) -> ConfinedProgram {
        let megabytes = opening.bounds.memory / 2 / (1 << 20);
        let (args, of_package) = match package.runtime {
            Runtime::Node => {
                let heap = format!("--max-old-space-size={megabytes}");
                (vec![heap, "--input-type=module".into(), "-e".into(), NODE.into()], "node_modules")
            }
            Runtime::Python => (vec!["-B".into(), "-c".into(), PYTHON.into()], ".venv"),
        };
        let program = by.program.display().to_string();
        let mut confined = opening.confined(&program, args, &self.place);
        confined.program = by.program;
        let of_package = opening.root.join(package.path.as_deref().unwrap_or(of_package));
        // A path or symlink that leads out of the workspace opens nothing.
        let of_package = std::fs::canonicalize(of_package).ok();
        let of_package = of_package.filter(|path| path.starts_with(&opening.root));
        for path in by.needs.into_iter().chain(of_package) {
            let is_shown = confined.shown.iter().any(|shown| path.starts_with(&shown.path));
            if !is_shown {
                confined.shown.push(MountedPath { path, access: Access::Read });
            }
        }
        if confined.bounds.cpu_seconds == Bounds::default().cpu_seconds {
            confined.bounds.cpu_seconds = LIFE;
        }
        confined
    }

    async fn carry_out(&self, attempt: &Attempt<'_>) -> Result<Output, Failure> {
        let (cancel, deadline) = (&attempt.cancel, attempt.deadline.into());
        let function = Function::read(&self.declared, attempt.plan).map_err(while_running);
        let function = function.map_err(unsent)?;
        let prepared = tokio::select! {
            prepared = self.prepared(attempt, &function) => prepared,
            () = cancel.cancelled() => {
                attempt.link.cancel_heard().await;
                Err(unsent(called_off()))
            }
            () = tokio::time::sleep_until(deadline) => Err(unsent(late())),
        };
        let (held, package, given) = prepared?;
        WorkerCall { sdk: self, attempt, function: &function, package: &package, held }
            .made(given)
            .await
    }

    /// Everything that a call needs before its function is resolved.
    async fn prepared(
        &self,
        attempt: &Attempt<'_>,
        function: &Function,
    ) -> Result<(HeldWorker<'_>, Package, FunctionInputs), Failure> {
        let (plan, safe) = (attempt.plan, &attempt.safe);
        let refused = |stop: Stop| unsent(while_running(stop));
        let package = Package::read(&self.declared).map_err(refused)?;
        let (mut named, mut variables) = (Map::new(), BTreeMap::new());
        for name in &function.secrets {
            named.insert(name.clone(), json!(safe.open(name).await?.expose()));
        }
        for name in &function.variables {
            variables.insert(name.clone(), safe.open(name).await?);
        }
        let is_personal = !named.is_empty() || !variables.is_empty();
        let owner = is_personal.then(|| ItemOwner::new(&plan.actor));
        let given = FunctionInputs::of(function, plan, named).map_err(refused)?;
        let held = self.worker(&package, attempt, variables, owner).await.map_err(refused)?;
        Ok((held, package, given))
    }
}

impl Driver for Sdk {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        Package::read(&self.declared)?;
        let function = Function::read(&self.declared, plan)?;
        // Validation opens no secret: any value may stand in for it.
        let stand_ins = function.secrets.iter().map(|name| (name.clone(), json!("")));
        FunctionInputs::of(&function, plan, stand_ins.collect()).map(drop)
    }

    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        self.touched(plan, kinds).unwrap_or_default()
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        plan.effects.may_mutate()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            Watch::of(&attempt).check().map_err(unsent)?;
            self.carry_out(&attempt).await
        })
    }
}

/// The load request for a package.
fn load(package: &Package) -> Ask<'_> {
    Ask::Load {
        package: &package.name,
        entrypoint: package.entrypoint.as_deref(),
        module: package.module(),
        local: package.local,
        path: package.path.as_deref(),
        style: package.style,
        most: MOST_BYTES,
    }
}

/// The installed version, if it is in the driver's version range.
fn fitting(
    package: &Package,
    there: bool,
    version: Option<&str>,
    ran_by: &str,
) -> Result<Option<String>, Stop> {
    let name = &package.name;
    let setup = |words: String| Stop::new(Code::SetupRequired, words);
    if !there {
        let (words, help) = match (package.local, package.runtime) {
            (true, _) => (
                "is not in the workspace".to_owned(),
                "write its file as `entrypoint`, from the root of the workspace on",
            ),
            (false, Runtime::Node) => {
                ("is not in `node_modules` of the workspace".to_owned(), "install it there")
            }
            (false, Runtime::Python) => (
                format!("is not installed for `{ran_by}`"),
                "install it in a `.venv` of the workspace, or name the program that has it in `metadata.haft.interpreter`",
            ),
        };
        return Err(setup(format!("package `{name}` {words}")).help(help));
    }
    let Some((written, range)) = &package.versions else { return Ok(version.map(str::to_owned)) };
    match version {
        Some(version) if range.contains(version) => Ok(Some(version.to_owned())),
        Some(version) => {
            let words = format!(
                "package `{name}` is there in version `{version}`, and its driver wants `{written}`"
            );
            Err(setup(words).help("install a version that fits"))
        }
        None => {
            let words = format!(
                "package `{name}` does not say its version, and its driver wants `{written}`"
            );
            Err(setup(words)
                .help("write the version into the package, or leave `package_version` out"))
        }
    }
}
