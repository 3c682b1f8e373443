//! Test stage: a folder, a cli driver over one manifest, and calls to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{
    Attempt, BoxFuture, Cancel, Driver, DriverMessage, Failure, Link, OpenedSecret, Output,
    SecretRequest, Vault, Withheld,
};
use haft_drivers::{Cli, DeclaredEntries, WorkingFolder};
use haft_model::{
    Code, Content, DriverKind, EffectState, Plan, Progress, Secret, Stop, ToolKey, Tri,
};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::plans::{self, permit};

/// A folder, a manifest, and the effects of the contract.
pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) manifest: Value,
    pub(crate) mutates: Vec<String>,
    pub(crate) network: Vec<String>,
    pub(crate) read_only: Tri,
    pub(crate) patience: Duration,
    pub(crate) walls: Walls,
    pub(crate) secrets: HashMap<String, String>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<Output, Failure>,
    pub(crate) submissions: usize,
    pub(crate) progress: Vec<Progress>,
    pub(crate) pieces: Vec<String>,
}

impl Stage {
    /// A read-only program, with its arguments.
    pub(crate) fn reading(bin: &str, argv: &[&str]) -> Stage {
        Stage::new(Tri::Yes, bin, argv)
    }

    /// A program that may write the folder `out`.
    pub(crate) fn writing(bin: &str, argv: &[&str]) -> Stage {
        let stage = Stage::new(Tri::No, bin, argv);
        Stage { mutates: vec!["workspace:/out".to_owned()], ..stage }
    }

    /// A read-only shell script.
    pub(crate) fn script(text: &str) -> Stage {
        Stage::reading("sh", &["-c", text])
    }

    /// A shell script that may write the folder `out`.
    pub(crate) fn writing_script(text: &str) -> Stage {
        Stage::writing("sh", &["-c", text])
    }

    fn new(read_only: Tri, bin: &str, argv: &[&str]) -> Stage {
        let manifest = json!({
            "name": "Demo", "id": "demo", "description": "A program.", "version": "1.0.0",
            "kind": "cli", "bin": bin,
            "implements": [{
                "tool": "demo.run", "version": "^1", "metadata": {"cli": {"argv": argv}},
            }],
        });
        Stage {
            folder: Folder::new().file("out/kept", "kept\n").file("note", "a note\n"),
            manifest,
            mutates: Vec::new(),
            network: Vec::new(),
            read_only,
            patience: Duration::from_secs(20),
            walls: walls(),
            secrets: HashMap::new(),
        }
    }

