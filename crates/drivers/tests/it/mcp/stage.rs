//! Test stage: an mcp driver over one manifest, a workspace, and calls to the test server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{
    Abilities, Attempt, Cancel, Driver, DriverMessage, Failure, InquiryKind, Link, Output, Remark,
    TargetGuard, Vault,
};
use haft_drivers::{DeclaredEntries, Mcp, WorkingFolder};
use haft_model::{
    Actor, ActorId, Code, DriverKind, EffectState, Plan, Progress, Stop, ToolKey, Tri,
};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use haft_testkit::Folder;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::plans::{self, permit};

/// The test server, which is also the launcher that confines it.
pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_haft-test-mcp");

/// A workspace, a manifest, and a driver that stays between calls.
pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) manifest: Value,
    pub(crate) read_only: Tri,
    pub(crate) key: Option<String>,
    pub(crate) patience: Duration,
    pub(crate) network: Vec<String>,
    pub(crate) vault: Option<Arc<dyn Vault>>,
    /// The guard of the calls.
    pub(crate) guard: TargetGuard,
    pub(crate) actor: &'static str,
    /// Whether the caller accepts long-running calls (`Abilities::patient`).
    pub(crate) patient: bool,
    /// Whether the caller answers every elicitation.
    pub(crate) fills_in: bool,
    /// Whether the caller holds a session (`Abilities::in_session`).
    pub(crate) in_session: bool,
    /// The lowest level of log messages that the caller wants.
    pub(crate) remarks: Option<String>,
    driver: Option<Arc<Mcp>>,
    pub(crate) runtime: Runtime,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<Output, Failure>,
    pub(crate) submissions: usize,
    pub(crate) progress: Vec<Progress>,
    /// Log messages, in order.
    pub(crate) remarks: Vec<Remark>,
}

impl Stage {
    /// A read-only tool of a server with these arguments.
    pub(crate) fn reading(tool: &str, args: &[&str]) -> Stage {
        Stage::new(Tri::Yes, tool, args)
    }

    /// A tool that may write the workspace.
    pub(crate) fn writing(tool: &str, args: &[&str]) -> Stage {
        Stage::new(Tri::No, tool, args)
    }

