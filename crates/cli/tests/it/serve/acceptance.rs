//! Hot reload acceptance tests: what a running server adopts only after people accepted it.

use haft_testkit::{Folder, eventually};
use serde_json::{Value, json};

use crate::serve::workspace;
use crate::stage::{self, READS, driver, tool};
use crate::wire::Server;

fn put(folder: &Folder, path: &str, text: &str) {
    let path = folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn call(server: &Server, tool: &str) -> Value {
    server.post("/v1/call", &json!({ "tool": tool })).json()
}

/// The code of a call's error and its reason.
fn refusal(envelope: &Value) -> (String, String) {
    let word = |pointer: &str| {
        let found = envelope.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    (word("/error/error_code"), word("/error/cause/reason"))
}

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// A tool that tries to leave a mark outside its workspace, which the sandbox does not let it.
#[cfg(target_os = "linux")]
fn marking(outside: &Folder) -> Folder {
    let mark = outside.path().join("mark");
    let driver = format!(
        "---\nname: marker\nid: marker\ndescription: Marks.\nversion: 1.0.0\nkind: cli\nbin: sh\n\
         implements:\n  - {{ tool: mark, version: ^1, metadata: {{ cli: {{ argv: [\"-c\", \
         \"echo x > {}; echo done\"] }} }} }}\n---\n",
        mark.display()
    );
    Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"marks\"\n{ALLOW}"))
        .file(".tools/mark/TOOL.md", tool("mark", "1.0.0", READS))
        .file(".drivers/marker/DRIVER.md", driver)
}

#[cfg(target_os = "linux")]
#[test]
fn looser_sandbox_is_kept_out_until_it_is_accepted() {
    let outside = Folder::new();
    let folder = marking(&outside);
    let server = Server::of(&folder);
    let marked = || outside.path().join("mark").exists();
    call(&server, "mark");
    assert!(!marked(), "the sandbox holds");
    let off = format!("[workspace]\nname = \"marks\"\nsandbox = \"off\"\n{ALLOW}");
    put(&folder, "haft.toml", &off);
    let said = eventually(|| Some(server.said()).filter(|said| said.contains("holds on")));
    assert!(said.contains("L008 haft.toml:1:1") && said.contains("sandbox` is off now"), "{said}");
    assert!(said.contains("haft accept --settings"), "{said}");
    call(&server, "mark");
    assert!(!marked(), "the sandbox still holds");
    stage::done(&folder, "accept --settings");
    eventually(|| {
        call(&server, "mark");
        marked().then_some(())
    });
}

#[test]
fn tighter_rule_is_taken_in_at_once() {
    let folder = Folder::new().file("haft.toml", ALLOW);
    let server = Server::of(&folder);
    assert_eq!(call(&server, "time.now")["status"], "succeeded");
    let deny = format!("{ALLOW}[[rule]]\ntool = \"time.*\"\nverdict = \"deny\"\n");
    put(&folder, "haft.toml", &deny);
    eventually(|| (call(&server, "time.now")["status"] != "succeeded").then_some(()));
    // Taking it out again is looser than what is in force, and is what was accepted.
    put(&folder, "haft.toml", ALLOW);
    eventually(|| (call(&server, "time.now")["status"] == "succeeded").then_some(()));
}

#[test]
fn contract_that_appears_live_is_blocked_until_accepted() {
    let folder = workspace().file("haft.toml", ALLOW);
    let server = Server::of(&folder);
    let lock = folder.read("haft.lock");
    put(&folder, ".drivers/shop/DRIVER.md", &driver("shop", &[("shop.look", "^1")]));
    put(&folder, ".tools/shop.look/TOOL.md", &tool("shop.look", "1.0.0", READS));
    let blocked = ("tool.blocked".to_owned(), "contract_unaccepted".to_owned());
    eventually(|| (refusal(&call(&server, "shop.look")) == blocked).then_some(()));
    let told = call(&server, "shop.look").to_string();
    assert!(told.contains("is not accepted yet") && !told.contains("haft accept"), "{told}");
    assert_eq!(folder.read("haft.lock"), lock, "a server writes no entry");
    stage::done(&folder, "accept shop.look");
    eventually(|| (refusal(&call(&server, "shop.look")) != blocked).then_some(()));
}

#[test]
fn contract_that_widens_live_goes_on_as_accepted() {
    let folder = workspace()
        .file("haft.toml", ALLOW)
        .file(".tools/shop.look/TOOL.md", tool("shop.look", "1.0.0", READS))
        .file(".drivers/shop/DRIVER.md", driver("shop", &[("shop.look", "^1")]));
    let server = Server::of(&folder);
    let is_wide = || {
        let answer = server.get("/v1/catalog/shop.look");
        assert_eq!(answer.status, 200);
        answer.json().to_string().contains("workspace:*")
    };
    assert!(!is_wide());
    let wide = READS.replace("mutates: []", "mutates: [\"workspace:*\"]");
    let wide = tool("shop.look", "1.0.0", &wide.replace("risk_level: 0", "risk_level: 2"));
    put(&folder, ".tools/shop.look/TOOL.md", &wide);
    eventually(|| server.said().contains("L001 .tools/shop.look/TOOL.md").then_some(()));
    assert!(!is_wide(), "what was accepted is in force");
    stage::done(&folder, "accept shop.look");
    eventually(|| is_wide().then_some(()));
}

#[test]
fn server_does_not_start_by_looser_settings_than_accepted() {
    let folder = Folder::new().file("haft.toml", "[workspace]\nname = \"shop\"\n");
    stage::done(&folder, "accept --all");
    put(&folder, "haft.toml", "[workspace]\nname = \"shop\"\nsandbox = \"off\"\n");
    let serve = "serve --listen 127.0.0.1:0";
    stage::check(
        &folder,
        serve,
        "
exit 3
! policy.blocked: what governs calls is other than was accepted: haft.toml: `workspace.sandbox` is off now
! help: look at the change, then `haft accept --settings`
",
    );
    // Without the accepted text at hand nothing can be shown to be tighter.
    std::fs::remove_dir_all(folder.path().join(".haft/accepted")).unwrap();
    put(&folder, "haft.toml", "[workspace]\nname = \"shop\"\nunsent = \"refuse\"\n");
    let ran = stage::run(&folder, serve);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(!ran.status.success() && said.contains("other than was accepted: haft.toml"), "{said}");
    // What is tighter than a text that is at hand starts, with a word.
    stage::done(&folder, "accept --settings");
    let deny = "[[rule]]\ntool = \"*\"\nverdict = \"deny\"\n";
    put(
        &folder,
        "haft.toml",
        &format!("[workspace]\nname = \"shop\"\nunsent = \"refuse\"\n{deny}"),
    );
    assert_ne!(call(&Server::of(&folder), "time.now")["status"], "succeeded");
    // A comment is no change.
    stage::done(&folder, "accept --settings");
    put(&folder, "haft.toml", &format!("# why\n{}", folder.read("haft.toml")));
    assert!(!Server::of(&folder).said().contains("accepted"));
}
