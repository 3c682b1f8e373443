//! Auditor tests: an auditor changes nothing by any entry of the library; a new entry has to be
//! listed here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use haft::IdentityFile;
use haft_catalog::Viewer;
use haft_ledger::QuestionFilter;
use haft_model::{ActorId, Call, Code, QuestionId, Role, Secret, Stop, TokenId};
use haft_runtime::{Batch, CallOptions, ManualResolution, Patience, Reply, TokenWish};
use serde_json::json;

use crate::stage::{READ, Setting, WRITE};

const INVENTORY: &str = "---
secrets:
  - slug: bank/token
    name: Token
    description: Opens the bank.
    access: { bind: [{ tool: note.keep }], rotate: [{ user: ana }, { role: auditor }] }
---
";

const DRIVER: &str = "---\nname: Bank\nid: bank\ndescription: The bank.\nversion: 1.0.0\nkind: cli\nbin: bank\n\
    auth: { login: { cmd: \"true\" } }\n\
    implements:\n  - { tool: note.keep, version: \"1.x\", metadata: { cli: { argv: [pay] } } }\n---\n";

/// Entries that act for an actor and change something.
const CHANGING: [&str; 21] = [
    "answer",
    "answer_and_run",
    "batch",
    "batch_all",
    "call",
    "call_under",
    "cancel",
    "changeable_secret",
    "compensate",
    "compensation",
    "forget_secret",
    "issue_token",
    "keep_login",
    "keep_secret",
    "load",
    "log_in",
    "renew_store",
    "reply",
    "revoke",
    "revoke_token",
    "settle",
];

/// Entries that read for an actor, and their parts.
const LOOKING: [&str; 13] = [
    "actor",
    "add",
    "auth_state",
    "driver_states",
    "examine",
    "login_expired",
    "may_change",
    "run",
    "saw",
    "search",
    "see",
    "tokens",
    "why",
];

/// The names of the public functions of a crate that are told who acts.
fn told_who_acts(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            told_who_acts(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for (_, rest) in text.match_indices("pub ").map(|(at, word)| text.split_at(at + word.len()))
        {
            let rest = rest.strip_prefix("async ").unwrap_or(rest);
            let Some((name, rest)) = rest.strip_prefix("fn ").and_then(|rest| rest.split_once('('))
            else {
                continue;
            };
            let parameters = rest.split_once(')').map_or("", |(parameters, _)| parameters);
            // Whole words, so that `CallOptions` does not pass for a `Call`.
            let mut words = parameters.split(|letter: char| !letter.is_alphanumeric());
            let acts = ["Actor", "Reply", "Viewer", "Call", "Batch"];
            if parameters.contains("self") && words.any(|word| acts.contains(&word)) {
                found.insert(name.split('<').next().unwrap().to_owned());
            }
        }
    }
}

#[test]
fn every_entry_told_who_acts_is_placed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for name in ["runtime/src", "haft/src"] {
        told_who_acts(&crates.join(name), &mut found);
    }
    assert!(found.contains("cancel") && found.contains("log_in"), "{found:?}");
    let placed =
        |name: &&String| [&CHANGING[..], &LOOKING].iter().any(|list| list.contains(&name.as_str()));
    let unplaced: Vec<&String> = found.iter().filter(|name| !placed(name)).collect();
    assert!(unplaced.is_empty(), "say whether these change something: {unplaced:?}");
}

