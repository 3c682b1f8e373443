//! Fuzz target for rules about addresses, paths and commands: whatever the driver resolves a
//! spelling to is what a denying rule was compared with.
//!
//! Nothing is sent and nothing is started: drivers tell their resolved targets, and an oracle of the test
//! kit works out what they reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haft_contract::DriverManifest;
use haft_driver::{Driver, TargetKinds, Targets};
use haft_drivers::{Builtin, Cli, DeclaredEntries, WorkingFolder};
use haft_model::web::Url;
use haft_model::{DriverKind, Plan, Rule, Timestamp, ToolKey};
use haft_policy::rules::{CompiledRule, Subject, matches};
use haft_sandbox::{AddressGuard, Walls};
use haft_testkit::judged::{self, FOLDERS, PROGRAMS};
use haft_testkit::{Folder, SeededRandom, spellings};
use serde_json::{Value, json};

use crate::plan::plan;

/// Takes the text as an address, a path, words and a line, and draws a spelling of each from its bytes.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    address(text);
    path(text);
    words(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    line(text);
    let seed =
        data.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let mut random = SeededRandom::new(seed);
    let port = random.choose(&[80, 8080, 443]);
    address(&spellings::url(&mut random, "bank.example", port, &["keys", "a"]));
    path(&spellings::path(&mut random, &FOLDERS, "a", "docs/sub/.."));
    let launched = spellings::words(&mut random, &PROGRAMS, "x");
    words(&launched);
    // Within one shell these start the program; a shell within a shell loses what is not quoted.
    let shells = launched.join(" ").matches("sh -").count();
    let denied = shells > 1 || command(&launched).is_none_or(|denied| denied);
    assert!(denied, "{launched:?} starts `danger`");
    let launched = spellings::line(&mut random, &PROGRAMS, "x");
    let call = Call::new("sh", &["-c", "${input.command}"], json!({ "command": launched }));
    assert!(call.command().is_none_or(|denied| denied), "{launched:?} starts `danger`");
}

/// Where the driver would ask the denied host for a denied path, the rule is about the call.
fn address(text: &str) {
    let input = json!({ "url": text });
    let (driver, plan) = (builtin(), plan("http.fetch", input.clone()));
    if driver.preflight(&plan).is_err() {
        return;
    }
    let targets = driver.targets(&plan, TargetKinds::ALL);
    for asked in &targets.urls {
        let Ok(url) = Url::parse(asked) else { continue };
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        if host != "bank.example" || !judged::requested_path(url.path()).starts_with("keys/") {
            continue;
        }
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        let pattern = format!("{}://bank.example{port}/keys/*", url.scheme());
        let rule = json!({ "verdict": "deny", "url": pattern });
        assert!(denies(&rule, &input, &targets), "{text:?} reaches {url}");
        // A driver that tells nothing is judged by its input.
        assert!(denies(&rule, &input, &Targets::default()), "{text:?} reaches {url}, untold");
    }
}

/// Where a tool or a program would open a denied file, the rule is about the call.
fn path(text: &str) {
    let root = root();
    let input = json!({ "path": text });
    for tool in ["fs.read", "fs.write", "text.search"] {
        let (driver, plan) = (builtin(), plan(tool, input.clone()));
        if driver.preflight(&plan).is_ok() {
            let targets = driver.targets(&plan, TargetKinds::ALL);
            file(&input, &targets, judged::opened_by_name(root, text));
        }
    }
    let call = Call::new("cat", &["--", "${input.path}"], input.clone());
    if let Some(targets) = call.targets() {
        file(&input, &targets, judged::opened_by_kernel(root, text));
    }
}

fn file(input: &Value, targets: &Targets, opened: Option<PathBuf>) {
    if opened.is_some_and(|opened| opened.starts_with(root().join("keys"))) {
        let rule = json!({ "verdict": "deny", "path": "keys/*" });
        let folder = json!({ "verdict": "deny", "path": "keys" });
        let denied = denies(&rule, input, targets) || denies(&folder, input, targets);
        assert!(denied, "{input} opens a denied file: {targets:?}");
    }
}

