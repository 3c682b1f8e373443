//! Simulation workspace: contracts, read once, and the driver through which every history reaches
//! its own backend.

use std::sync::{Arc, Mutex};

use haft::{Host, HostOptions, StoreChoice};
use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
use haft_ledger::MemoryStore;
use haft_model::{Actor, DriverId, Plan};
use haft_runtime::World;
use haft_testkit::Folder;

use crate::backend::Backend;

/// How long an attempt may take, in milliseconds.
pub(crate) const TIMEOUT: u64 = 15_000;

/// The tools. Each intent is one call of one of them, sent as often as its caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Reports its submission, supports status queries, and is called with an idempotency key.
    Pay,
    /// The same without a key.
    Charge,
    /// Neither reports its submission nor supports status queries.
    Plain,
    /// Its backend deduplicates by key, and it is retried.
    Put,
    /// Changes nothing.
    Look,
}

impl Tool {
    pub(crate) const WRITES: [Tool; 4] = [Tool::Pay, Tool::Charge, Tool::Plain, Tool::Put];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Pay => "pay",
            Tool::Charge => "charge",
            Tool::Plain => "plain",
            Tool::Put => "put",
            Tool::Look => "look",
        }
    }

    pub(crate) fn has_status(self) -> bool {
        matches!(self, Tool::Pay | Tool::Charge)
    }

    fn text(self) -> String {
        let name = self.name();
        let write = format!(
            "mutates: [\"workspace:{name}\"]\nrisk_level: 1\napproval: auto\ntimeout_ms: {TIMEOUT}\n"
        );
        let status = "status: { tool: look, input: { key: \"${idempotency.key}\" }, \
            committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
            output: { id: \"${output.id}\" } }";
        let more = match self {
            Tool::Pay | Tool::Charge => format!("{write}metadata: {{ haft: {{ {status} }} }}\n"),
            Tool::Plain => write,
            Tool::Put => {
                format!("{write}retry: {{ max_attempts: 3, backoff: fixed, initial_ms: 50 }}\n")
            }
            Tool::Look => "mutates: []\nrisk_level: 0\napproval: auto\n".to_owned(),
        };
        format!(
            "---\nname: {name}\nid: {name}\ndescription: For the simulation.\nversion: 1.0.0\n\
             inputs: {{ type: object }}\noutputs: {{ type: object }}\n{more}---\n\nFor the simulation.\n"
        )
    }
}

/// Hands each attempt to the backend of the history that is played.
#[derive(Default)]
pub(crate) struct Exchange(Mutex<Option<Arc<Backend>>>);

impl Exchange {
    pub(crate) fn connect(&self, backend: Arc<Backend>) {
        *self.0.lock().unwrap() = Some(backend);
    }
}

impl Driver for Exchange {
    fn reports_submission(&self, plan: &Plan) -> bool {
        plan.tool.id.as_str() != Tool::Plain.name()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let backend = self.0.lock().unwrap().clone().unwrap();
        Box::pin(async move { backend.serve(attempt).await })
    }
}

/// Everything that the histories share.
pub(crate) struct Workspace {
    pub(crate) world: World,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) agent: Actor,
    _folder: Folder,
    _host: Host,
}

impl Workspace {
    pub(crate) fn open() -> Workspace {
        let tools = [Tool::Pay, Tool::Charge, Tool::Plain, Tool::Put, Tool::Look];
        let mut folder =
            Folder::new().file("haft.toml", "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n");
        let mut implements = String::new();
        for tool in tools {
            folder = folder.file(&format!(".tools/{}/TOOL.md", tool.name()), tool.text());
            let keeps =
                if tool == Tool::Put { ", metadata: { haft: { enforces_key: true } }" } else { "" };
            implements += &format!("  - {{ tool: {}, version: \"^1\"{keeps} }}\n", tool.name());
        }
        let driver = format!(
            "---\nname: exchange\nid: exchange\nversion: 1.0.0\ndescription: For the simulation.\n\
             kind: builtin\nimplements:\n{implements}metadata: {{ builtin: {{ host_id: haft }} }}\n\
             ---\n\nFor the simulation.\n"
        );
        let folder = folder.file(".drivers/exchange/DRIVER.md", driver);
        crate::accepted::accept(&folder);
        let exchange = Arc::<Exchange>::default();
        let code: Arc<dyn Driver> = exchange.clone();
        let options = HostOptions {
            store: StoreChoice::Given(Arc::new(MemoryStore::new())),
            drivers: [(DriverId::from("exchange"), code)].into(),
            secrets_key: Some(folder.path().join("config/secrets.key")),
            ..HostOptions::default()
        };
        let host = Host::open(folder.path(), options).unwrap();
        let read = host.workspace();
        let wrong = read.diagnostics().iter();
        let wrong = wrong.filter(|found| found.severity == haft_contract::Severity::Error);
        assert_eq!(wrong.map(|found| &found.message).collect::<Vec<_>>(), Vec::<&String>::new());
        let world = World { lookout: None, ..World::clone(&host.runtime().world()) };
        let agent = host.actor("agent:coder");
        Workspace { world, exchange, agent, _folder: folder, _host: host }
    }
}