    fn new(read_only: Tri, tool: &str, args: &[&str]) -> Stage {
        let manifest = json!({
            "name": "Test", "id": "test", "description": "A server.", "version": "1.0.0", "kind": "mcp",
            "server": {"kind": "binary", "path": SERVER, "args": args}, "transport": "stdio",
            "implements": [
                {"tool": "test.tool", "version": "^1", "metadata": {"mcp": {"tool_name": tool}}},
                {"tool": "test.journal", "version": "^1", "metadata": {"mcp": {"tool_name": "journal"}}},
            ],
        });
        Stage {
            folder: Folder::new(),
            manifest,
            read_only,
            key: None,
            patience: Duration::from_secs(20),
            network: Vec::new(),
            vault: None,
            guard: TargetGuard::default(),
            actor: "agent:test",
            patient: false,
            fills_in: false,
            in_session: false,
            remarks: None,
            driver: None,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// Sets a field of the manifest.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Stage {
        self.manifest[field] = value;
        self
    }

    /// Sets a field of `metadata.mcp` of the entry.
    pub(crate) fn entry(mut self, field: &str, value: Value) -> Stage {
        self.manifest["implements"][0]["metadata"]["mcp"][field] = value;
        self
    }

    pub(crate) fn place(&self) -> WorkingFolder {
        WorkingFolder {
            root: self.folder.path().to_owned(),
            hidden: Vec::new(),
            programs: Vec::new(),
            walls: Walls::By(Launcher::at(SERVER)),
            guard: AddressGuard::public(),
            variable: |_| None,
            secrets: Default::default(),
        }
    }

    /// The typed manifest.
    pub(crate) fn typed(&self) -> DriverManifest {
        DriverManifest::from_json(DriverKind::Mcp, &self.manifest).unwrap()
    }

    /// A new driver.
    pub(crate) fn fresh(&self) -> Mcp {
        let manifest = self.manifest.clone();
        let serves = vec![(ToolKey::new("test.tool", 1), 0), (ToolKey::new("test.journal", 1), 1)];
        let manifest = DriverManifest::from_json(DriverKind::Mcp, &manifest);
        Mcp::new(move || DeclaredEntries { manifest, serves }, self.place())
    }

    /// The driver that stays between calls.
    pub(crate) fn driver(&mut self) -> Arc<Mcp> {
        let made = self.driver.take().unwrap_or_else(|| Arc::new(self.fresh()));
        self.driver.insert(made).clone()
    }

    /// Drops the driver and its processes.
    pub(crate) fn let_go(&mut self) {
        self.driver = None;
    }

    pub(crate) fn plan_of(&self, input: Value) -> Plan {
        self.plan("test.tool", input)
    }

    fn plan(&self, tool: &str, input: Value) -> Plan {
        let mut plan = plans::plan(tool, "test", input);
        plan.actor = Arc::new(Actor::from(ActorId::from(self.actor)));
        let effects = Arc::make_mut(&mut plan.effects);
        effects.facts.read_only = self.read_only;
        effects.requires.network = self.network.iter().cloned().collect();
        plan
    }

    pub(crate) fn preflight(&self, input: Value) -> Result<(), Stop> {
        self.fresh().preflight(&self.plan_of(input))
    }

    pub(crate) fn run(&mut self, input: Value) -> Ended {
        self.run_around(input, &Cancel::new(), &mut || Ok(()))
    }

    /// Runs a call and a function at the moment of submission.
    pub(crate) fn run_around(
        &mut self,
        input: Value,
        cancel: &Cancel,
        on_submit: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Ended {
        let driver = self.driver();
        self.runtime.block_on(self.call(&driver, self.plan_of(input), cancel, on_submit))
    }

    /// The methods that the server has received so far, including this request.
    pub(crate) fn journal(&mut self) -> Vec<String> {
        let (driver, plan) = (self.driver(), self.plan("test.journal", json!({})));
        let (cancel, mut submitted) = (Cancel::new(), || Ok(()));
        let call = self.call(&driver, plan, &cancel, &mut submitted);
        let heard = self.runtime.block_on(call).output().structured.unwrap();
        heard.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn call(
        &self,
        driver: &Mcp,
        plan: Plan,
        cancel: &Cancel,
        on_submit: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Ended {
        let permit = permit(&plan);
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + self.patience;
        let attempt = Attempt::new(&permit, &plan, 1, deadline, cancel.clone(), link).unwrap();
        let (patient, in_session, remarks) = (self.patient, self.in_session, self.remarks.clone());
        let mut able = Abilities { patient, in_session, remarks, ..Abilities::default() };
        if self.fills_in {
            able.kinds.insert(InquiryKind::Form);
            able.told = json!({"elicitation": {"form": {}}});
        }
        let attempt = attempt.known_by(self.key.clone()).with(self.vault.clone()).asking(able);
        let attempt = attempt.guarded(self.guard.clone());
        let mut run = driver.run(attempt);
        let (mut submissions, mut progress, mut remarks) = (0, Vec::new(), Vec::new());
        let result = loop {
            tokio::select! {
                result = &mut run => break result,
                said = heard.next() => match said {
                    DriverMessage::Submit(answer) => {
                        submissions += 1;
                        let _ = answer.send(on_submit().map(|()| haft_driver::Clearance::default()));
                    }
                    DriverMessage::Progress(said) => progress.push(said),
                    DriverMessage::Wanted { reply, .. } => drop(reply.send(Ok(()))),
                    DriverMessage::Ask { asked, reply } => {
                        let filled_in = json!({"action": "accept", "content": {}});
                        let answers = asked.into_keys().map(|name| (name, filled_in.clone()));
                        drop(reply.send(Ok(answers.collect())));
                    }
                    DriverMessage::Remark(said) => remarks.push(said),
                    DriverMessage::Partial(_) | DriverMessage::Hide(_) | DriverMessage::CancelHeard | DriverMessage::Backgrounded => {}
                },
            }
        };
        while let Some(said) = heard.unheard() {
            match said {
                DriverMessage::Progress(said) => progress.push(said),
                DriverMessage::Remark(said) => remarks.push(said),
                _ => {}
            }
        }
        Ended { result, submissions, progress, remarks }
    }

    /// How many lines the server's tool wrote.
    pub(crate) fn effects(&self) -> usize {
        let written = std::fs::read_to_string(self.folder.path().join("effects.txt"));
        written.map_or(0, |text| text.lines().count())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Drops the pool inside the runtime that ends its processes.
        let _inside = self.runtime.enter();
        self.driver = None;
    }
}

impl Ended {
    pub(crate) fn output(self) -> Output {
        self.result.unwrap()
    }

    pub(crate) fn failure(self) -> Failure {
        self.result.unwrap_err()
    }

    /// The code, the effect state and the number of submissions of a failed call.
    pub(crate) fn fate(self) -> (Code, EffectState, usize) {
        let submissions = self.submissions;
        let failure = self.failure();
        (failure.stop.code, failure.effect, submissions)
    }
}
