//! Test stage: workspaces to start from, and a way to run the command in them.

use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use haft_testkit::Folder;
use serde_json::Value;

/// Far more than any command needs, on the slowest machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Compares everything a command says: its exit code, its output, and its remarks after `!`.
#[track_caller]
pub(crate) fn check(folder: &Folder, line: &str, expected: &str) {
    assert_eq!(everything(folder, line), expected.trim_matches('\n'), "haft {line}");
}

/// The same of a list of tools, without those that come with Haft, however wide its columns are.
#[track_caller]
pub(crate) fn check_own(folder: &Folder, line: &str, expected: &str) {
    let narrow = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.collect::<Vec<_>>().join("  ")
    };
    let said = everything(folder, line);
    let own = said.lines().filter(|line| !line.contains("  haft-builtin  ")).map(narrow);
    let expected: Vec<String> = expected.trim_matches('\n').lines().map(narrow).collect();
    assert_eq!(own.collect::<Vec<_>>(), expected, "haft {line}");
}

#[track_caller]
fn everything(folder: &Folder, line: &str) -> String {
    let ran = run(folder, line);
    let mut said = format!("exit {}\n", ran.status.code().unwrap());
    said.push_str(&String::from_utf8(ran.stdout).unwrap());
    for remark in String::from_utf8(ran.stderr).unwrap().lines() {
        said.push_str(&format!("! {remark}\n"));
    }
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    let said = without_setup(&said);
    folder.filtered(&unvaried(&said.join("\n")))
}

/// Which drivers can run on this machine is no matter of these tests.
fn without_setup<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut skips = false;
    let mut kept = Vec::new();
    for line in lines {
        skips = line.starts_with("setup  ") || (skips && line.starts_with("          "));
        if !skips {
            kept.push(*line);
        }
    }
    kept
}

/// A text without the ids and moments that differ from run to run.
pub(crate) fn unvaried(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (kept, length) = if id_at_start(rest) {
            ("_[id]", 33)
        } else if let Some(length) = moment_at_start(rest) {
            ("[moment]", length)
        } else {
            out.push(next);
            ("", next.len_utf8())
        };
        out.push_str(kept);
        rest = rest.get(length..).unwrap();
    }
    out
}

fn id_at_start(text: &str) -> bool {
    let digits = text.strip_prefix('_').and_then(|rest| rest.get(..32));
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// How long the moment is that a text begins with.
fn moment_at_start(text: &str) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00?00:00:00";
    let head = text.as_bytes().get(..FORM.len())?;
    let fits = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        b'?' => matches!(byte, b' ' | b'T'),
        other => byte == other,
    });
    let rest = text.get(FORM.len()..).filter(|_| fits)?;
    let after = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    Some(FORM.len() + rest.len() - after.strip_prefix('Z').unwrap_or(after).len())
}

/// What a command prints as JSON, and how it exits.
#[track_caller]
pub(crate) fn json(folder: &Folder, line: &str) -> (i32, Value) {
    let ran = run(folder, line);
    let said = String::from_utf8(ran.stdout).unwrap();
    let remarks = String::from_utf8(ran.stderr).unwrap();
    let value = serde_json::from_str(&folder.filtered(&said));
    (ran.status.code().unwrap(), value.unwrap_or_else(|_| panic!("haft {line}\n{said}\n{remarks}")))
}

/// A call that no caller waits for: the id of the call, and that of its question.
#[track_caller]
pub(crate) fn asked(folder: &Folder, line: &str) -> (String, String) {
    let (exit, envelope) = json(folder, &format!("{line} --no-wait --json"));
    assert_eq!((exit, envelope["status"].as_str()), (75, Some("pending")), "{envelope:#}");
    let id = |name: &str| envelope[name].as_str().unwrap().to_owned();
    (id("invocation_id"), id("approval_id"))
}

/// Runs a command whose answer does not matter.
#[track_caller]
pub(crate) fn done(folder: &Folder, line: &str) {
    let ran = run(folder, line);
    assert!(ran.status.success(), "haft {line}\n{ran:?}");
}

/// Runs the command, which has to come to an end; its words are parted by spaces.
#[track_caller]
pub(crate) fn run(folder: &Folder, line: &str) -> Output {
    finished(started(command(folder, line)), line)
}

