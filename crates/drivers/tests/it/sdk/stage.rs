//! Test stage: a workspace with the `odd` package, an sdk driver over it, and calls to its
//! functions.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{
    Attempt, BoxFuture, Cancel, Driver as _, DriverMessage, Failure, Link, OpenedSecret, Output,
    SecretRequest, TargetGuard, Vault, Withheld,
};
use haft_drivers::{DeclaredEntries, Sdk, WorkingFolder};
use haft_model::{
    Actor, ActorId, Code, Content, DriverKind, EffectState, Plan, Secret, Stop, ToolKey, Tri,
};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::plans::{self, permit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Node,
    Python,
}

pub(crate) const BOTH: [Language; 2] = [Language::Node, Language::Python];

/// A workspace, a manifest, and the effects of the contract.
pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) manifest: Value,
    pub(crate) read_only: Tri,
    pub(crate) mutates: Vec<String>,
    pub(crate) actor: &'static str,
    pub(crate) patience: Duration,
    /// The guard of the calls.
    pub(crate) guard: TargetGuard,
    pub(crate) secrets: BTreeMap<&'static str, &'static str>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<Output, Failure>,
    pub(crate) submissions: usize,
    pub(crate) parts: Vec<Value>,
}

impl Stage {
    /// A read-only function of the `odd` package.
    pub(crate) fn reading(language: Language, function: &str) -> Stage {
        let (file, style, text) = match language {
            Language::Node => ("lib/odd.mjs", "esm", include_str!("packages/odd.mjs")),
            Language::Python => ("lib/odd.py", "python", include_str!("packages/odd.py")),
        };
        let folder = Folder::new().file(file, text).file("notes/log", "");
        let manifest = json!({
            "name": "Odd", "id": "odd", "description": "Odd functions.", "version": "1.0.0",
            "kind": "sdk", "package": "odd", "package_manager": "local", "import_style": style,
            "entrypoint": file,
            "implements": [{"tool": "odd.do", "version": "^1", "metadata": {
                "sdk": {"function_ref": function},
            }}],
        });
        Stage {
            folder,
            manifest,
            read_only: Tri::Yes,
            mutates: Vec::new(),
            actor: "agent:ana",
            patience: Duration::from_secs(20),
            guard: TargetGuard::default(),
            secrets: BTreeMap::new(),
        }
    }

    /// A function of the `odd` package that may write `notes`.
    pub(crate) fn writing(language: Language, function: &str) -> Stage {
        let mutates = vec!["workspace:notes/**".to_owned()];
        Stage { read_only: Tri::No, mutates, ..Stage::reading(language, function) }
    }

