//! Rule bypass regressions: the spellings that once passed a rule, one by one.

use haft_model::Code;
use serde_json::json;

use crate::judged::stage::{REACHED, SECRET, call, code, open, shown, workspace};

const BANK: &str = "[[rule]]\nverdict = \"deny\"\nurl = \"https://bank.example/*\"\n";
const KEYS: &str = "[[rule]]\nverdict = \"deny\"\npath = \"keys/*\"\n";
const DANGER: &str = "[[rule]]\nverdict = \"deny\"\ncommand = \"danger *\"\n";

#[tokio::test]
async fn denied_address_in_every_spelling_is_denied() {
    let folder = workspace(BANK);
    let host = open(&folder, 1);
    for url in [
        "https://bank.example/pay",
        "https://bank.example:443/pay",
        "https://bank.example./pay",
        "https:\\\\bank.example\\pay",
        " https://bank.example/pay",
        "https://bank.\texample/pay",
        "https://bank.exa\nmple/pay",
        "https://bank%2eexample/pay",
        "https://ｂａｎｋ.example/pay",
        "HTTPS://BANK.EXAMPLE/pay",
        "https://bank.example//pay",
        "https://bank。example/pay",
        "https:bank.example/pay",
    ] {
        let envelope = call(&host, "http.fetch", json!({ "url": url })).await;
        assert_eq!(code(&envelope), Some(Code::PermissionDenied), "{url:?}: {}", shown(&envelope));
    }
    // The driver refuses an unusable address before authorization.
    let user = call(&host, "http.fetch", json!({ "url": "https://u:p@bank.example/" })).await;
    assert_eq!(code(&user), Some(Code::InputValue));
}

#[tokio::test]
async fn denied_file_by_every_way_is_denied() {
    let folder = workspace(KEYS);
    let host = open(&folder, 1);
    for path in
        ["keys/a", "./keys//a", "docs/../keys/a", "link/a", "docs/up/a", "chain/a", "direct"]
    {
        for (tool, input) in [
            ("fs.read", json!({ "path": path })),
            ("fs.write", json!({ "path": path, "content": "x" })),
            ("text.search", json!({ "path": path, "pattern": "." })),
            ("run.cat", json!({ "path": path })),
        ] {
            let envelope = call(&host, tool, input).await;
            let told = shown(&envelope);
            assert_eq!(code(&envelope), Some(Code::PermissionDenied), "{tool} {path}: {told}");
        }
    }
    let absolute = folder.path().join("keys/a");
    let envelope = call(&host, "run.cat", json!({ "path": absolute })).await;
    assert_eq!(code(&envelope), Some(Code::PermissionDenied), "{}", shown(&envelope));
    assert_eq!(folder.read("keys/a"), SECRET);
}

#[tokio::test]
async fn denied_command_in_every_spelling_is_denied() {
    let folder = workspace(DANGER);
    let host = open(&folder, 1);
    for line in [
        "./danger x",
        "$PWD/danger x",
        r"\./danger x",
        r#""./danger" x"#,
        "env ./danger x",
        "sh -c './danger x'",
        "./danger\tx",
        "busybox env ./danger x",
        "command ./danger x",
        "echo x | xargs ./danger",
        "true\n./danger x",
        "./d''anger x",
        "./harmless x",
        "nice timeout 5 ./danger x",
    ] {
        let envelope = call(&host, "run.line", json!({ "command": line })).await;
        assert_eq!(code(&envelope), Some(Code::PermissionDenied), "{line:?}: {}", shown(&envelope));
    }
    for words in [
        &["./danger", "x"][..],
        &["./harmless", "x"],
        &["-i", "./danger", "x"],
        &["-S", "./danger x"],
        &["sh", "-c", "./danger x"],
        &["xargs", "./danger"],
        &["python3", "-c", "import os"],
        &["sh"],
        &["sh", "//dev/stdin"],
        &["sh", "./given"],
        &["sh", "./docs/../given"],
        &["flock", "/tmp/l", "-c", "./danger x"],
        &["prlimit", "--core=0", "./danger", "x"],
        &["prlimit", "--core=0", "./harmless", "x"],
        &["split", "--filter=./danger x"],
        &["setarch", "i686", "./danger", "x"],
    ] {
        let (tool, input) = crate::judged::stage::words(words);
        let envelope = call(&host, &tool, input).await;
        assert_eq!(
            code(&envelope),
            Some(Code::PermissionDenied),
            "{words:?}: {}",
            shown(&envelope)
        );
    }
    for (tool, input) in [
        ("run.line".to_owned(), json!({ "command": "./fine x" })),
        crate::judged::stage::words(&["nice", "./fine", "x"]),
    ] {
        let envelope = call(&host, &tool, input).await;
        assert_eq!(envelope.structured_content, Some(json!({ "text": "fine\n" })), "{tool}");
    }
    let open_folder = workspace("");
    let open_host = open(&open_folder, 1);
    let envelope = call(&open_host, "run.line", json!({ "command": "./danger x" })).await;
    assert!(shown(&envelope).contains(REACHED), "without the rule it runs: {}", shown(&envelope));
}

#[tokio::test]
async fn asked_command_that_is_opaque_is_asked() {
    let folder = workspace("[[rule]]\nverdict = \"ask\"\ncommand = \"danger *\"\n");
    let host = open(&folder, 1);
    let envelope = call(&host, "run.line", json!({ "command": "ls | head" })).await;
    assert!(envelope.approval_id.is_some(), "{}", shown(&envelope));
}
