//! OpenAPI corpus test: every example document, imported and called against Prism.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use haft_testkit::Folder;
use serde_json::Value;

use crate::backends::{documents, packages, sample};
use crate::stage::{command, finished, started};

/// How many operations of a document are called.
const SAMPLES: usize = 4;

/// A value that does for every login: `ana:password`, as Basic wants it.
const SECRET: &str = "YW5hOnBhc3N3b3Jk";

/// What Prism refuses, and why no request of ours would be better.
const EXPECTED: [&str; 7] = [
    // A document of 2.0 that does not say what it consumes: Prism takes nothing for it.
    "2.0/json/schema-circular.json POST /post 415 Invalid content type",
    // A list of objects in a header: no style of OpenAPI can write one.
    "3.0/json/circular-paths.json PUT /anything 422 Invalid request header.content.0: Request header \
     parameter content.0 must be object",
    // A discriminator says which schema is meant; Prism tries them all, and several fit.
    "3.0/json/discriminators.json PATCH /improper-discriminator-placement 422 Invalid request \
     body.connector_properties: Request body property connector_properties must match exactly one \
     schema in oneOf",
    "3.0/json/polymorphism.json PATCH /pets 422 Invalid request body: Request body must match \
     exactly one schema in oneOf",
    // A list in a body of parts is a part for each item; Prism keeps the last part of each name.
    "3.0/json/file-uploads.json PUT /anything/multipart-formdata 422 Invalid request \
     body.filename: Request body property filename must be array",
    // An object in a body of parts is JSON, and 3.0 says to ignore styles there; Prism reads the part
    // as a piece of a query, in which braces are reserved.
    "3.0/json/parameters-style.json POST /anything/form-data/spaceDelimited 422 Invalid request \
     body.object: Reserved characters used in request body",
    "3.0/json/schema-encoding-style.json PUT /form/primitive 422 Invalid request body.object: \
     Reserved characters used in request body",
];

/// All mocks, in one process.
struct Mocks {
    child: Child,
    ask: ChildStdin,
    told: BufReader<std::process::ChildStdout>,
    refused: JoinHandle<Vec<String>>,
}

impl Mocks {
    fn start() -> Mocks {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/backends/scripts/mocks.cjs");
        let mut node = Command::new("node");
        node.arg(script).env("NODE_PATH", packages().join("node_modules"));
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = node.spawn().unwrap();
        let refused = BufReader::new(child.stderr.take().unwrap());
        Mocks {
            ask: child.stdin.take().unwrap(),
            told: BufReader::new(child.stdout.take().unwrap()),
            refused: thread::spawn(move || refused.lines().map_while(Result::ok).collect()),
            child,
        }
    }

    /// Where a document is mocked. Prism can read them all.
    fn of(&mut self, document: &Path) -> String {
        writeln!(self.ask, "{}", document.display()).unwrap();
        let mut at = String::new();
        self.told.read_line(&mut at).unwrap();
        assert!(at.starts_with("http"), "{}: {at}", document.display());
        at.trim().to_owned()
    }

    /// Ends them all; gives the requests that were refused, each with the port of its mock.
    fn end(mut self) -> Vec<String> {
        drop(self.ask);
        self.child.wait().unwrap();
        self.refused.join().unwrap()
    }
}

/// Calls some operations of a document, each with an input that fits its contract. Gives how many.
fn called(document: &Path, at: &str) -> usize {
    let folder =
        Folder::new().file("haft.toml", "[[rule]]\nverdict = \"allow\"\ntool = \"doc.*\"\n");
    let said = |line: &str| {
        let mut command = command(&folder, line);
        command.envs(variables(&folder).into_iter().map(|name| (name, SECRET)));
        finished(started(command), line).stdout
    };
    said(&format!("add openapi {} --id doc --server {at}", document.display()));
    let tools: Value = serde_json::from_slice(&said("export mcp")).unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let tools = tools["tools"].as_array().unwrap().iter();
    let tools: Vec<&Value> = tools.filter(|tool| name(tool).starts_with("doc_")).collect();
    let calls = tools.iter().step_by(tools.len().div_ceil(SAMPLES).max(1)).map(|tool| {
        let input = folder.path().join("input.json");
        fs::write(&input, sample::of(&tool["inputSchema"]).to_string()).unwrap();
        let line = format!("call {} --input @{} --no-wait --json", name(tool), input.display());
        let first: Value = serde_json::from_slice(&said(&line)).unwrap();
        let question = first["approval_id"].as_str().filter(|_| first["status"] == "pending");
        let last = match question {
            Some(question) => said(&format!("approve {question} --json")),
            None => return first,
        };
        serde_json::from_slice(&last).unwrap()
    });
    let reached = |envelope: &Value| {
        let message = envelope["error"]["message"].as_str().unwrap_or_default();
        !message.starts_with("the input does not fit")
    };
    calls.filter(reached).count()
}

/// The environment variables that the secrets of a workspace go by.
fn variables(folder: &Folder) -> Vec<String> {
    let inventory = folder.path().join(".secrets/doc/SECRETS.md");
    let text = fs::read_to_string(inventory).unwrap_or_default();
    let named = text.split("kind: env, name: ").skip(1).filter_map(|rest| rest.split(',').next());
    named.map(str::to_owned).collect()
}

#[test]
fn requests_to_every_example_are_those_of_its_document() {
    let examples = packages().join("node_modules/@readme/oas-examples");
    let all = ["2.0/json", "3.0/json", "3.1/json"];
    let all: Vec<PathBuf> = all.iter().flat_map(|part| documents(&examples.join(part))).collect();
    let mut mocks = Mocks::start();
    let mocked = all.iter().map(|document| (document.clone(), mocks.of(document)));
    let mocked: Vec<(PathBuf, String)> = mocked.collect();
    let queue = Mutex::new(mocked.iter());
    let calls: usize = thread::scope(|scope| {
        let work = || {
            let next = || queue.lock().unwrap().next();
            std::iter::from_fn(next).map(|(document, at)| called(document, at)).sum::<usize>()
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let refused = mocks.end();
    let named = |line: &String| {
        let (port, what) = line.split_once(' ').unwrap();
        let (document, _) =
            mocked.iter().find(|(_, at)| at.ends_with(&format!(":{port}"))).unwrap();
        let name = document.strip_prefix(&examples).unwrap().display();
        format!("{name} {what}")
    };
    let refused: BTreeSet<String> = refused.iter().map(named).collect();
    println!("{calls} calls of {} documents", mocked.len());
    assert_eq!(refused, EXPECTED.iter().map(|&one| one.to_owned()).collect());
    assert!(calls > 160, "{calls}");
}
