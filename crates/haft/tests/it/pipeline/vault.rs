//! Secret handling from end to end: opened on record, and redacted however a value comes back.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_catalog::AuthState;
use haft_driver::{Attempt, Failure, Output};
use haft_ledger::{SqliteOptions, SqliteStore, Story};
use haft_model::{
    ActorId, Call, Code, Content, EffectState, Envelope, Link, Progress, Secret, Stop,
};
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::stage::{Setting, Stage, WRITE};

/// A canary secret with letters that JSON, addresses and base64 encode differently.
const TOKEN: &str = "tok/\"open\\sesame\"?é-4711";

const INVENTORY: &str = "---
secrets:
  - slug: bank/token
    name: Token
    description: Opens the bank.
    access: { bind: [{ tool: bank.pay }] }
    exposures: [{ kind: env, name: BANK_TOKEN, field: value }]
  - slug: bank/own
    name: Own
    description: Each one's own.
    access: { bind: [{ tool: bank.pay }] }
    metadata: { haft: { per: actor } }
  - slug: bank/closed
    name: Closed
    description: For another tool.
    access: { bind: [{ tool: bank.audit }] }
  - slug: bank/pair
    name: Pair
    description: Two in one.
    kind: json
    access: { bind: [{ tool: bank.pay }] }
---
";

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// A contract that lists every secret but one.
fn contract() -> String {
    format!("{WRITE}requires: {{ secrets: [bank/token, bank/own, bank/closed, bank/pair] }}\n")
}

fn setting() -> Setting {
    Setting::default()
        .tool("bank.pay", &contract())
        .file(".secrets/SECRETS.md", INVENTORY)
        .settings(ALLOW)
}

async fn keep(stage: &Stage, slug: &str, holder: Option<&str>, value: &str) {
    let (owner, holder) = (stage.owner(), holder.map(ActorId::from));
    let value = Secret::new(value.to_owned());
    stage.host.keep_secret(&owner, slug, holder.as_ref(), value).await.unwrap();
}

/// Sends the token to a backend as a client would, and gives the whole answer as it came.
fn exchange(host: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    let body = json!({ "token": token }).to_string();
    let head = format!(
        "POST /pay HTTP/1.1\r\nhost: {host}\r\nauthorization: Basic {}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        base64(format!("shop:{token}").as_bytes()),
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let six = number >> (18 - 6 * place) & 63;
            let padding = place > three.len();
            text.push(if padding { '=' } else { char::from(LETTERS[six]) });
        }
    }
    text
}

/// What may not be found: the token as it is, and as others write it.
fn forms(token: &str) -> Vec<String> {
    let once = serde_json::to_string(token).unwrap();
    let twice = serde_json::to_string(&once).unwrap();
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    let whole = base64(format!("shop:{token}").as_bytes());
    vec![
        token.to_owned(),
        once.trim_matches('"').to_owned(),
        twice.trim_matches(['"', '\\']).to_owned(),
        hex,
        // What follows from the token alone, without the letters that it shares with what is before.
        whole[10..whole.len() - 6].to_owned(),
        "sesame".to_owned(),
    ]
}

/// A driver that tells everything it knows, everywhere it can.
async fn tells_everything(attempt: Attempt<'_>, host: &str) -> Result<Output, Failure> {
    let token = attempt.safe.open("BANK_TOKEN").await?;
    let basic = Secret::new(base64(format!("shop:{}", token.expose()).as_bytes()));
    attempt.safe.hide(&basic).await;
    let token = token.expose().to_owned();
    let (to, sent) = (host.to_owned(), token.clone());
    let answer = tokio::task::spawn_blocking(move || exchange(&to, &sent)).await.unwrap();
    let header = answer.lines().find(|line| line.starts_with("x-request-id")).unwrap().to_owned();
    let progress = Progress {
        message: Some(format!("paying with {token}")),
        current_step: Some(basic.expose().to_owned()),
        ..Progress::default()
    };
    attempt.link.progress(progress).await;
    attempt.link.partial(vec![Content::text(answer.clone())]).await;
    let native = vec![json!({ "source": "bank", "id": header })];
    if attempt.input["fails"] == json!(true) {
        let stop = Stop::new(Code::ExecutionFailed, format!("the bank said {answer}"))
            .help(format!("not with {token}"))
            .because(json!({ "sent": token, "heard": answer }));
        let failure = Failure::new(stop, EffectState::NotCommitted);
        return Err(Failure { native, ..failure });
    }
    let link = Link { uri: format!("https://bank.example/?t={token}"), ..Link::default() };
    let output = json!({ "echo": answer, "again": { token.clone(): [basic.expose(), token] } });
    Ok(Output {
        native,
        artifacts: vec![link],
        content: vec![Content::text(answer)],
        ..Output::committed(output)
    })
}

