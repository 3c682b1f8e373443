//! Test stage: a workspace for each test, with a canary driver that counts its calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::{Host, HostOptions, Launcher, StoreChoice};
use haft_driver::{Attempt, BoxFuture, Driver, Failure, Hook, HookAnswer, HookInput, Output};
use haft_ledger::{MemoryStore, Store};
use haft_model::{
    Actor, Call, DriverId, Envelope, Event, Fact, HookPoint, InvocationId, Plan, QuestionId, Stop,
};
use haft_runtime::{
    AnswerOutcome, CallOptions, Clock, Options, Patience, Reader, Reply, WallClock,
};
use haft_testkit::Folder;
use serde_json::Value;

use crate::accepted;

/// What the canary does for one tool.
pub(crate) type Act =
    Arc<dyn for<'a> Fn(Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> + Send + Sync>;

/// What the canary says to an input before anything happens.
pub(crate) type Preflight = Arc<dyn Fn(&Plan) -> Result<(), Stop> + Send + Sync>;

/// A driver that notes each time one of its bodies is entered.
#[derive(Default)]
pub(crate) struct Canary {
    entered: Mutex<Vec<(String, Value)>>,
    acts: Mutex<HashMap<String, (Act, bool)>>,
    preflights: Mutex<HashMap<String, Preflight>>,
}

impl Canary {
    /// How often it was reached.
    pub(crate) fn count(&self) -> usize {
        self.entered.lock().unwrap().len()
    }

    /// The tools it was reached for.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.entered.lock().unwrap().iter().map(|(tool, _)| tool.clone()).collect()
    }

    /// The inputs it was given.
    pub(crate) fn inputs(&self) -> Vec<Value> {
        self.entered.lock().unwrap().iter().map(|(_, input)| input.clone()).collect()
    }
}

impl Driver for Canary {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        let found = self.preflights.lock().unwrap().get(plan.tool.id.as_str()).cloned();
        found.map_or(Ok(()), |look| look(plan))
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        let acts = self.acts.lock().unwrap();
        acts.get(plan.tool.id.as_str()).is_some_and(|(_, reports)| *reports)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let tool = attempt.plan.tool.id.to_string();
        self.entered.lock().unwrap().push((tool.clone(), attempt.input.clone().into_owned()));
        let act = self.acts.lock().unwrap().get(&tool).map(|(act, _)| act.clone());
        match act {
            Some(act) => act(attempt),
            None => {
                let effect = attempt.plan.effects.may_mutate();
                let value = attempt.input.clone().into_owned();
                Box::pin(async move {
                    Ok(if effect { Output::committed(value) } else { Output::read(value) })
                })
            }
        }
    }
}

/// What a test begins with.
pub(crate) struct Setting {
    folder: Folder,
    tools: Vec<String>,
    settings: String,
    hooks: Vec<Arc<dyn Hook>>,
    canary: Arc<Canary>,
    store: Option<Arc<dyn Store>>,
    clock: Arc<dyn Clock>,
    options: Options,
    pub(crate) launcher: Option<Launcher>,
    lenient: bool,
    spare: bool,
}

/// The variable that names another copy of the launcher, which other users can reach.
pub(crate) const LAUNCHER: &str = "HAFT_TEST_LAUNCHER";

/// The launcher that this package builds for its tests.
pub(crate) fn launcher() -> Launcher {
    let copy = std::env::var(LAUNCHER).ok();
    Launcher::at(copy.unwrap_or_else(|| env!("CARGO_BIN_EXE_haft-test-launcher").to_owned()))
}

/// A host with a canary behind it.
pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) host: Host,
    pub(crate) canary: Arc<Canary>,
    pub(crate) store: Arc<dyn Store>,
    kit: Kit,
}

/// What a host is made of beside its folder.
#[derive(Clone)]
struct Kit {
    hooks: Vec<Arc<dyn Hook>>,
    canary: Arc<Canary>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    options: Options,
    launcher: Option<Launcher>,
}

impl Kit {
    fn host(&self, folder: &Folder) -> Host {
        let code: Arc<dyn Driver> = self.canary.clone();
        let options = HostOptions {
            store: StoreChoice::Given(self.store.clone()),
            hooks: self.hooks.clone(),
            drivers: ["canary", "spare"].map(|id| (DriverId::from(id), code.clone())).into(),
            clock: self.clock.clone(),
            secrets_key: Some(folder.path().join("config/secrets.key")),
            runtime: self.options.clone(),
            launcher: self.launcher.clone(),
            ..HostOptions::default()
        };
        accepted::accept(folder);
        Host::open(folder.path(), options).unwrap()
    }
}

impl Default for Setting {
    fn default() -> Setting {
        Setting {
            folder: Folder::new(),
            tools: Vec::new(),
            settings: String::new(),
            hooks: Vec::new(),
            canary: Arc::default(),
            store: None,
            clock: Arc::new(WallClock),
            launcher: Some(launcher()),
            lenient: false,
            spare: false,
            options: Options {
                look: Duration::from_millis(5),
                grace: Duration::from_millis(200),
                ..Options::default()
            },
        }
    }
}

