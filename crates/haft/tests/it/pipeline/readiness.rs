//! Readiness routing: installation, login and health decide which driver serves a call.

use std::fs;

use haft_model::{Call, Code, Envelope, RejectionReason};
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::json;

use crate::stage::*;

/// What an agent is told in the place of a command.
const FOR_PEOPLE: &str = "a person who runs this workspace has to see to it";

/// A tool that only looks, and what else its drivers say: a program that is there unless said.
fn served_by(drivers: &[(&str, &str)]) -> Setting {
    requiring("", drivers)
}

/// The same by a tool that requires something.
fn requiring(what: &str, drivers: &[(&str, &str)]) -> Setting {
    let tool = format!(
        "---\nname: Say\nid: demo.say\ndescription: Says something.\nversion: 1.0.0\n{READ}\
         inputs: {{ type: object }}\noutputs: {{ type: object }}\nrequires: {{ {what} }}\n---\n"
    );
    let mut setting = Setting::default().file(".tools/demo.say/TOOL.md", &tool);
    for (id, fields) in drivers {
        let bin = if fields.contains("bin: ") { "" } else { "bin: echo\n" };
        let text = format!(
            "---\nname: {id}\nid: {id}\ndescription: A program.\nversion: 1.0.0\nkind: cli\n{bin}{fields}\n\
             implements:\n  - {{ tool: demo.say, version: ^1, metadata: {{ cli: {{ argv: [x] }} }} }}\n---\n"
        );
        setting = setting.file(&format!(".drivers/{id}/DRIVER.md"), &text);
    }
    setting
}

async fn called(stage: &Stage, who: &str) -> Envelope {
    // A person at a terminal is told the command that mends it.
    let call = Call::new(stage.host.actor(who), "demo.say", json!({}));
    stage.host.call(Call { channel: "cli", ..call }).await
}

/// Who served the call, or the error with what helps.
async fn outcome(stage: &Stage, who: &str) -> Result<String, (Code, String)> {
    let envelope = called(stage, who).await;
    match envelope.error {
        None => Ok(envelope.driver.unwrap()),
        Some(error) => Err((error.error_code, error.help.unwrap_or_default())),
    }
}

fn refused(code: Code, help: &str) -> Result<String, (Code, String)> {
    Err((code, help.to_owned()))
}

#[tokio::test]
async fn missing_program_falls_back_or_names_setup_command() {
    let absent = ("first", "bin: haft-no-such-program");
    let stage = served_by(&[absent, ("second", "")]).open();
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("second".to_owned()));
    let stage = served_by(&[absent]).open();
    let expected = refused(Code::SetupRequired, "run `haft setup first`");
    assert_eq!(outcome(&stage, "user:ana").await, expected);
    // An agent is told no command, at a terminal neither.
    assert_eq!(outcome(&stage, "agent:coder").await, refused(Code::SetupRequired, FOR_PEOPLE));
}

#[tokio::test]
async fn incomplete_setup_names_setup_command() {
    let steps = "setup: [{ id: greet, kind: cmd, cmd: 'true' }]";
    let stage = served_by(&[("first", steps)]).open();
    let expected = refused(Code::SetupRequired, "run `haft setup first`");
    assert_eq!(outcome(&stage, "user:ana").await, expected);
}

#[tokio::test]
async fn program_version_is_checked_once_before_first_use() {
    let asks = "version_check: { cmd: cat version, parse: '(.+)', range: ^2 }\n\
                sandbox: { fs: { read: [./**] } }";
    let stage = served_by(&[("first", asks)]).file("version", "1.5.0\n").open();
    let envelope = called(&stage, "agent:coder").await;
    let words = "`first` cannot serve `demo.say@1` yet: `echo` is 1.5.0, and `^2` is needed";
    assert_eq!(envelope.error.map(|error| error.message).as_deref(), Some(words));
    // The program is the same file, so its version is known.
    fs::write(stage.folder.path().join("version"), "2.0.0\n").unwrap();
    let expected = refused(Code::SetupRequired, "run `haft setup first`");
    assert_eq!(outcome(&stage, "user:ana").await, expected);
    fs::remove_file(stage.folder.path().join(".haft/drivers.json")).unwrap();
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("first".to_owned()));
}

#[tokio::test]
async fn login_is_valid_only_for_its_actor() {
    let login = "auth: { login: { cmd: 'true' } }";
    let stage = served_by(&[("first", login)]).open();
    let (owner, other) = (stage.owner(), "user:ben");
    let expected = refused(Code::CredentialMissing, "run `haft login first --as user:ben`");
    assert_eq!(outcome(&stage, other).await, expected);
    assert_eq!(outcome(&stage, "agent:coder").await, refused(Code::CredentialMissing, FOR_PEOPLE));
    stage.host.log_in("first", &owner, Some(&owner.id), None).await.unwrap();
    assert_eq!(outcome(&stage, "user:ana").await, Ok("first".to_owned()));
    assert_eq!(outcome(&stage, other).await, expected);
    stage.host.login_expired(&"first".into(), &owner).unwrap();
    let envelope = called(&stage, "user:ana").await;
    let error = envelope.error.unwrap();
    assert_eq!(error.message, "the login of `first`, which serves `demo.say@1`, has run out");
}

