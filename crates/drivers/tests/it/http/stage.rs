//! Test stage: an http driver over one manifest, its backend, and calls to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{
    Attempt, BoxFuture, Cancel, Clearance, Driver, DriverMessage, Failure, Link, OpenedSecret,
    Output, SecretRequest, Vault, Withheld,
};
use haft_drivers::{DeclaredEntries, Http};
use haft_model::{
    Code, Content, DriverKind, EffectState, Plan, Secret, Stop, Timestamp, ToolKey, Tri,
};
use haft_sandbox::AddressGuard;
use haft_testkit::{Backend, Keys};
use serde_json::{Value, json};

use crate::plans::{self, permit};

/// A backend, a manifest, and the effects of the contract.
pub(crate) struct Stage {
    pub(crate) backend: Backend,
    pub(crate) manifest: Value,
    pub(crate) network: Vec<String>,
    pub(crate) read_only: Tri,
    pub(crate) key: Option<String>,
    pub(crate) patience: Duration,
    pub(crate) guard: AddressGuard,
    /// The secrets of the test vault, by name.
    pub(crate) secrets: Vec<(&'static str, &'static str)>,
    pub(crate) files: Option<PathBuf>,
    /// Receives a message for every partial result.
    pub(crate) on_partial: Option<std::sync::mpsc::Sender<()>>,
    /// The clearance of every submission.
    pub(crate) clearance: Clearance,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<Output, Failure>,
    pub(crate) submissions: usize,
    /// The partial results, in order.
    pub(crate) partials: Vec<Content>,
    /// The progress messages, in order.
    pub(crate) progress: Vec<String>,
    /// The secrets that the driver opened, in order.
    pub(crate) wanted: Vec<String>,
    /// The texts derived from secrets that the driver marked for redaction.
    pub(crate) hidden: Vec<String>,
}

/// A test vault that opens its secrets for every caller.
struct Open(Vec<(&'static str, &'static str)>);

impl Vault for Open {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let slug = asked.name.to_owned();
        let found = self.0.iter().find(|(name, _)| *name == asked.name);
        Box::pin(async move {
            match found {
                Some((_, value)) => {
                    Ok(OpenedSecret { slug, value: Secret::new((*value).to_owned()) })
                }
                None => {
                    let words = format!("`{slug}` is not there");
                    Err(Withheld { slug, stop: Stop::new(Code::CredentialMissing, words) })
                }
            }
        })
    }
}

impl Stage {
    /// One entry that posts the input, changed by `http`.
    pub(crate) fn writing(http: Value) -> Stage {
        Stage::new(Tri::No, merged(json!({"endpoint": "/pay", "method": "POST"}), http))
    }

    /// One entry that reads, changed by `http`.
    pub(crate) fn reading(http: Value) -> Stage {
        Stage::new(Tri::Yes, merged(json!({"endpoint": "/look", "method": "GET"}), http))
    }

    fn new(read_only: Tri, http: Value) -> Stage {
        let backend = Backend::new(Keys::Ignored);
        let host = backend.host();
        let manifest = json!({
            "name": "Shop", "id": "shop", "description": "A shop.", "version": "1.0.0",
            "kind": "http", "base_url": format!("http://{host}"), "network": {"egress": [host]},
            "implements": [{"tool": "shop.pay", "version": "^1", "metadata": {"http": http}}],
        });
        Stage {
            network: vec![host],
            backend,
            manifest,
            read_only,
            key: None,
            patience: Duration::from_secs(20),
            guard: AddressGuard::public(),
            secrets: Vec::new(),
            files: None,
            on_partial: None,
            clearance: Clearance::default(),
        }
    }

