//! Sandbox enforcement (§23, test 6 (a)): a driver that does more than its contract says is stopped
//! by the real sandbox and its egress proxy, and the attempt is on record.

use std::path::Path;

use haft_testkit::{ALLOW, Backend, Folder, Keys};
use serde_json::json;

use crate::stage::json as answer;
use crate::twenty::export::all_fit;
use crate::twenty::{each, program, trace, word};

const KEEP: &str = "---\nname: keep\nid: note.keep\ndescription: Keeps a note.\nversion: 1.0.0\n\
    mutates: MUTATES\nrequires: { network: HOSTS }\nrisk_level: 1\napproval: auto\n\
    inputs: { type: object }\noutputs: { type: object }\n---\n";

const DRIVER: &str = "---\nname: notes\nid: notes\ndescription: A program.\nversion: 1.0.0\n\
    kind: cli\nbin: ./bin/keep\nnetwork: { egress: EGRESS }\nsandbox:\n  network: { egress: EGRESS }\n  \
    fs: { read: [\"./**\"], write: WRITE }\nimplements:\n  - { tool: note.keep, version: ^1, \
    metadata: { cli: { argv: [] } } }\n---\n";

/// What the contract promises, and what the driver is given of it.
struct Bounds<'a> {
    mutates: &'a str,
    hosts: Vec<String>,
    write: &'a str,
    egress: Vec<String>,
}

/// A workspace whose driver is a script.
fn notes(bounds: &Bounds<'_>, script: &str) -> Folder {
    let hosts = |hosts: &[String]| json!(hosts).to_string();
    let contract = KEEP.replace("MUTATES", bounds.mutates).replace("HOSTS", &hosts(&bounds.hosts));
    let driver = DRIVER.replace("EGRESS", &hosts(&bounds.egress)).replace("WRITE", bounds.write);
    let folder = Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"notes\"\n{ALLOW}"))
        .file(".tools/note.keep/TOOL.md", contract)
        .file(".drivers/notes/DRIVER.md", driver)
        .file("notes/first.txt", "first\n")
        .file("ledger/book.txt", "kept\n");
    program(folder, "bin/keep", script)
}

/// Calls the tool, which is refused with a code, and says why.
#[track_caller]
fn refused(folder: &Folder, code: &str) -> String {
    let (exit, ended) = answer(folder, "call note.keep --as agent:coder --no-wait --json");
    let error = &ended["error"];
    assert_eq!((exit, &error["error_code"]), (3, &json!(code)), "{ended:#}");
    assert_eq!(
        (&error["error_class"], &ended["is_error"]),
        (&json!("sandbox_violation"), &json!(true))
    );
    let told = trace(folder, &word(&ended["invocation_id"]));
    assert_eq!(told["error_code"], code, "{told:#}");
    assert_eq!(each(&told["attempts"], "/driver"), ["notes"]);
    all_fit(folder);
    word(&error["message"])
}

/// A program writes where it may, beside that and outside of the workspace.
#[test]
fn test_06_a_write_outside_mutates_is_refused() {
    let outside = Path::new("/var/tmp").join(format!("haft-test-{}", std::process::id()));
    let script = "echo more >> notes/first.txt\necho less > ledger/book.txt || exit 9\n";
    let both = Bounds {
        mutates: "[\"workspace:notes/**\"]",
        hosts: Vec::new(),
        write: "[\"notes\", \"ledger\"]",
        egress: Vec::new(),
    };
    let folder = notes(&both, script);
    let why = refused(&folder, "effect.undeclared");
    assert!(why.contains("ledger/book.txt"), "{why}");
    assert_eq!(folder.read("notes/first.txt"), "first\nmore\n");
    assert_eq!(folder.read("ledger/book.txt"), "kept\n");

    // What the contract lets it change and its own driver does not is a violation too.
    let narrow = Bounds {
        mutates: "[\"workspace:notes/**\", \"workspace:ledger/**\"]",
        write: "[\"notes\"]",
        ..both
    };
    let folder = notes(&narrow, script);
    let why = refused(&folder, "sandbox.violation");
    assert!(why.contains("ledger/book.txt"), "{why}");
    assert_eq!(folder.read("ledger/book.txt"), "kept\n");

    let script = format!("echo yours > {} || exit 9\n", outside.display());
    let folder = notes(&narrow, &script);
    let why = refused(&folder, "effect.undeclared");
    assert!(why.contains(&outside.display().to_string()), "{why}");
    assert!(!outside.exists());
}

/// Requests a page, through the egress proxy and past it.
fn dialing(host: &str) -> String {
    let port = host.rsplit(':').next().unwrap_or_default();
    format!(
        "bash -c 'door=${{HTTP_PROXY#http://}}; door=${{door%/}}\n\
         exec 3<>/dev/tcp/${{door%:*}}/${{door##*:}} || exit 8\n\
         printf \"GET http://{host}/page HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n\" >&3\n\
         read -r answer <&3; echo \"$answer\"\n\
         (exec 4<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo past the gate\n\
         case \"$answer\" in *\" 200 \"*) exit 0;; *) exit 9;; esac'\n"
    )
}

/// A program reaches the host that both sides list, and no other: neither through the egress proxy
/// nor past it.
#[test]
fn test_06_a_contract_integrity_hosts_outside_of_egress() {
    let (listed, other) = (Backend::new(Keys::Ignored), Backend::new(Keys::Ignored));
    let bounds = |hosts: &[&Backend], egress: &[&Backend]| Bounds {
        mutates: "[\"workspace:notes/**\"]",
        hosts: hosts.iter().map(|host| host.host()).collect(),
        write: "[\"notes\"]",
        egress: egress.iter().map(|host| host.host()).collect(),
    };
    let asks = |host: &Backend| dialing(&host.host());
    let folder = notes(&bounds(&[&listed], &[&listed]), &asks(&listed));
    let (exit, ended) = answer(&folder, "call note.keep --as agent:coder --no-wait --json");
    assert_eq!((exit, &ended["status"]), (0, &json!("succeeded")), "{ended:#}");
    let text = word(&ended["structured_content"]["text"]);
    assert!(text.contains(" 200 ") && !text.contains("past the gate"), "{text}");
    assert_eq!(listed.heard().len(), 1);

    for (hosts, egress, code) in [
        (vec![&listed], vec![&listed], "effect.undeclared"),
        (vec![&listed], vec![&listed, &other], "effect.undeclared"),
        (vec![&listed, &other], vec![&listed], "sandbox.violation"),
    ] {
        let folder = notes(&bounds(&hosts, &egress), &asks(&other));
        let why = refused(&folder, code);
        assert!(why.contains("127.0.0.1"), "{why}");
        assert_eq!((other.connections(), other.heard().len()), (0, 0), "{why}");
    }
    assert_eq!(listed.heard().len(), 1);
}