#[tokio::test]
async fn a_login_that_a_program_keeps_itself_is_one() {
    let beyond = Folder::new();
    let kept = beyond.path().join("kept");
    let state = format!("state: {{ paths: [{}/**] }}", kept.display());
    let login = format!("auth: {{ login: {{ cmd: 'true' }}, {state} }}");
    let stage = served_by(&[("first", &login)]).open();
    assert!(outcome(&stage, "agent:coder").await.is_err());
    fs::create_dir(kept).unwrap();
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("first".to_owned()));
}

#[tokio::test]
async fn failed_health_check_skips_driver_until_next_success() {
    let check = |cmd: &str, every: &str| {
        format!("health_check: {{ method: exec, cmd: '{cmd}', every: {every} }}")
    };
    let sick = check("false", "PT1H");
    let stage = served_by(&[("first", &sick), ("second", "")]).open();
    // Not probed yet, and that is no reason to refuse.
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("first".to_owned()));
    let probed = stage.host.probe(false).await.unwrap();
    assert_eq!(probed.len(), 1);
    assert_eq!(probed[0].checkup.why.as_deref(), Some("`false` ended with code 1"));
    assert_eq!(stage.host.probe(false).await.unwrap(), [], "the last look still holds");
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("second".to_owned()));
    let another = stage.another(|_| {});
    let call = || Call::new(another.actor("agent:coder"), "demo.say", json!({}));
    assert_eq!(another.call(call()).await.driver.as_deref(), Some("second"));
    let why = another.runtime().why(&call(), None).await.unwrap();
    let (route, _) = why.explained.route.unwrap();
    let reasons: Vec<&str> = route.rejected.iter().map(|one| &*one.reason).collect();
    assert_eq!(reasons, ["its health check failed lately: `false` ended with code 1"]);
    stage.rewrite(".drivers/first/DRIVER.md", |text| text.replace("'false'", "'true'"));
    assert_eq!(stage.host.probe(true).await.unwrap().len(), 1);
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("first".to_owned()));
}

#[tokio::test]
async fn a_failure_that_is_too_old_counts_no_more() {
    let check = "health_check: { method: exec, cmd: 'false', every: PT0S }";
    let stage = served_by(&[("first", check), ("second", "")]).open();
    stage.host.probe(false).await.unwrap();
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("first".to_owned()));
    assert_eq!(stage.host.probe(false).await.unwrap().len(), 1, "it is looked at again");
}

#[tokio::test]
async fn open_circuit_breaker_is_seen_by_other_processes() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!(
        "---\nname: Web\nid: web\ndescription: A server.\nversion: 1.0.0\nkind: http\n\
        base_url: http://127.0.0.1:{port}\nnetwork: {{ egress: [\"127.0.0.1:{port}\"] }}\n\
        implements:\n  - {{ tool: demo.say, version: ^1, metadata: {{ http: {{ endpoint: / }} }} }}\n---\n"
    );
    let stage = requiring(&format!("network: [\"127.0.0.1:{port}\"]"), &[])
        .file(".drivers/web/DRIVER.md", &closed)
        .settings("[limits.rest]\nfailures = 1\npause_ms = 3600000")
        .open();
    let failed = outcome(&stage, "agent:coder").await;
    assert!(matches!(failed, Err((Code::DependencyUnavailable, _))), "{failed:?}");
    let another = stage.another(|_| {});
    let agent = another.actor("agent:coder");
    let entry = another.workspace().snapshot().find("demo.say").unwrap().clone();
    let states = another.driver_states(&entry, &agent).await;
    let (why, reason) = states["web"].objection(false).unwrap();
    assert_eq!(why, RejectionReason::Rest);
    assert!(reason.starts_with("it failed 1 times in a row and rests until "), "{reason}");
}

#[tokio::test]
async fn successful_health_check_ends_circuit_breaker_pause() {
    let mut backend = Backend::closed(Keys::Ignored);
    let host = backend.host();
    let web = format!(
        "---\nname: Web\nid: web\ndescription: A server.\nversion: 1.0.0\nkind: http\n\
        base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
        health_check: {{ method: ping, every: PT1H }}\n\
        implements:\n  - {{ tool: demo.say, version: ^1, metadata: {{ http: {{ endpoint: / }} }} }}\n---\n"
    );
    let stage = requiring(&format!("network: [\"{host}\"]"), &[])
        .file(".drivers/web/DRIVER.md", &web)
        .settings("[limits.rest]\nfailures = 1\npause_ms = 3600000")
        .open();
    for _ in 0..2 {
        let failed = outcome(&stage, "agent:coder").await;
        assert!(failed.is_err(), "{failed:?}");
    }
    backend.open();
    let resting = outcome(&stage, "agent:coder").await;
    assert!(resting.is_err(), "nobody looked yet: {resting:?}");
    assert!(stage.host.probe(false).await.unwrap()[0].checkup.ok());
    assert_eq!(outcome(&stage, "agent:coder").await, Ok("web".to_owned()));
    let hold = stage.host.next_probe();
    assert!(hold > std::time::Duration::from_secs(1), "the look holds: {hold:?}");
}