/// Where words start the denied program, the rule is about the call.
fn words(words: &[String]) {
    let started = judged::started_program(root(), words);
    if started.is_some_and(|started| started == root().join("danger")) {
        assert!(command(words).is_none_or(|denied| denied), "{words:?} starts `danger`");
    }
}

/// The same for a line that a shell splits at its spaces alone.
fn line(text: &str) {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "./_- ".contains(letter);
    let split: Vec<String> =
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let started = judged::started_program(root(), &split);
    if text.chars().all(plain) && started.is_some_and(|started| started == root().join("danger")) {
        let call = Call::new("sh", &["-c", "${input.command}"], json!({ "command": text }));
        assert!(call.command().is_none_or(|denied| denied), "{text:?} starts `danger`");
    }
}

/// Whether a command of these words is denied; none where the driver refuses to run it.
fn command(words: &[String]) -> Option<bool> {
    let fields = (0..words.len()).map(|place| format!("w{place}"));
    let argv: Vec<String> = fields.clone().map(|name| format!("${{input.{name}}}")).collect();
    let input = Value::Object(fields.zip(words.iter().map(|word| json!(word))).collect());
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    Call::new("env", &argv, input).command()
}

/// A call of a program by the driver of kind cli.
struct Call {
    driver: Cli,
    plan: Plan,
}

impl Call {
    fn new(bin: &str, argv: &[&str], input: Value) -> Call {
        let manifest = json!({
            "name": "Demo", "id": "demo", "description": "A program.", "version": "1.0.0",
            "kind": "cli", "bin": bin,
            "implements": [{
                "tool": "demo.run", "version": "^1",
                "metadata": { "cli": { "argv": argv }, "haft": { "dash_values": true } },
            }],
        });
        let place = WorkingFolder {
            root: root().to_owned(),
            hidden: vec![".haft".into()],
            walls: Walls::Off,
            guard: AddressGuard::public(),
            variable: |name| std::env::var(name).ok(),
            secrets: BTreeSet::new(),
            programs: Default::default(),
        };
        let serves = vec![(ToolKey::new("demo.run", 1), 0)];
        let manifest = DriverManifest::from_json(DriverKind::Cli, &manifest);
        Call {
            driver: Cli::new(move || DeclaredEntries { manifest, serves }, place),
            plan: plan("demo.run", input),
        }
    }

    /// What the program would touch; none where the driver refuses to run it.
    fn targets(&self) -> Option<Targets> {
        self.driver.preflight(&self.plan).ok()?;
        Some(self.driver.targets(&self.plan, TargetKinds::ALL))
    }

    fn command(&self) -> Option<bool> {
        let rule = json!({ "verdict": "deny", "command": "danger *" });
        Some(denies(&rule, &self.plan.input, &self.targets()?))
    }
}

fn denies(rule: &Value, input: &Value, targets: &Targets) -> bool {
    let subject = Subject {
        tool: "demo.run",
        action: None,
        classes: &BTreeSet::new(),
        actor: None,
        input,
        mapped: None,
        targets,
    };
    let rule = serde_json::from_value::<Rule>(rule.clone());
    rule.is_ok_and(|rule| matches(&CompiledRule::new(&rule), &subject))
}

fn builtin() -> Builtin {
    Builtin::new(root().to_owned(), AddressGuard::public(), || Timestamp::UNIX_EPOCH)
}

/// The workspace of all cases, which none of them changes.
fn root() -> &'static Path {
    static FOLDER: OnceLock<(Folder, PathBuf)> = OnceLock::new();
    let (_, root) = FOLDER.get_or_init(|| {
        let folder = judged::lay_out(Folder::new());
        let root = std::fs::canonicalize(folder.path()).unwrap_or_default();
        (folder, root)
    });
    root
}