/// Frontmatter that makes a tool a read.
pub(crate) const READ: &str = "mutates: []\nrisk_level: 0\napproval: auto\n";

/// Frontmatter that makes a tool a scoped write that needs no approval by itself.
pub(crate) const WRITE: &str = "mutates: [\"workspace:*\"]\nrisk_level: 1\napproval: auto\n";

impl Setting {
    /// Adds a tool that the canary serves. Its inputs and outputs are open objects unless said.
    pub(crate) fn tool(mut self, id: &str, frontmatter: &str) -> Setting {
        let mut text = format!(
            "---\nname: {id}\nid: {id}\ndescription: For tests.\nversion: 1.0.0\n{frontmatter}"
        );
        for (key, default) in [("inputs", "{ type: object }"), ("outputs", "{ type: object }")] {
            if !frontmatter.lines().any(|line| line.starts_with(&format!("{key}:"))) {
                text.push_str(&format!("{key}: {default}\n"));
            }
        }
        text.push_str("---\n\nFor tests.\n");
        self.folder = self.folder.file(&format!(".tools/{id}/TOOL.md"), text);
        self.tools.push(id.to_owned());
        self
    }

    /// Says what the canary does for a tool.
    pub(crate) fn act<F>(self, tool: &str, act: F) -> Setting
    where
        F: for<'a> Fn(Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>>
            + Send
            + Sync
            + 'static,
    {
        self.canary.acts.lock().unwrap().insert(tool.to_owned(), (Arc::new(act), false));
        self
    }

    /// The same for a body that says itself when its effect begins.
    pub(crate) fn reporting_act<F>(self, tool: &str, act: F) -> Setting
    where
        F: for<'a> Fn(Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>>
            + Send
            + Sync
            + 'static,
    {
        self.canary.acts.lock().unwrap().insert(tool.to_owned(), (Arc::new(act), true));
        self
    }

    /// Says what the canary thinks of an input before anything happens.
    pub(crate) fn preflight<F>(self, tool: &str, look: F) -> Setting
    where
        F: Fn(&Plan) -> Result<(), Stop> + Send + Sync + 'static,
    {
        self.canary.preflights.lock().unwrap().insert(tool.to_owned(), Arc::new(look));
        self
    }

    /// Adds a second driver for every tool, which is the canary under another name.
    pub(crate) fn spare(mut self) -> Setting {
        self.spare = true;
        self
    }

    /// Adds text to haft.toml.
    pub(crate) fn settings(mut self, text: &str) -> Setting {
        self.settings.push_str(text);
        self.settings.push('\n');
        self
    }

    /// Opens a workspace with mistakes in it all the same.
    pub(crate) fn lenient(mut self) -> Setting {
        self.lenient = true;
        self
    }

    /// Adds a file.
    pub(crate) fn file(mut self, path: &str, text: &str) -> Setting {
        self.folder = self.folder.file(path, text);
        self
    }

    /// Adds a hook.
    pub(crate) fn hook(mut self, hook: impl Hook + 'static) -> Setting {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Keeps facts in a store of the test's own.
    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Setting {
        self.store = Some(store);
        self
    }

    /// Tells the time by another clock.
    pub(crate) fn clock(mut self, clock: Arc<dyn Clock>) -> Setting {
        self.clock = clock;
        self
    }

    /// Changes what the runtime is set to.
    pub(crate) fn options(mut self, change: impl FnOnce(&mut Options)) -> Setting {
        change(&mut self.options);
        self
    }

    /// The stage, ready.
    pub(crate) fn open(self) -> Stage {
        let implements: String = self
            .tools
            .iter()
            .map(|id| format!("  - {{ tool: {id}, version: \"^1\" }}\n"))
            .collect();
        let driver = |id: &str| {
            format!(
                "---\nname: {id}\nid: {id}\nversion: 1.0.0\ndescription: Counts.\nkind: builtin\n\
                 implements:\n{implements}metadata: {{ builtin: {{ host_id: haft }} }}\n---\n\nCounts.\n"
            )
        };
        let mut folder = self.folder.file("haft.toml", &self.settings);
        if !self.tools.is_empty() {
            folder = folder.file(".drivers/canary/DRIVER.md", driver("canary"));
        }
        if self.spare {
            folder = folder.file(".drivers/spare/DRIVER.md", driver("spare"));
        }
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let kit = Kit {
            hooks: self.hooks,
            canary: self.canary.clone(),
            store: store.clone(),
            clock: self.clock,
            options: self.options,
            launcher: self.launcher,
        };
        let host = kit.host(&folder);
        let errors: Vec<_> = host
            .workspace()
            .diagnostics()
            .iter()
            .filter(|found| found.severity == haft_contract::Severity::Error)
            .map(|found| format!("{}: {}", found.file, found.message))
            .collect();
        assert!(errors.is_empty() || self.lenient, "{errors:#?}");
        Stage { folder, host, canary: self.canary, store, kit }
    }
}

impl Stage {
    /// An agent of the workspace.
    pub(crate) fn agent(&self) -> Actor {
        self.host.actor("agent:coder")
    }