    /// Sets a field of the manifest.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Stage {
        self.manifest[field] = value;
        self
    }

    /// Sets a field of `metadata.cli` of the entry.
    pub(crate) fn cli(mut self, field: &str, value: Value) -> Stage {
        self.manifest["implements"][0]["metadata"]["cli"][field] = value;
        self
    }

    /// Sets a field of `metadata.haft` of the entry.
    pub(crate) fn haft(mut self, field: &str, value: Value) -> Stage {
        self.manifest["implements"][0]["metadata"]["haft"][field] = value;
        self
    }

    pub(crate) fn driver(&self) -> Cli {
        let manifest = self.manifest.clone();
        let serves = vec![(ToolKey::new("demo.run", 1), 0)];
        let manifest = DriverManifest::from_json(DriverKind::Cli, &manifest);
        Cli::new(move || DeclaredEntries { manifest, serves }, self.place())
    }

    fn place(&self) -> WorkingFolder {
        WorkingFolder {
            root: self.folder.path().to_owned(),
            hidden: vec![".haft".into()],
            programs: Vec::new(),
            walls: self.walls.clone(),
            guard: AddressGuard::public(),
            variable: |name| std::env::var(name).ok(),
            secrets: Default::default(),
        }
    }

    pub(crate) fn plan(&self, input: Value) -> Plan {
        let mut plan = plans::plan("demo.run", "demo", input);
        plan.renames = Arc::from([("from".to_owned(), "source".to_owned())]);
        plan.context = json!({"tenant": "t1"});
        let effects = Arc::make_mut(&mut plan.effects);
        effects.mutates = self.mutates.iter().cloned().collect();
        effects.mutates_stated = true;
        effects.requires.network = self.network.iter().cloned().collect();
        effects.facts.read_only = self.read_only;
        plan
    }

    pub(crate) fn preflight(&self, input: Value) -> Result<(), Stop> {
        self.driver().preflight(&self.plan(input))
    }

    pub(crate) fn run(&self, input: Value) -> Ended {
        alone(self.call(&self.driver(), input, &Cancel::new()))
    }

    /// Runs a call that is cancelled once a file exists.
    pub(crate) fn run_until(&self, file: &str) -> Ended {
        let (driver, cancel) = (self.driver(), Cancel::new());
        let path = self.folder.path().join(file);
        let watch = async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            cancel.cancel();
            std::future::pending::<()>().await;
        };
        alone(async {
            tokio::select! {
                ended = self.call(&driver, json!({}), &cancel) => Some(ended),
                () = watch => None,
            }
        })
        .unwrap()
    }

    pub(crate) async fn call(&self, driver: &Cli, input: Value, cancel: &Cancel) -> Ended {
        let plan = self.plan(input);
        let permit = permit(&plan);
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + self.patience;
        let vault: Arc<dyn Vault> = Arc::new(Drawer(self.secrets.clone()));
        let attempt = Attempt::new(&permit, &plan, 1, deadline, cancel.clone(), link).unwrap();
        let mut run = driver.run(attempt.with(Some(vault)));
        let (mut submissions, mut progress, mut pieces) = (0, Vec::new(), Vec::new());
        let mut take = |said: DriverMessage| match said {
            DriverMessage::Submit(reply) => {
                submissions += 1;
                let _ = reply.send(Ok(haft_driver::Clearance::default()));
            }
            DriverMessage::Wanted { reply, .. } => drop(reply.send(Ok(()))),
            DriverMessage::Progress(told) => progress.push(told),
            DriverMessage::Partial(content) => {
                pieces.extend(content.into_iter().filter_map(text_of))
            }
            DriverMessage::Hide(_)
            | DriverMessage::CancelHeard
            | DriverMessage::Ask { .. }
            | DriverMessage::Remark(_)
            | DriverMessage::Backgrounded => {}
        };
        let result = loop {
            tokio::select! {
                result = &mut run => break result,
                said = heard.next() => take(said),
            }
        };
        while let Some(said) = heard.unheard() {
            take(said);
        }
        Ended { result, submissions, progress, pieces }
    }
}

fn text_of(content: Content) -> Option<String> {
    match content {
        Content::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The sandbox with the launcher that this package builds.
pub(crate) fn walls() -> Walls {
    Walls::By(Launcher::at(env!("CARGO_BIN_EXE_haft-drivers-test-launcher")))
}

/// Runs a future on a runtime of its own.
pub(crate) fn alone<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

impl Ended {
    pub(crate) fn output(self) -> Output {
        self.result.unwrap()
    }

    /// The text that the program printed.
    pub(crate) fn text(self) -> String {
        let value = self.output().structured.unwrap();
        value["text"].as_str().unwrap().to_owned()
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

/// A test vault with the given secrets by name.
struct Drawer(HashMap<String, String>);

impl Vault for Drawer {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let slug = asked.name.to_ascii_lowercase().replace('_', "-");
        let found = self.0.get(asked.name).map(|value| Secret::new(value.clone()));
        let opened = match found {
            Some(value) => Ok(OpenedSecret { slug, value }),
            None => {
                let stop = Stop::new(Code::CredentialMissing, format!("there is no `{slug}`"));
                Err(Withheld { slug, stop })
            }
        };
        Box::pin(std::future::ready(opened))
    }
}
