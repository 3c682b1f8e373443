//! OAuth login tests: logging in to a remote MCP server as `haft login` does, and the life of its
//! token.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use haft::{Attending, Step};
use haft_catalog::AuthState;
use haft_model::{Call, Code};
use serde_json::json;

use crate::office::{Habits, Office, encoded, query};
use crate::stage::*;

/// A tool of a server that wants a login, which each actor has to have for themselves.
fn setting(office: &Office) -> Setting {
    let (base, host) = (office.base(), format!("127.0.0.1:{}", office.port));
    let tool = format!(
        "---\nname: Notes\nid: notes.list\ndescription: Lists notes.\nversion: 1.0.0\n{READ}\
         inputs: {{ type: object }}\noutputs: {{ type: object }}\n\
         requires: {{ network: [\"{host}\"], secrets: [notes-token] }}\n---\n"
    );
    let driver = format!(
        "---\nname: Notes\nid: notes\ndescription: The notes.\nversion: 1.0.0\nkind: mcp\ntransport: http\n\
         server: {{ kind: remote, url: \"{base}/mcp\", auth: {{ bearer: \"${{secrets.NOTES_TOKEN}}\" }} }}\n\
         network: {{ egress: [\"{host}\"] }}\n\
         implements:\n  - {{ tool: notes.list, version: ^1, metadata: {{ mcp: {{ tool_name: list }} }} }}\n---\n"
    );
    let secrets = "---\nsecrets:\n  - slug: notes-token\n    name: Token\n    description: Opens the notes.\n    \
        kind: oauth\n    access: { bind: [{ tool: notes.list }], rotate: [{ userId: \"user:ana\" }] }\n    \
        metadata: { haft: { per: actor } }\n---\n";
    Setting::default()
        .file(".tools/notes.list/TOOL.md", &tool)
        .file(".drivers/notes/DRIVER.md", &driver)
        .file(".secrets/SECRETS.md", secrets)
        .lenient()
}

/// A browser whose person agrees: it is sent back to where the page was told.
fn agrees(page: &str, issuer: &str) {
    let back = query(page, "redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let host = back.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let (state, issuer) = (query(page, "state"), encoded(issuer));
    std::thread::spawn(move || {
        let mut stream = TcpStream::connect(&host).unwrap();
        let target = format!("/callback?code=x&state={state}&iss={issuer}");
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
}

#[tokio::test]
async fn oauth_login_is_per_actor_refreshes_and_expires() {
    let office = Office::new();
    let stage = setting(&office).open();
    let (owner, driver) = (stage.owner(), "notes".into());
    let state = |who| stage.host.auth_state(&driver, who);
    let agent = stage.agent();
    let called = async || {
        let call = Call::new(owner.clone(), "notes.list", json!({}));
        stage.host.call(Call { channel: "cli", ..call }).await.error.unwrap()
    };
    let without = called().await;
    assert_eq!(without.error_code, Code::CredentialMissing);
    assert!(without.help.unwrap().starts_with("run `haft login notes"));
    assert_eq!(office.shown.lock().unwrap().len(), 0, "nothing is sent without the login");
    let unattended = stage.host.log_in("notes", &owner, Some(&owner.id), None).await;
    assert_eq!(unattended.unwrap_err().code, Code::CredentialMissing);

    let issuer = office.base();
    let tell = move |step: Step| {
        if let Step::Open { url } = step {
            agrees(&url, &issuer);
        }
    };
    let person = Attending { tell: &tell, ask: &|_| Ok(None), attend: None };
    stage.host.log_in("notes", &owner, Some(&owner.id), Some(person)).await.unwrap();
    assert_eq!(state(&owner).await.unwrap(), AuthState::LoggedIn);
    assert_eq!(state(&agent).await.unwrap(), AuthState::LoggedOut);
    let kept = stage.folder.read(".haft/secrets.sealed") + &stage.folder.read(".haft/logins.json");
    assert!(!kept.contains("token-1") && !kept.contains("refresh_token"), "{kept}");

    // The first token is over at once, so the second is the one that is used.
    let refused = called().await;
    assert_eq!(refused.error_code, Code::CredentialMissing, "{refused:?}");
    let forms = office.forms.lock().unwrap().clone();
    assert!(forms[1].contains("grant_type=refresh_token"), "{forms:?}");
    assert_eq!(office.shown.lock().unwrap().first().map(String::as_str), Some("Bearer token-2"));
    assert_eq!(state(&owner).await.unwrap(), AuthState::Expired, "the server takes it no more");
}

#[tokio::test]
async fn login_with_insufficient_scope_requests_missing_scope() {
    let office = Office::with(Habits { wants: Some("notes:write"), ..Habits::default() });
    let stage = setting(&office).open();
    let (owner, issuer) = (stage.owner(), office.base());
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let visited = pages.clone();
    let tell = move |step: Step| {
        if let Step::Open { url } = step {
            visited.lock().unwrap().push(query(&url, "scope"));
            agrees(&url, &issuer);
        }
    };
    let log_in = async || {
        let person = Attending { tell: &tell, ask: &|_| Ok(None), attend: None };
        stage.host.log_in("notes", &owner, Some(&owner.id), Some(person)).await.unwrap();
    };
    let called = async || {
        let call = Call::new(owner.clone(), "notes.list", json!({}));
        stage.host.call(call).await.error.unwrap()
    };
    log_in().await;
    let short = called().await;
    assert_eq!(
        (short.error_code, short.cause.scopes()),
        (Code::PermissionDenied, &["notes:write".to_owned()][..])
    );
    let state = stage.host.auth_state(&"notes".into(), &owner).await.unwrap();
    assert_eq!(state, AuthState::LoggedIn, "other tools may need less");
    log_in().await;
    assert_eq!(*office.proved.lock().unwrap(), [""; 0], "nobody was given a secret");
    assert_eq!(*pages.lock().unwrap(), ["notes%3Aread", "notes%3Aread+notes%3Awrite"]);
}