    /// The owner.
    pub(crate) fn owner(&self) -> Actor {
        self.host.owner("ana")
    }

    /// Another process over the same store, as far as one process can be two.
    pub(crate) fn another(&self, change: impl FnOnce(&mut Options)) -> Host {
        let mut kit = self.kit.clone();
        kit.options.node = Options::default().node;
        change(&mut kit.options);
        kit.host(&self.folder)
    }

    /// The same by a clock of its own.
    pub(crate) fn another_with(&self, clock: Arc<dyn Clock>) -> Host {
        let mut kit = self.kit.clone();
        (kit.options.node, kit.clock) = (Options::default().node, clock);
        kit.host(&self.folder)
    }

    /// Writes a tool again, and reads the workspace again.
    pub(crate) fn rewrite(&self, path: &str, change: impl FnOnce(String) -> String) {
        let text = change(self.folder.read(path));
        std::fs::write(self.folder.path().join(path), text).unwrap();
        self.host.reload().unwrap();
    }

    /// A yes by the owner.
    pub(crate) fn yes(&self) -> Reply {
        Reply {
            by: self.owner(),
            approves: true,
            reason: None,
            edited_input: None,
            content: None,
            always: false,
            channel: "inbox".into(),
        }
    }

    /// A no by the owner.
    pub(crate) fn no(&self, reason: &str) -> Reply {
        Reply { approves: false, reason: Some(reason.to_owned()), ..self.yes() }
    }

    /// Answers a question here, and gives what the call came to.
    pub(crate) async fn answer(&self, id: &QuestionId, reply: Reply) -> Envelope {
        let answered = self.host.runtime().answer_and_run(id, reply).await.unwrap();
        let AnswerOutcome::CarriedOut(envelope) = answered else { panic!("{answered:?}") };
        *envelope
    }

    /// One call by the agent.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Envelope {
        self.host.call(Call::new(self.agent(), tool, input)).await
    }

    /// One call by the agent that does not wait for people.
    pub(crate) async fn call_and_leave(&self, tool: &str, input: Value) -> Envelope {
        let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        self.host.runtime().call(Call::new(self.agent(), tool, input), manner).await
    }

    /// Every fact about a call.
    pub(crate) async fn facts(&self, id: &InvocationId) -> Vec<Fact> {
        self.host.flush().await.unwrap();
        let entries = self.host.reader().story(id).await.unwrap();
        entries.iter().flat_map(|entry| Reader::facts(entry).unwrap()).collect()
    }

    /// Every fact about a call that reached the store, which may be none.
    pub(crate) async fn facts_so_far(&self, id: &InvocationId) -> Vec<Fact> {
        let entries = self.store.story(id).await.unwrap();
        entries.iter().flat_map(|entry| Reader::facts(entry).unwrap()).collect()
    }

    /// The names of what happened to a call, in order.
    pub(crate) async fn events(&self, id: &InvocationId) -> Vec<String> {
        self.facts(id).await.iter().map(|fact| name(&fact.event)).collect()
    }
}

/// The type of an event.
pub(crate) fn name(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

/// A hook that does what a test says.
pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    pub(crate) point: HookPoint,
    pub(crate) trusted: bool,
    pub(crate) required: bool,
    pub(crate) patience: Duration,
    pub(crate) act: HookAct,
    pub(crate) heard: Arc<Mutex<Vec<Value>>>,
}

pub(crate) type HookAct = Arc<dyn Fn(HookInput<'_>) -> Result<HookAnswer, String> + Send + Sync>;

impl Scripted {
    /// A hook at a point.
    pub(crate) fn new<F>(name: &'static str, point: HookPoint, act: F) -> Scripted
    where
        F: Fn(HookInput<'_>) -> Result<HookAnswer, String> + Send + Sync + 'static,
    {
        Scripted {
            name,
            point,
            trusted: false,
            required: false,
            patience: Duration::from_secs(2),
            act: Arc::new(act),
            heard: Arc::default(),
        }
    }

    /// The inputs that it was shown.
    pub(crate) fn heard(&self) -> Arc<Mutex<Vec<Value>>> {
        self.heard.clone()
    }
}

impl Hook for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn point(&self) -> HookPoint {
        self.point
    }

    fn concerns(&self, _: &Plan) -> bool {
        true
    }

    fn trusted(&self) -> bool {
        self.trusted
    }

    fn required(&self) -> bool {
        self.required
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn hear<'a>(&'a self, heard: HookInput<'a>) -> BoxFuture<'a, Result<HookAnswer, String>> {
        self.heard.lock().unwrap().push(heard.observable_input.clone());
        Box::pin(async move {
            match (self.act)(heard) {
                // A test that wants a hook to hang says so in one word.
                Err(word) if word == "hang" => std::future::pending().await,
                answer => answer,
            }
        })
    }
}

/// Frontmatter under `metadata.haft`.
pub(crate) fn extras(frontmatter: &str, haft: &str) -> String {
    format!("{frontmatter}metadata: {{ haft: {haft} }}\n")
}
