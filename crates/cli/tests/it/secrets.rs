//! `haft secrets` tests: values go in, and never come out.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use haft::{Host, HostOptions};
use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
use haft_model::{Call, DriverId, Secret};
use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{READS, check, command, done, finished, json as answer, run, started, tool};
use crate::terminal::typed;

const VALUE: &str = "never-shown-4711";

const INVENTORY: &str = r#"---
secrets:
  - slug: pay/api-key
    name: Key of the bank
    description: Opens the account of the shop.
    access: { bind: [{ tool: pay.list }] }
    exposures: [{ kind: env, name: PAY_KEY, field: value }]
  - slug: mail/login
    name: Mail
    description: Each person's own mailbox.
    access: { bind: [{ role: agent }] }
    metadata: { haft: { per: actor } }
  - slug: ci/token
    name: Token
    description: Comes from the environment.
    backend: env://CI_TOKEN
    access: { bind: [{ role: agent }] }
---
"#;

const DRIVER: &str = r#"---
name: Bank
id: bank
description: The bank.
version: 1.0.0
kind: http
base_url: https://bank.example
network: { egress: [bank.example] }
auth: { state: { env: [PAY_KEY] } }
implements:
  - tool: pay.list
    version: "1.x"
    metadata:
      http: { endpoint: /list, method: GET, headers: { Authorization: "Bearer ${secrets.PAY_KEY}" } }
---
"#;

fn shop() -> Folder {
    let fields =
        format!("{READS}\nrequires: {{ secrets: [pay/api-key], network: [bank.example] }}");
    Folder::new()
        .file("haft.toml", "[workspace]\nname = \"shop\"\n")
        .file(".secrets/SECRETS.md", INVENTORY)
        .file(".tools/pay.list/TOOL.md", tool("pay.list", "1.0.0", &fields))
        .file(".drivers/bank/DRIVER.md", DRIVER)
}

/// What a command says and how it exits, with a value on its standard input.
#[track_caller]
fn given(folder: &Folder, line: &str, value: &str) -> (i32, String) {
    let mut command = command(folder, line);
    let mut child = started({
        command.stdin(Stdio::piped());
        command
    });
    child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
    let ran = finished(child, line);
    let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    (ran.status.code().unwrap(), folder.filtered(said.trim()))
}

/// Whether a text lies open in any file below a folder.
fn lies_open(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => lies_open(&path, text),
            false => {
                fs::read(path).unwrap().windows(text.len()).any(|part| part == text.as_bytes())
            }
        }
    })
}

#[test]
fn secret_set_list_and_remove_are_recorded() {
    let folder = shop();
    check(
        &folder,
        "secrets list",
        "
exit 0
SECRET       VALUE                                KEPT            TOOLS     DRIVERS
pay/api-key  not set                              haft            pay.list  bank
mail/login   not set; each actor needs their own  haft            -         -
ci/token     not looked                           env://CI_TOKEN  -         -
",
    );
    let set = |line: &str| given(&folder, line, &format!("{VALUE}\n"));
    assert_eq!(set("secrets set PAY_KEY --stdin"), (0, "set pay/api-key".into()));
    let mail = "secrets set mail/login --for user:bob --stdin";
    assert_eq!(set(mail), (0, "set mail/login for user:bob".into()));
    let (exit, listed) = answer(&folder, "secrets list --json");
    let secrets = &listed["secrets"];
    assert_eq!((exit, secrets[0]["actors"].clone()), (0, json!({})));
    assert!(secrets[0]["shared"].is_string() && secrets[1]["shared"].is_null(), "{listed:#}");
    assert!(secrets[1]["actors"]["user:bob"].is_string(), "{listed:#}");
    let gone = (0, "removed pay/api-key".to_owned());
    assert_eq!(given(&folder, "secrets rm pay/api-key", ""), gone);
    let nothing = "resource.not_found: there is no value of `pay/api-key`\nhelp: `haft secrets list` says who has one";
    assert_eq!(given(&folder, "secrets rm pay/api-key", ""), (1, nothing.into()));
    let events = String::from_utf8(run(&folder, "events --json").stdout).unwrap();
    for note in [
        "`user:ana` set the secret `pay/api-key`",
        "`user:ana` set the secret `mail/login` for `user:bob`",
        "`user:ana` removed the secret `pay/api-key`",
    ] {
        assert_eq!(events.matches(&format!("{note}\"")).count(), 1, "{note}: {events}");
    }
    assert!(!events.contains(VALUE), "{events}");
    assert!(!lies_open(folder.path(), VALUE), "a value lies open");
    done(&folder, "audit verify");
}

