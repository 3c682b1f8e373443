//! Run-time rule tests: a target that turns up only while a call runs is judged then.

use haft_model::Code;
use serde_json::json;

use crate::judged::stage::{REACHED, SECRET, Server, call, code, open, shown, words, workspace};

const KEYS: &str =
    "[[rule]]\nverdict = \"VERDICT\"\npath = \"keys/*\"\nreason = \"keys stay here\"\n";

#[tokio::test]
async fn search_of_the_folder_above_passes_held_files_over() {
    for verdict in ["deny", "ask"] {
        let folder = workspace(&KEYS.replace("VERDICT", verdict));
        let host = open(&folder, 1);
        for path in [".", "keys", "link", "docs/.."] {
            let input = json!({ "path": path, "pattern": "vault|open" });
            let envelope = call(&host, "text.search", input).await;
            let found = envelope.structured_content.clone().unwrap();
            assert!(!shown(&envelope).contains(SECRET), "{verdict} {path}: {found}");
            assert_eq!(found["withheld"], json!(2), "{verdict} {path}: {found}");
        }
        let listed = call(&host, "fs.list", json!({ "path": ".", "depth": 3 })).await;
        let listed = listed.structured_content.unwrap();
        assert_eq!(listed["withheld"], json!(2), "{listed}");
        assert!(!listed.to_string().contains("keys/a"), "{listed}");
        let plain = call(&host, "text.search", json!({ "path": "docs", "pattern": "open" })).await;
        assert_eq!(plain.structured_content.unwrap().get("withheld"), None);
    }
}

#[tokio::test]
async fn program_cannot_open_what_a_rule_denies() {
    let folder = workspace(&KEYS.replace("VERDICT", "deny"));
    let host = open(&folder, 1);
    let (tool, input) = words(&["grep", "-r", "vault", "."]);
    let searched = call(&host, &tool, input).await;
    assert!(!shown(&searched).contains(SECRET), "{}", shown(&searched));
    let open_folder = workspace("");
    let open_host = open(&open_folder, 1);
    let (tool, input) = words(&["grep", "-r", "vault", "keys"]);
    let searched = call(&open_host, &tool, input).await;
    assert!(shown(&searched).contains(SECRET), "without the rule: {}", shown(&searched));
}

#[tokio::test]
async fn denied_program_cannot_be_started_by_another() {
    for (rule, script) in
        [("danger *", "./indirect"), ("id *", "./system"), ("/bin/id *", "./system")]
    {
        let rule = format!("[[rule]]\nverdict = \"deny\"\ncommand = \"{rule}\"\n");
        let (free, ruled) = (workspace(""), workspace(&rule));
        let (tool, input) = words(&[script, "x"]);
        let reached = call(&open(&free, 1), &tool, input.clone()).await;
        assert!(shown(&reached).contains(REACHED), "without the rule: {}", shown(&reached));
        let held = call(&open(&ruled, 1), &tool, input).await;
        assert!(!shown(&held).contains(REACHED), "{rule}: {}", shown(&held));
        let (tool, input) = words(&["./fine", "x"]);
        let fine = call(&open(&ruled, 1), &tool, input).await;
        assert_eq!(fine.structured_content, Some(json!({ "text": "fine\n" })), "{rule}");
    }
}

#[tokio::test]
async fn redirect_to_a_held_address_is_not_followed() {
    for verdict in ["deny", "ask"] {
        let server = Server::new();
        let port = server.port;
        let rule = format!(
            "[[rule]]\nverdict = \"{verdict}\"\nurl = \"http://localhost:{port}/keys/*\"\n"
        );
        let folder = workspace(&rule);
        let host = open(&folder, port);
        for place in
            ["/keys/a", "/x/%2e%2e/keys/a", "//LOCALHOST:PORT/keys/a", "/k%65ys/a", "\\keys\\a"]
        {
            let place = place.replace("PORT", &port.to_string());
            let url = format!("http://localhost:{port}/hop?to={place}");
            let envelope = call(&host, "http.fetch", json!({ "url": url })).await;
            assert_eq!(
                code(&envelope),
                Some(Code::PermissionDenied),
                "{place}: {}",
                shown(&envelope)
            );
            let asked = server.asked();
            assert_eq!(asked.len(), 1, "{place}: {asked:?}");
        }
        let url = format!("http://localhost:{port}/hop?to=/free");
        let free = call(&host, "http.fetch", json!({ "url": url })).await;
        assert_eq!(code(&free), None, "{}", shown(&free));
    }
}