#[tokio::test]
async fn login_rejected_by_program_expires_for_calling_actor() {
    let login = "bin: sh\nauth: { login: { cmd: 'true' }, expiry: { detect: 'exit_code:7' } }";
    let stage = served_by(&[("first", login)]).file("x", "exit 7\n").open();
    let owner = stage.owner();
    let agent = stage.agent();
    for actor in [&owner, &agent] {
        stage.host.log_in("first", &owner, Some(&actor.id), None).await.unwrap();
    }
    let first = called(&stage, "user:ana").await.error.unwrap();
    assert_eq!(first.error_code, Code::CredentialMissing);
    assert_eq!(first.message, "`sh` ended with code 7: the login has run out");
    assert_eq!(first.help.as_deref(), Some("run `haft login first`"));
    let second = called(&stage, "user:ana").await.error.unwrap();
    assert_eq!(second.message, "the login of `first`, which serves `demo.say@1`, has run out");
    let driver = "first".into();
    let state = |actor| stage.host.auth_state(&driver, actor);
    assert_eq!(state(&owner).await.unwrap(), haft_catalog::AuthState::Expired);
    assert_eq!(state(&agent).await.unwrap(), haft_catalog::AuthState::LoggedIn);
    stage.host.log_in("first", &owner, Some(&owner.id), None).await.unwrap();
    assert_eq!(state(&owner).await.unwrap(), haft_catalog::AuthState::LoggedIn);
}

#[tokio::test]
async fn login_rejected_by_server_expires_until_secret_changes() {
    let backend = Backend::new(Keys::Ignored);
    let answers = [(419, "{}"), (200, "{}")];
    for (status, body) in answers {
        backend.will_at("/say", Act::commits(Then::json(status, body)));
    }
    let host = backend.host();
    let driver = format!(
        "---\nname: Web\nid: web\ndescription: A server.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
         auth: {{ login: {{ cmd: 'true' }}, state: {{ env: [WEB_TOKEN] }}, expiry: {{ detect: 'http_status:419' }} }}\n\
         implements:\n  - tool: demo.say\n    version: ^1\n    metadata:\n      http: {{ endpoint: /say, method: GET, headers: {{ X-Token: \"${{secrets.WEB_TOKEN}}\" }} }}\n---\n"
    );
    let secrets = "---\nsecrets:\n  - slug: web-token\n    name: Token\n    description: Opens the server.\n    \
        access: { bind: [{ tool: demo.say }], rotate: [{ userId: \"user:ana\" }] }\n---\n";
    let stage = requiring(&format!("network: [\"{host}\"], secrets: [web-token]"), &[])
        .file(".drivers/web/DRIVER.md", &driver)
        .file(".secrets/SECRETS.md", secrets)
        .open();
    let owner = stage.owner();
    let set = async |value: &str| {
        let value = haft_model::Secret::new(value.to_owned());
        stage.host.keep_secret(&owner, "web-token", None, value).await.unwrap();
    };
    set("of-the-first-day").await;
    stage.host.log_in("web", &owner, Some(&owner.id), None).await.unwrap();
    let first = called(&stage, "user:ana").await.error.unwrap();
    assert_eq!(
        (first.error_code, first.help.as_deref()),
        (Code::CredentialMissing, Some("run `haft login web`"))
    );
    assert!(first.message.ends_with("the login has run out"), "{}", first.message);
    assert!(outcome(&stage, "user:ana").await.is_err());
    set("of-the-second-day").await;
    assert_eq!(outcome(&stage, "user:ana").await, Ok("web".to_owned()));
}

#[tokio::test]
async fn inventoried_secret_variable_is_not_passed_to_program() {
    let secrets = "---\nsecrets:\n  - slug: shop/key\n    name: Key\n    description: Opens it.\n    \
        exposures: [{ kind: env, name: HOME, field: value }]\n---\n";
    let passing = |name: &str| format!("sandbox: {{ env: {{ pass: [{name}] }} }}");
    for (name, code) in [("HOME", Some(Code::SandboxViolation)), ("PATH", None)] {
        let stage = served_by(&[("first", &passing(name))]).file(".secrets/SECRETS.md", secrets);
        let found = outcome(&stage.open(), "agent:coder").await;
        assert_eq!(found.err().map(|(code, _)| code), code, "{name}");
    }
}