/// Everything that is on the disk or was answered, as bytes.
fn everything(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => everything(&entry.path(), found),
            false => {
                found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap()))
            }
        }
    }
}

async fn told(stage: &Stage, envelope: &Envelope) -> Vec<(String, Vec<u8>)> {
    stage.host.flush().await.unwrap();
    let mut found = Vec::new();
    everything(&stage.folder.path().join(".haft"), &mut found);
    let mut add = |place: &str, text: String| found.push((place.to_owned(), text.into_bytes()));
    add("envelope", serde_json::to_string(envelope).unwrap());
    add("error", format!("{:?}", envelope.error));
    for entry in stage.store.entries(None, 10_000).await.unwrap() {
        add("entry", entry.line.clone());
        for event in haft_ledger::events(&entry).unwrap() {
            add("event", serde_json::to_string(&event).unwrap());
        }
    }
    let entries = stage.store.story(&envelope.invocation_id).await.unwrap();
    add("trace", format!("{:?}", Story::fold(&entries).unwrap()));
    for record in stage.store.questions(&Default::default()).await.unwrap() {
        add("question", serde_json::to_string(&record).unwrap());
    }
    if let Some(result) = stage.host.reader().result(&envelope.invocation_id).await.unwrap() {
        add("result", serde_json::to_string(&result).unwrap());
    }
    found
}

fn none_tells(told: &[(String, Vec<u8>)], token: &str) {
    for (place, bytes) in told {
        for form in forms(token) {
            let found = bytes.windows(form.len()).any(|part| part == form.as_bytes());
            assert!(!found, "{place} tells {form}: {}", String::from_utf8_lossy(bytes));
        }
    }
}

fn on_disk() -> (Folder, Arc<SqliteStore>) {
    let folder = Folder::new();
    let store = SqliteStore::open(SqliteOptions::at(folder.path())).unwrap();
    (folder, Arc::new(store))
}

#[tokio::test]
async fn secret_echoed_in_any_encoding_is_redacted_everywhere() {
    for fails in [false, true] {
        let backend = Backend::new(Keys::Ignored);
        let echo = json!({
            "plain": TOKEN,
            "text": json!({ "token": TOKEN }).to_string(),
            "base64": base64(TOKEN.as_bytes()),
            "header": base64(format!("shop:{TOKEN}").as_bytes()),
            "hex": TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect::<String>(),
        });
        let header = "x-request-id: tok/\"open\\sesame\"?é-4711\r\n";
        let body = echo.to_string().into_bytes();
        backend.will(Act::commits(Then::Answer(200, header, body)));
        let host = backend.host();
        let (disk, store) = on_disk();
        let stage = setting()
            .store(store)
            .act("bank.pay", move |attempt| {
                let host = host.clone();
                Box::pin(async move { tells_everything(attempt, &host).await })
            })
            .open();
        keep(&stage, "bank/token", None, TOKEN).await;
        let envelope = stage.call("bank.pay", json!({ "fails": fails })).await;
        assert_eq!(envelope.is_error, fails, "{:?}", envelope.error);
        let heard = backend.heard();
        assert_eq!(
            heard[0].body,
            json!({ "token": TOKEN }).to_string(),
            "the backend has to have it"
        );
        let mut told = told(&stage, &envelope).await;
        everything(disk.path(), &mut told);
        none_tells(&told, TOKEN);
        let entries = stage.store.story(&envelope.invocation_id).await.unwrap();
        let secrets = Story::fold(&entries).unwrap().secrets;
        let secrets: Vec<_> = secrets.iter().map(|(_, used)| (&*used.slug, used.code)).collect();
        assert_eq!(secrets, [("bank/token", None)]);
    }
}

