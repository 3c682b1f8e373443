//! Rule enforcement fixture: a workspace with secrets, links and programs, and a recording web
//! server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use haft::{Host, HostOptions, Launcher, StoreChoice};
use haft_driver::{BoxFuture, OpenedSecret, SecretRequest, Vault, Withheld};
use haft_model::{Call, Code, Envelope, Secret};
use haft_runtime::{CallOptions, Patience};
use haft_sandbox::AddressGuard;
use haft_testkit::{Folder, judged};
use serde_json::Value;

pub(crate) use haft_testkit::judged::{REACHED, SECRET};

const TOOL: &str = "version: 1.0.0\nmutates: []\nrisk_level: 0\napproval: auto\nrequires: {}\n\
    timeout_ms: 20000\n\
    outputs: { type: object, properties: { text: { type: string } }, required: [text] }\n";

/// Programs that run what they are given: words as they are, and a line by a shell.
const DRIVER: &str = r#"---
name: Runner
id: runner
description: Runs what it is given.
version: 1.0.0
kind: cli
bin: KIND_BIN
sandbox: { fs: { read: ["./**"], write: [] } }
implements:
"#;

/// How many words a command may have; a tool for each number, since templates know no lists.
const MOST_WORDS: usize = 24;

fn contract(id: &str, inputs: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Does {id}.\n{TOOL}\
         inputs: {{ type: object, properties: {{ {inputs} }} }}\n---\n"
    )
}

fn driver(id: &str, bin: &str, entries: &[(String, String)]) -> String {
    let mut text = DRIVER.replace("KIND_BIN", bin).replace("id: runner", &format!("id: {id}"));
    for (tool, argv) in entries {
        text += &format!(
            "  - tool: {tool}\n    version: ^1\n    metadata:\n      cli: {{ argv: [{argv}] }}\n      \
             haft: {{ dash_values: true }}\n"
        );
    }
    text + "---\n"
}

/// The names of the fields of a command with so many words. No rule knows them.
fn fields(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|place| format!("w{place}"))
}

/// The call of a command by its words.
pub(crate) fn words(words: &[impl AsRef<str>]) -> (String, Value) {
    let given = fields(words.len()).zip(words).map(|(name, word)| (name, word.as_ref().into()));
    (format!("run.words{}", words.len()), Value::Object(given.collect()))
}

/// A workspace with these rules besides one that allows everything.
pub(crate) fn workspace(rules: &str) -> Folder {
    let settings = format!(
        "[workspace]\nname = \"judged\"\nautonomy = 3\n[limits]\nrest = {{ failures = 0 }}\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n{rules}"
    );
    let mut folder = judged::lay_out(Folder::new())
        .file("haft.toml", settings)
        .file(".tools/run.line/TOOL.md", contract("run.line", "command: { type: string }"))
        .file(".tools/run.cat/TOOL.md", contract("run.cat", "path: { type: string }"))
        .file(
            ".drivers/line/DRIVER.md",
            driver("line", "sh", &[("run.line".into(), r#""-c", "${input.command}""#.into())]),
        )
        .file(
            ".drivers/cat/DRIVER.md",
            driver("cat", "cat", &[("run.cat".into(), r#""--", "${input.path}""#.into())]),
        );
    let mut entries = Vec::new();
    for count in 1..=MOST_WORDS {
        let tool = format!("run.words{count}");
        let inputs: Vec<String> =
            fields(count).map(|name| format!("{name}: {{ type: string }}")).collect();
        let argv: Vec<String> =
            fields(count).map(|name| format!("\"${{input.{name}}}\"")).collect();
        folder =
            folder.file(&format!(".tools/{tool}/TOOL.md"), contract(&tool, &inputs.join(", ")));
        entries.push((tool, argv.join(", ")));
    }
    folder.file(".drivers/words/DRIVER.md", driver("words", "env", &entries))
}

/// A vault that has every secret.
struct OneSecret;

impl Vault for OneSecret {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let opened =
            OpenedSecret { slug: asked.name.to_owned(), value: Secret::new("open".to_owned()) };
        Box::pin(async { Ok(opened) })
    }
}

/// A host over a workspace, which may reach one address of this machine by two names.
pub(crate) fn open(folder: &Folder, port: u16) -> Host {
    crate::accepted::accept(folder);
    let addresses = AddressGuard::public().allowing("localhost", port).allowing("127.0.0.1", port);
    let options = HostOptions {
        store: StoreChoice::Memory,
        launcher: Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher"))),
        addresses,
        vault: Some(Arc::new(OneSecret)),
        ..HostOptions::default()
    };
    Host::open(folder.path(), options).unwrap()
}

/// The result of an agent's call that needs no approval.
pub(crate) async fn call(host: &Host, tool: &str, input: Value) -> Envelope {
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    host.runtime().call(Call::new(host.actor("agent:test"), tool, input), manner).await
}

/// The code that a call failed with.
pub(crate) fn code(envelope: &Envelope) -> Option<Code> {
    envelope.error.as_ref().map(|error| error.error_code)
}

/// Everything that a caller gets to see.
pub(crate) fn shown(envelope: &Envelope) -> String {
    format!("{:?} {:?}", envelope.structured_content, envelope.error)
}

/// A web server that writes down the paths it was asked for, and sends some askers elsewhere.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn new() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let book = asked.clone();
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &book);
            }
        });
        Server { port, asked }
    }

    /// The paths that were asked for since the last look.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, book: &Mutex<Vec<String>>) -> Option<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        request.extend(byte);
    }
    let request = String::from_utf8(request).ok()?;
    let path = request.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let head = match path.strip_prefix("/hop?to=") {
        Some(place) => format!("302 Found\r\nLocation: {place}"),
        None => "200 OK\r\nContent-Type: text/plain".to_owned(),
    };
    book.lock().unwrap().push(path);
    let text = format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    stream.write_all(text.as_bytes()).ok()
}