/// A command that runs while a test does something else.
pub(crate) fn started(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a command comes to that runs already.
#[track_caller]
pub(crate) fn finished(child: Child, line: &str) -> Output {
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(child.wait_with_output()));
    match end.recv_timeout(LONGEST) {
        Ok(output) => output.unwrap(),
        Err(_) => panic!("`haft {line}` does not end"),
    }
}

/// The variable that names another copy of the program, which other users can reach.
pub(crate) const HAFT: &str = "HAFT_TEST_PROGRAM";

/// The command, about to run in a folder without a terminal, in a workspace whose contracts and
/// settings were accepted as the first command finds them. A test about what is not accepted begins
/// with a `haft.lock` of its own, which may be empty, and one that adds contracts later runs
/// `accept`.
pub(crate) fn command(folder: &Folder, line: &str) -> Command {
    if !folder.path().join("haft.lock").exists() && !line.starts_with("init") {
        // Where there is no workspace yet, there is nothing to accept.
        let _ = unaccepted(folder, "accept --all").output();
    }
    unaccepted(folder, line)
}

/// The command, about to run in a folder as it is.
pub(crate) fn unaccepted(folder: &Folder, line: &str) -> Command {
    let copy = std::env::var(HAFT).ok();
    let mut command = Command::new(copy.unwrap_or_else(|| env!("CARGO_BIN_EXE_haft").to_owned()));
    command.arg("-C").arg(folder.path()).args(line.split_whitespace());
    command.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command.env("XDG_CONFIG_HOME", folder.path().join(".config")).env_remove("HAFT_SECRETS_KEY");
    command.env("XDG_STATE_HOME", folder.path().join(".config/state"));
    command.env("USER", "ana").env_remove("LOGNAME").env_remove("EDITOR").env_remove("VISUAL");
    command
}

/// A contract with what every contract says, and more fields.
pub(crate) fn tool(id: &str, version: &str, fields: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Does what {id} says.\nversion: {version}\n\
         outputs: {{ type: object }}\n{fields}\n---\n"
    )
}

/// The fields of a contract that reads and takes anything.
pub(crate) const READS: &str = "mutates: []\nrisk_level: 0\ninputs: { type: object }";

/// A driver of kind cli for some `tool: range` pairs.
pub(crate) fn driver(id: &str, serves: &[(&str, &str)]) -> String {
    let entry = |(tool, range): &(&str, &str)| {
        format!(
            "  - {{ tool: {tool}, version: \"{range}\", metadata: {{ cli: {{ argv: [go] }} }} }}\n"
        )
    };
    let entries: String = serves.iter().map(entry).collect();
    format!(
        "---\nname: {id}\nid: {id}\ndescription: A program.\nversion: 1.0.0\nkind: cli\nbin: env\n\
         implements:\n{entries}---\n"
    )
}

/// A shop that looks prices up over HTTP at a host that does not answer.
pub(crate) fn prices(range: &str) -> Folder {
    Folder::new()
        .file(".tools/price.lookup/TOOL.md", PRICE_LOOKUP)
        .file(".drivers/prices/DRIVER.md", PRICES.replace("RANGE", range))
}

const PRICE_LOOKUP: &str = r#"---
name: Look up a price
id: price.lookup
description: Says what an article costs today. Each answer is taken off the daily allowance.
version: 1.2.0
mutates: ["external:allowance"]
risk_level: 1
approval: auto
requires: { network: [prices.example] }
timeout_ms: 4000
inputs:
  type: object
  properties:
    article: { type: string, pattern: "^[A-Z]{2}[0-9]{4}$" }
    currency: { type: string, enum: [EUR, CHF], default: EUR }
    count: { type: integer, minimum: 1, maximum: 50 }
    customer: { type: string }
  required: [article]
  additionalProperties: false
outputs:
  type: object
  properties: { cents: { type: integer } }
  required: [cents]
metadata:
  haft:
    title: Look up a price
    aliases: [quote]
    data: { internal: [/customer] }
    context_schema:
      type: object
      properties: { shop: { type: string } }
      required: [shop]
---
"#;

const PRICES: &str = r#"---
name: Prices
id: prices
description: The price list of a wholesaler.
version: 1.0.0
kind: http
base_url: https://prices.example
network: { egress: [prices.example] }
region: [eu]
auth:
  ref: ./.secrets/prices/SECRETS.md
implements:
  - tool: price.lookup
    version: "RANGE"
    timeout_override_ms: 2500
    metadata:
      http:
        endpoint: /v3/articles/${input.article}
        method: GET
        query_template: { currency: "${input.currency}" }
---
"#;