    /// Sets a field of the manifest.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Stage {
        self.manifest[field] = value;
        self
    }

    /// Sets a field of `metadata.<kind>` of the entry.
    pub(crate) fn entry(mut self, kind: &str, field: &str, value: Value) -> Stage {
        self.manifest["implements"][0]["metadata"][kind][field] = value;
        self
    }

    pub(crate) fn driver(&self) -> Sdk {
        self.driver_of(&["odd.do"])
    }

    /// A driver whose entries serve these contracts, in order.
    pub(crate) fn driver_of(&self, tools: &[&str]) -> Sdk {
        let manifest = self.manifest.clone();
        let keys = tools.iter().map(|tool| ToolKey::new(tool, 1));
        let serves = keys.zip(0..).collect();
        let manifest = DriverManifest::from_json(DriverKind::Sdk, &manifest);
        Sdk::new(move || DeclaredEntries { manifest, serves }, self.place())
    }

    pub(crate) fn place(&self) -> WorkingFolder {
        let launcher = Launcher::at(env!("CARGO_BIN_EXE_haft-drivers-test-launcher"));
        WorkingFolder {
            root: self.folder.path().to_owned(),
            hidden: vec![".haft".into()],
            programs: Vec::new(),
            walls: Walls::By(launcher),
            guard: AddressGuard::public(),
            variable: |name| std::env::var(name).ok(),
            secrets: Default::default(),
        }
    }

    pub(crate) fn plan(&self, input: Value) -> Plan {
        let mut plan = plans::plan("odd.do", "odd", input);
        plan.actor = Arc::new(Actor::from(ActorId::from(self.actor)));
        plan.context = json!({"tenant": "t1"});
        let effects = Arc::make_mut(&mut plan.effects);
        effects.facts.read_only = self.read_only;
        effects.mutates = self.mutates.iter().cloned().collect();
        effects.mutates_stated = true;
        plan
    }

    /// Runs one call on a new driver.
    pub(crate) async fn run(&self, input: Value) -> Ended {
        self.call(&self.driver(), input).await
    }

    pub(crate) async fn call(&self, driver: &Sdk, input: Value) -> Ended {
        self.call_until(driver, input, &Cancel::new(), &mut |_| {}).await
    }

    /// Calls another contract of the same driver, without an input.
    pub(crate) async fn call_tool(&self, driver: &Sdk, tool: &str) -> Ended {
        let plan = Plan { tool: ToolKey::new(tool, 1), ..self.plan(json!({})) };
        self.carried_out(driver, plan, &Cancel::new(), &mut |_| {}).await
    }

    /// Runs a call and passes on its messages while it runs.
    pub(crate) async fn call_until(
        &self,
        driver: &Sdk,
        input: Value,
        cancel: &Cancel,
        hear: &mut (dyn FnMut(&DriverMessage) + Send),
    ) -> Ended {
        self.carried_out(driver, self.plan(input), cancel, hear).await
    }

    async fn carried_out(
        &self,
        driver: &Sdk,
        plan: Plan,
        cancel: &Cancel,
        hear: &mut (dyn FnMut(&DriverMessage) + Send),
    ) -> Ended {
        let permit = permit(&plan);
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + self.patience;
        let attempt = Attempt::new(&permit, &plan, 1, deadline, cancel.clone(), link).unwrap();
        let vault = TestVault(self.secrets.clone());
        let mut run = driver.run(attempt.with(Some(Arc::new(vault))).guarded(self.guard.clone()));
        let (mut submissions, mut parts) = (0, Vec::new());
        let result = loop {
            tokio::select! {
                biased;
                said = heard.next() => {
                    hear(&said);
                    match said {
                        DriverMessage::Submit(answer) => {
                            submissions += 1;
                            let _ = answer.send(Ok(haft_driver::Clearance::default()));
                        }
                        DriverMessage::Wanted { reply, .. } => drop(reply.send(Ok(()))),
                        DriverMessage::Partial(content) => parts.extend(content.into_iter().map(data)),
                        DriverMessage::Progress(_) | DriverMessage::Hide(_) | DriverMessage::CancelHeard | DriverMessage::Ask { .. } | DriverMessage::Remark(_) | DriverMessage::Backgrounded => {}
                    }
                }
                result = &mut run => break result,
            }
        };
        while let Some(said) = heard.unheard() {
            if let DriverMessage::Partial(content) = said {
                parts.extend(content.into_iter().map(data));
            }
        }
        Ended { result, submissions, parts }
    }

    /// The text that the function wrote.
    pub(crate) fn notes(&self) -> String {
        fs::read_to_string(self.folder.path().join("notes/log")).unwrap()
    }
}

fn data(content: Content) -> Value {
    match content {
        Content::StructuredContent { data } => data,
        other => json!(format!("{other:?}")),
    }
}

impl Ended {
    /// The value that the function returned.
    pub(crate) fn value(self) -> Value {
        self.result.unwrap().structured.unwrap_or_default()
    }

    /// The code and message of a failed call.
    pub(crate) fn words(self) -> String {
        let stop = self.result.unwrap_err().stop;
        format!("{}: {}", stop.code, stop.message)
    }

    /// The code, the effect state and the number of submissions of a failed call.
    pub(crate) fn fate(self) -> (Code, EffectState, usize) {
        let submissions = self.submissions;
        let failure = self.result.unwrap_err();
        (failure.stop.code, failure.effect, submissions)
    }
}

/// A test vault; a secret whose name begins with `own:` belongs to one actor.
struct TestVault(BTreeMap<&'static str, &'static str>);

impl Vault for TestVault {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let slug = asked.name.to_owned();
        let opened = match self.0.get(asked.name) {
            Some(value) => {
                let value = Secret::new(value.replace("own:", asked.actor.id.as_str()));
                Ok(OpenedSecret { slug, value })
            }
            None => {
                let stop = Stop::new(Code::CredentialMissing, "there is no such secret");
                Err(Withheld { slug, stop })
            }
        };
        Box::pin(std::future::ready(opened))
    }
}