#[tokio::test]
async fn parts_of_structured_secret_are_redacted_individually() {
    let stage = setting()
        .act("bank.pay", |attempt| {
            Box::pin(async move {
                let whole = attempt.safe.open("bank/pair").await?;
                let parsed: Value = serde_json::from_str(whole.expose()).unwrap();
                Ok(Output::committed(json!({ "said": format!("it is {}", parsed["private"]) })))
            })
        })
        .open();
    keep(&stage, "bank/pair", None, r#"{"public": "for all", "private": "sesame-4711"}"#).await;
    let envelope = stage.call("bank.pay", json!({})).await;
    assert_eq!(envelope.structured_content, Some(json!({ "said": "it is \"[withheld]\"" })));
}

/// The code with which a call ends that wants one secret, and what is on record of it.
async fn wanting(stage: &Stage, who: &str, slug: &str) -> (Option<Code>, Value) {
    let call = Call::new(stage.host.actor(who), "bank.pay", json!({ "slug": slug }));
    let envelope = stage.host.call(call).await;
    let entries = stage.store.story(&envelope.invocation_id).await.unwrap();
    let uses = Story::fold(&entries).unwrap().secrets;
    let uses: Vec<_> = uses.iter().map(|(_, used)| json!([used.slug, used.code])).collect();
    (envelope.error.map(|error| error.error_code), Value::Array(uses))
}

#[tokio::test]
async fn actors_open_own_secrets_and_denials_are_recorded() {
    let stage = setting()
        .act("bank.pay", |attempt| {
            Box::pin(async move {
                let slug = attempt.input["slug"].as_str().unwrap();
                let value = attempt.safe.open(slug).await?;
                // The length alone tells whose it is.
                Ok(Output::committed(json!({ "length": value.expose().len() })))
            })
        })
        .open();
    keep(&stage, "bank/own", Some("user:ana"), "of ana alone").await;
    keep(&stage, "bank/closed", None, "for nobody here").await;
    let cases = [
        ("user:ana", "bank/own", None, json!([["bank/own", null]])),
        (
            "user:bob",
            "bank/own",
            Some(Code::CredentialMissing),
            json!([["bank/own", "credential.missing"]]),
        ),
        (
            "agent:ana",
            "bank/own",
            Some(Code::CredentialMissing),
            json!([["bank/own", "credential.missing"]]),
        ),
        (
            "user:ana",
            "bank/closed",
            Some(Code::PermissionDenied),
            json!([["bank/closed", "permission.denied"]]),
        ),
        (
            "user:ana",
            "bank/nothing",
            Some(Code::CredentialMissing),
            json!([["bank/nothing", "credential.missing"]]),
        ),
    ];
    for (who, slug, code, recorded) in cases {
        assert_eq!(wanting(&stage, who, slug).await, (code, recorded), "{who} wants {slug}");
    }
}

/// A driver that declares a login, or none.
fn declaring(id: &str, auth: &str) -> String {
    format!(
        "---\nname: Bank\nid: {id}\ndescription: The bank.\nversion: 1.0.0\nkind: cli\nbin: bank\n{auth}\n\
         implements:\n  - {{ tool: bank.pay, version: \"1.x\", metadata: {{ cli: {{ argv: [pay] }} }} }}\n---\n"
    )
}

#[tokio::test]
async fn a_login_stands_for_each_actor_by_themselves() {
    let used = "auth: { state: { env: [BANK_OWN] } }";
    let stage = setting()
        .file(".drivers/bank/DRIVER.md", &declaring("bank", used))
        .file(".drivers/free/DRIVER.md", &declaring("free", ""))
        .open();
    let state = async |driver: &str, who: &str| {
        stage.host.auth_state(&driver.into(), &stage.host.actor(who)).await.unwrap()
    };
    stage.rewrite(".secrets/SECRETS.md", |text| {
        let own = "metadata: { haft: { per: actor } }";
        text.replace(own, "metadata: { haft: { per: actor }, bindings: { env: BANK_OWN } }")
    });
    assert_eq!(state("free", "user:ana").await, AuthState::NotRequired);
    assert_eq!(state("bank", "user:ana").await, AuthState::LoggedOut);
    keep(&stage, "bank/own", Some("user:ana"), "of ana alone").await;
    assert_eq!(state("bank", "user:ana").await, AuthState::LoggedIn);
    assert_eq!(state("bank", "user:bob").await, AuthState::LoggedOut);
}

#[tokio::test]
async fn due_login_is_refreshed_or_marked_expired() {
    let login = |every: &str, cmd: &str| {
        let refresh = format!("refresh: {{ cmd: \"{cmd}\", every: {every} }}");
        declaring("bank", &format!("auth: {{ login: {{ cmd: \"true\" }}, {refresh} }}"))
    };
    let stage = setting().file(".drivers/bank/DRIVER.md", &login("PT1H", "false")).open();
    let (owner, bank) = (stage.owner(), "bank".into());
    let state = async || stage.host.auth_state(&bank, &owner).await.unwrap();
    assert_eq!(state().await, AuthState::LoggedOut);
    stage.host.log_in("bank", &owner, Some(&owner.id), None).await.unwrap();
    assert_eq!(state().await, AuthState::LoggedIn);
    // An empty command means that the driver renews its login itself.
    let cases =
        [("", AuthState::LoggedIn), ("true", AuthState::LoggedIn), ("false", AuthState::Expired)];
    for (cmd, expected) in cases {
        stage.rewrite(".drivers/bank/DRIVER.md", |_| login("PT0S", cmd));
        assert_eq!(state().await, expected, "{cmd}");
    }
    stage.host.log_in("bank", &owner, Some(&owner.id), None).await.unwrap();
    stage.rewrite(".drivers/bank/DRIVER.md", |_| login("PT1H", "false"));
    assert_eq!(state().await, AuthState::LoggedIn);
    stage.host.login_expired(&bank, &owner).unwrap();
    assert_eq!(state().await, AuthState::Expired);
}
