//! Differential test of rules by random spellings: what a driver reaches without a rule is denied
//! with it.
//!
//! Each spelling is called twice, in a workspace without the rule and in one with it. The first says
//! what the driver really reaches, and that is all that the second is held to.

use haft::Host;
use haft_model::Code;
use haft_testkit::judged::{FOLDERS, PROGRAMS, requested_path};
use haft_testkit::{SeededRandom, spellings};
use serde_json::{Value, json};

use crate::judged::stage::{REACHED, SECRET, Server, call, code, open, shown, words, workspace};

/// How many spellings were reached without the rule, of those that were tried.
struct Tally {
    reached: usize,
    tried: usize,
}

impl Tally {
    /// A test whose spellings lead nowhere proves nothing.
    fn check(&self, least: usize) {
        assert!(self.reached >= least, "only {} of {} reached anything", self.reached, self.tried);
    }
}

async fn denied(host: &Host, tool: &str, input: &Value, seed: u64) {
    let envelope = call(host, tool, input.clone()).await;
    let told = shown(&envelope);
    assert_eq!(
        code(&envelope),
        Some(Code::PermissionDenied),
        "seed {seed}: {tool} {input}: {told}"
    );
}

#[tokio::test]
async fn any_address_that_the_client_reaches_was_judged() {
    let server = Server::new();
    let port = server.port;
    let rule = format!("[[rule]]\nverdict = \"deny\"\nurl = \"http://localhost:{port}/keys/*\"\n");
    let (free, ruled) = (workspace(""), workspace(&rule));
    let (free, ruled) = (open(&free, port), open(&ruled, port));
    let mut tally = Tally { reached: 0, tried: 400 };
    for seed in 0..400 {
        let url = spellings::url(&mut SeededRandom::new(seed), "localhost", port, &["keys", "a"]);
        let input = json!({ "url": url });
        call(&free, "http.fetch", input.clone()).await;
        let reached = server.asked().iter().any(|asked| requested_path(asked).starts_with("keys/"));
        if reached {
            tally.reached += 1;
            denied(&ruled, "http.fetch", &input, seed).await;
        } else {
            call(&ruled, "http.fetch", input.clone()).await;
        }
        let leaked = server.asked();
        let leaked = leaked.iter().any(|asked| requested_path(asked).starts_with("keys/"));
        assert!(!leaked, "seed {seed}: {url:?} was asked for although it is denied");
    }
    tally.check(100);
}

#[tokio::test]
async fn any_file_that_is_opened_was_judged() {
    let rule = "[[rule]]\nverdict = \"deny\"\npath = \"keys/*\"\n";
    let (free, ruled) = (workspace(""), workspace(rule));
    let (open_host, ruled_host) = (open(&free, 1), open(&ruled, 1));
    let mut tally = Tally { reached: 0, tried: 300 };
    for seed in 0..300 {
        let mut random = SeededRandom::new(seed);
        let rest = random.choose(&["a", "deep/b", "deep/../a", "none"]);
        let path = match random.one_in(8) {
            true => "direct".to_owned(),
            false => spellings::path(&mut random, &FOLDERS, rest, "docs/sub/.."),
        };
        let (tool, input) = match random.below(4) {
            0 => ("fs.read", json!({ "path": path })),
            1 => ("text.search", json!({ "path": path, "pattern": "vault" })),
            2 => ("run.cat", json!({ "path": path })),
            _ => ("fs.write", json!({ "path": path, "content": "spoiled" })),
        };
        let before = format!("{SECRET}{SECRET}");
        let envelope = call(&open_host, tool, input.clone()).await;
        let now = free.read("keys/a") + &free.read("keys/deep/b");
        let made = free.path().join("keys/none").exists();
        if shown(&envelope).contains(SECRET) || now != before || made {
            tally.reached += 1;
            denied(&ruled_host, tool, &input, seed).await;
        }
        let _ = std::fs::remove_file(free.path().join("keys/none"));
        std::fs::write(free.path().join("keys/a"), SECRET).unwrap();
        std::fs::write(free.path().join("keys/deep/b"), SECRET).unwrap();
        assert_eq!(ruled.read("keys/a") + &ruled.read("keys/deep/b"), before, "seed {seed}");
    }
    tally.check(100);
}

#[tokio::test]
async fn any_program_that_is_started_was_judged() {
    let rule = "[[rule]]\nverdict = \"deny\"\ncommand = \"danger *\"\n";
    let (free, ruled) = (workspace(""), workspace(rule));
    let (free, ruled) = (open(&free, 1), open(&ruled, 1));
    let mut tally = Tally { reached: 0, tried: 160 };
    for seed in 0..160 {
        let mut random = SeededRandom::new(seed);
        let (tool, input) = match random.one_in(2) {
            true => words(&spellings::words(&mut random, &PROGRAMS, "x")),
            false => {
                let command = spellings::line(&mut random, &PROGRAMS, "x");
                ("run.line".to_owned(), json!({ "command": command }))
            }
        };
        tally.reached +=
            usize::from(reached_only_without_rule(&free, &ruled, (&tool, input), seed).await);
    }
    tally.check(40);
}

/// Whether a call reaches the denied program without the rule; with the rule it never does.
async fn reached_only_without_rule(
    free: &Host,
    ruled: &Host,
    (tool, input): (&str, Value),
    seed: u64,
) -> bool {
    let reached = shown(&call(free, tool, input.clone()).await).contains(REACHED);
    match reached {
        true => denied(ruled, tool, &input, seed).await,
        false => {
            let envelope = call(ruled, tool, input.clone()).await;
            assert!(!shown(&envelope).contains(REACHED), "seed {seed}: {input}");
        }
    }
    reached
}

/// The programs of this system, in an order that is always the same.
fn system_programs() -> Vec<String> {
    let entries = std::fs::read_dir("/usr/bin").unwrap().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn any_system_program_that_starts_another_was_judged() {
    let rule = "[[rule]]\nverdict = \"deny\"\ncommand = \"danger *\"\n";
    let (free, ruled) = (workspace(""), workspace(rule));
    let (free, ruled) = (open(&free, 1), open(&ruled, 1));
    let programs = system_programs();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let mut tally = Tally { reached: 0, tried: 200 };
    for seed in 0..200 {
        let mut random = SeededRandom::new(seed);
        let (tool, input) = words(&spellings::launched(&mut random, &programs, "./danger", "x"));
        tally.reached +=
            usize::from(reached_only_without_rule(&free, &ruled, (&tool, input), seed).await);
    }
    tally.check(15);
}