    /// Sets a field of the manifest.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Stage {
        self.manifest[field] = value;
        self
    }

    /// Sets `metadata.haft`, which extends AIP-31.
    pub(crate) fn haft(mut self, haft: Value) -> Stage {
        self.manifest["implements"][0]["metadata"]["haft"] = haft;
        self
    }

    pub(crate) fn driver(&self) -> Http {
        let manifest = self.manifest.clone();
        let serves = vec![(ToolKey::new("shop.pay", 1), 0)];
        let clock = || Timestamp::UNIX_EPOCH;
        let manifest = DriverManifest::from_json(DriverKind::Http, &manifest);
        let http =
            Http::new(move || DeclaredEntries { manifest, serves }, self.guard.clone(), clock);
        match &self.files {
            Some(root) => http.with_files_of(root.clone()),
            None => http,
        }
    }

    pub(crate) fn plan(&self, input: Value) -> Plan {
        let mut plan = plans::plan("shop.pay", "shop", input);
        plan.renames = Arc::from([("order".to_owned(), "reference".to_owned())]);
        plan.context = json!({"tenant": "t1"});
        let effects = Arc::make_mut(&mut plan.effects);
        effects.requires.network = self.network.iter().cloned().collect();
        effects.facts.read_only = self.read_only;
        plan
    }

    pub(crate) fn preflight(&self, input: Value) -> Result<(), Stop> {
        self.driver().preflight(&self.plan(input))
    }

    pub(crate) fn run(&self, input: Value) -> Ended {
        self.run_around(input, &Cancel::new(), &mut || Ok(()))
    }

    /// Runs a call and a function at the moment of submission.
    pub(crate) fn run_around(
        &self,
        input: Value,
        cancel: &Cancel,
        on_submit: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Ended {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.call(&self.driver(), input, cancel, on_submit))
    }

    pub(crate) async fn call(
        &self,
        driver: &Http,
        input: Value,
        cancel: &Cancel,
        on_submit: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Ended {
        let plan = self.plan(input);
        let permit = permit(&plan);
        let (link, mut heard) = Link::new();
        let deadline = Instant::now() + self.patience;
        let attempt = Attempt::new(&permit, &plan, 1, deadline, cancel.clone(), link).unwrap();
        let vault: Arc<dyn Vault> = Arc::new(Open(self.secrets.clone()));
        let mut run = driver.run(attempt.known_by(self.key.clone()).with(Some(vault)));
        let mut ended = Ended::default();
        let result = loop {
            tokio::select! {
                biased;
                said = heard.next() => ended.hear(said, self, on_submit),
                result = &mut run => break result,
            }
        };
        while let Some(said) = heard.unheard() {
            ended.hear(said, self, on_submit);
        }
        Ended { result, ..ended }
    }
}

impl Default for Ended {
    fn default() -> Ended {
        let stop = Stop::new(Code::Internal, "it is not over");
        Ended {
            result: Err(Failure::new(stop, EffectState::Unknown)),
            submissions: 0,
            partials: Vec::new(),
            progress: Vec::new(),
            wanted: Vec::new(),
            hidden: Vec::new(),
        }
    }
}

impl Ended {
    fn hear(
        &mut self,
        said: DriverMessage,
        stage: &Stage,
        on_submit: &mut dyn FnMut() -> Result<(), Stop>,
    ) {
        match said {
            DriverMessage::Submit(answer) => {
                self.submissions += 1;
                let _ = answer.send(on_submit().map(|()| stage.clearance.clone()));
            }
            DriverMessage::Wanted { slug, reply, .. } => {
                self.wanted.push(slug);
                let _ = reply.send(Ok(()));
            }
            DriverMessage::Hide(made) => self.hidden.push(made.expose().to_owned()),
            DriverMessage::Partial(content) => {
                self.partials.extend(content);
                if let Some(told) = &stage.on_partial {
                    let _ = told.send(());
                }
            }
            DriverMessage::Progress(progress) => self.progress.extend(progress.message),
            DriverMessage::CancelHeard
            | DriverMessage::Ask { .. }
            | DriverMessage::Remark(_)
            | DriverMessage::Backgrounded => {}
        }
    }

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

fn merged(mut entry: Value, more: Value) -> Value {
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}