#[test]
fn what_cannot_be_kept_is_refused_with_a_reason() {
    let folder = shop();
    let cases = [
        (
            "secrets set pay/api-kee --stdin",
            VALUE,
            1,
            "resource.not_found: no SECRETS.md lists `pay/api-kee`\nhelp: did you mean `pay/api-key`?",
        ),
        (
            "secrets set pay/api-key --stdin",
            "\n",
            4,
            "input.value: the value of `pay/api-key` is empty",
        ),
        (
            "secrets set pay/api-key --stdin",
            "abc\n",
            4,
            "input.value: the value of `pay/api-key` is shorter than 4 bytes, so that it could not be kept out of what is shown",
        ),
        (
            "secrets set mail/login --stdin",
            VALUE,
            4,
            "input.value: each actor has their own `mail/login`\nhelp: haft secrets set mail/login --for ACTOR",
        ),
        (
            "secrets set pay/api-key --stdin --as agent:coder",
            VALUE,
            3,
            "permission.denied: `agent:coder` may not change the secret `pay/api-key`\nhelp: a person who runs the workspace, or whom `access.rotate` names, may",
        ),
        (
            "secrets set ci/token --stdin",
            VALUE,
            4,
            "input.value: the secret `ci/token` lies at `env://CI_TOKEN`\nhelp: change it there, or leave `backend` out of its entry",
        ),
        (
            "secrets set pay/api-key --for bob --stdin",
            VALUE,
            2,
            "error: `bob` is no actor; write `user:NAME` or `agent:NAME`",
        ),
        (
            "secrets set pay/api-key",
            VALUE,
            2,
            "error: there is no terminal to ask at; give the value on standard input with `--stdin`",
        ),
    ];
    for (line, value, exit, words) in cases {
        assert_eq!(given(&folder, line, value), (exit, words.to_owned()), "haft {line}");
    }
    assert!(!folder.path().join(".haft/secrets.sealed").exists());
}

#[test]
fn person_may_set_own_secret_but_not_anothers() {
    let folder = shop();
    let set = |whose: &str, by: &str| {
        let line = format!("secrets set mail/login --for {whose} --as {by} --stdin");
        given(&folder, &line, VALUE).0
    };
    assert_eq!((set("user:bob", "user:bob"), set("user:ana", "user:bob")), (0, 3));
}

#[test]
fn what_is_typed_is_not_shown() {
    let folder = shop();
    let ask = "value of pay/api-key: ";
    let (exit, said) =
        typed(&folder, "secrets set pay/api-key", &[(ask, &format!("{VALUE}x\x7f\r"))]);
    assert_eq!((exit, said.trim()), (0, "value of pay/api-key: \nset pay/api-key"));
    let (exit, said) = typed(&folder, "secrets set pay/api-key", &[(ask, "half of it\x03")]);
    assert_eq!(exit, 130, "{said}");
    assert!(said.contains("nothing was typed, so nothing was changed"), "{said}");
    assert!(!said.contains("half"), "{said}");
    let (_, listed) = answer(&folder, "secrets list --json");
    assert!(listed["secrets"][0]["shared"].is_string(), "{listed:#}");
}

#[test]
fn a_lost_key_is_told_and_nothing_is_replaced() {
    let folder = shop();
    assert_eq!(given(&folder, "secrets set pay/api-key --stdin", VALUE).0, 0);
    let before = fs::read(folder.path().join(".haft/secrets.sealed")).unwrap();
    fs::remove_dir_all(folder.path().join(".config")).unwrap();
    let words = "setup.required: the key of the secrets is not at `[folder]/.config/haft/secrets.key`\nhelp: bring back the key that they were closed with, or set HAFT_SECRETS_KEY";
    for line in ["secrets set mail/login --for user:bob --stdin", "secrets list"] {
        let (exit, said) = given(&folder, line, VALUE);
        assert_eq!((exit, said.as_str()), (1, words), "haft {line}");
    }
    assert_eq!(fs::read(folder.path().join(".haft/secrets.sealed")).unwrap(), before);
}

/// Wants every secret that it is told of, and says how long each is.
struct Curious;

impl Driver for Curious {
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let opened = attempt.safe.open("PAY_KEY").await?;
            let refused = attempt.safe.open("mail/login").await;
            let lengths = [opened.expose().len(), refused.map_or(0, |value| value.expose().len())];
            Ok(Output::read(json!({ "lengths": lengths })))
        })
    }
}

#[test]
fn trace_shows_which_secrets_were_opened_or_withheld() {
    let folder = shop();
    let options = HostOptions {
        drivers: [(DriverId::from("bank"), Arc::new(Curious) as Arc<dyn Driver>)].into(),
        secrets_key: Some(folder.path().join(".config/haft/secrets.key")),
        ..HostOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let envelope = runtime.block_on(async {
        crate::stage::done(&folder, "accept --all");
        let host = Host::open(folder.path(), options).unwrap();
        let value = Secret::new(VALUE.to_owned());
        host.keep_secret(&host.owner("ana"), "pay/api-key", None, value).await.unwrap();
        let envelope = host.call(Call::new(host.owner("ana"), "pay.list", json!({}))).await;
        host.flush().await.unwrap();
        envelope
    });
    assert_eq!(envelope.structured_content, Some(json!({ "lengths": [VALUE.len(), 0] })));
    let id = envelope.invocation_id.as_str();
    let told = String::from_utf8(run(&folder, &format!("trace {id}")).stdout).unwrap();
    let secrets = "secrets\n  1  pay/api-key opened for bank\n  1  mail/login withheld (sandbox.violation) from bank\n";
    assert!(told.contains(secrets), "{told}");
    let (_, trace) = answer(&folder, &format!("trace {id} --json"));
    let used = trace["secrets"].as_array().unwrap().iter().map(|one| one["what"].clone());
    assert_eq!(
        used.collect::<Vec<_>>(),
        [
            json!({ "attempt": 1, "driver": "bank", "slug": "pay/api-key" }),
            json!({ "attempt": 1, "driver": "bank", "slug": "mail/login", "code": "sandbox.violation" }),
        ]
    );
    assert!(!told.contains(VALUE) && !trace.to_string().contains(VALUE));
}