#[tokio::test]
async fn auditor_is_refused_by_every_mutating_entry() {
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .tool("note.show", READ)
        .file(".secrets/SECRETS.md", INVENTORY)
        .file(".drivers/bank/DRIVER.md", DRIVER)
        .open();
    let mut eve = stage.owner();
    eve.roles = [Role::Auditor].into();
    let (host, runtime) = (&stage.host, stage.host.runtime());
    let waits = stage.call_and_leave("note.keep", json!({})).await;
    let (id, question) = (&waits.invocation_id, waits.approval_id.clone().unwrap());
    let record = || async {
        let filter = QuestionFilter { id: Some(question.clone()), ..QuestionFilter::default() };
        runtime.questions(&filter).await.unwrap().remove(0)
    };
    let before = record().await;
    let yes = || Reply { by: eve.clone(), ..stage.yes() };
    let no = || Reply { by: eve.clone(), ..stage.no("no") };
    let manner = || CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let call = || Call::new(eve.clone(), "note.keep", json!({}));
    let secret = || Secret::new("long enough a value".to_owned());
    let own: Option<&ActorId> = Some(&eve.id);
    let viewer = Viewer { actor: &eve, within: &[] };
    let wish = || TokenWish { actor: ActorId::from("agent:x"), expires: None, label: None };
    let token = host.runtime().issue_token(wish(), &stage.owner()).await.unwrap().1;
    let token: &TokenId = &token.id;
    let no_such = QuestionId::from("apr_0");
    let of_call = |error: Option<haft_model::ToolError>| match error {
        Some(error) => Err(Stop::new(error.error_code, error.message)),
        None => Ok(()),
    };
    let refusals: Vec<(&str, Result<(), Stop>)> = vec![
        ("answer", runtime.answer(&question, yes()).await.map(drop)),
        ("answer", runtime.answer(&question, no()).await.map(drop)),
        ("answer_and_run", runtime.answer_and_run(&question, yes()).await.map(drop)),
        ("reply", runtime.reply(&before, no()).await.map(drop)),
        ("revoke", runtime.revoke(&no_such, &eve).await),
        ("settle", runtime.settle(id, ManualResolution::Absent, &eve, "seen").await),
        ("cancel", runtime.cancel(id, &eve).await.map(drop)),
        ("compensation", runtime.compensation(id, &eve).await.map(drop)),
        ("compensate", runtime.compensate(id, &eve, manner()).await.map(drop)),
        ("load", runtime.load(&viewer, &["note.keep"]).await.map(drop)),
        ("issue_token", runtime.issue_token(wish(), &eve).await.map(drop)),
        ("revoke_token", runtime.revoke_token(token, &eve).await),
        ("call", of_call(runtime.call(call(), manner()).await.error)),
        ("call", of_call(host.call(call()).await.error)),
        (
            "call_under",
            of_call(runtime.call_under("inv_by_eve".into(), call(), manner()).await.error),
        ),
        (
            "batch_all",
            of_call(
                runtime
                    .batch_all(Batch::new(vec![call()]), manner())
                    .await
                    .unwrap()
                    .remove(0)
                    .error,
            ),
        ),
        ("changeable_secret", host.changeable_secret(&eve, "bank/token", None).map(drop)),
        ("keep_secret", host.keep_secret(&eve, "bank/token", own, secret()).await.map(drop)),
        ("keep_secret", host.keep_secret(&eve, "bank/token", None, secret()).await.map(drop)),
        ("forget_secret", host.forget_secret(&eve, "bank/token", own).await.map(drop)),
        ("log_in", host.log_in("bank", &eve, own, None).await),
        ("keep_login", host.keep_login("bank", &eve, own, None).await),
    ];
    for (entry, refusal) in refusals {
        assert!(CHANGING.contains(&entry));
        let stop = refusal.expect_err(entry);
        assert_eq!(stop.code, Code::PermissionDenied, "{entry}: {stop:?}");
    }
    assert_eq!(record().await.answers, before.answers);
    assert_eq!(stage.canary.count(), 0);
    assert!(runtime.tokens(&stage.owner()).await.unwrap().iter().any(|one| one.id == *token));
    let read = runtime.call(Call::new(eve.clone(), "note.show", json!({})), manner()).await;
    assert_eq!(read.error, None, "an auditor may look");
    let workspace = host.workspace();
    let refused = workspace.renew_store(&IdentityFile::default(), &eve).await.unwrap_err();
    assert!(refused.to_string().contains("changes nothing"), "{refused}");
}
