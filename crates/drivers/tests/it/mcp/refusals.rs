//! Tests of unsupported manifests: each is refused by name, before a process starts.

use haft_model::Code;
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn what_this_version_cannot_run_is_refused_by_name() {
    let docker = json!({"kind": "docker", "image": "a/b"});
    let remote = json!({"kind": "remote", "url": "https://mcp.example/mcp"});
    for (stage, words) in [
        (
            Stage::reading("echo", &[]).with("server", docker),
            "driver `test` uses a server of kind docker, which this version cannot run",
        ),
        (
            Stage::reading("echo", &[])
                .with("server", remote.clone())
                .with("transport", json!("sse")),
            "driver `test` uses the transport `sse`, which this version cannot run",
        ),
        (
            Stage::reading("echo", &[]).with("server", remote),
            "driver `test` uses a remote server over `stdio`, which this version cannot run",
        ),
        (
            Stage::reading("echo", &["${input.text}"]),
            "driver `test`: the argument `${input.text}` cannot hold a placeholder",
        ),
    ] {
        let stop = stage.preflight(json!({})).unwrap_err();
        assert_eq!((stop.code, stop.message.as_str()), (Code::SetupRequired, words));
    }
    let mut stage = Stage::reading("echo", &[]);
    stage.manifest["server"]["env"] = json!({"WHO": "${context.user}"});
    let stop = stage.preflight(json!({})).unwrap_err();
    let words = "driver `test`: `WHO` may hold `${secrets.NAME}` and nothing else of a call";
    assert_eq!((stop.code, stop.message.as_str()), (Code::SetupRequired, words));
}

#[test]
fn package_runs_where_installed_and_is_never_downloaded() {
    let package = |name: &str| json!({"kind": "npm", "package": name});
    let mut stage = Stage::reading("echo", &[]).with("server", package("@no/such@1.0.0"));
    let stop = stage.run(json!({"text": ""})).failure().stop;
    assert_eq!(stop.message, "the npm package `@no/such` is not installed");
    assert_eq!(stop.code, Code::SetupRequired);
    let mut stage = Stage::reading("echo", &[]).with("server", package("@a/b@2.0.0"));
    let folder = stage.folder.path().join("node_modules/@a/b");
    std::fs::create_dir_all(&folder).unwrap();
    let installed = json!({"version": "1.0.0", "bin": {"b": "main.js"}});
    std::fs::write(folder.join("package.json"), installed.to_string()).unwrap();
    let stop = stage.run(json!({"text": ""})).failure().stop;
    assert_eq!(stop.message, "`@a/b` is installed as 1.0.0, and 2.0.0 is wanted");
    assert_eq!(stop.help.as_deref(), Some("npm install @a/b@2.0.0"));
}

#[test]
fn a_login_that_is_declared_is_never_left_out() {
    let mut stage = Stage::reading("echo", &[]);
    stage.manifest["server"]["env"] = json!({"TOKEN": "${secrets.TOKEN}"});
    let failure = stage.run(json!({"text": ""})).failure();
    assert_eq!(failure.stop.code, Code::CredentialMissing);
}
