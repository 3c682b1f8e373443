//! Keyring tests: secrets in a real session keyring, from the command line to a server.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use haft_testkit::{Act, Backend, Folder, Keyring, Keys, Then};

use crate::call::shop;
use crate::stage::{READS, command, finished, started, tool};

const VALUE: &str = "never-shown-0815";

fn with_bank(backend: &Backend) -> Folder {
    let host = backend.host();
    let fields = format!(
        "{READS}\napproval: auto\n\
         requires: {{ secrets: [bank-key], network: [\"{host}\"] }}"
    );
    let driver = format!(
        "---\nname: bank\nid: bank\ndescription: The bank.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
         auth: {{ state: {{ env: [BANK_KEY] }} }}\nimplements:\n  \
         - {{ tool: bank.list, version: ^1, metadata: {{ http: {{ method: GET, endpoint: /list, \
         headers: {{ X-Key: \"${{secrets.BANK_KEY}}\" }} }} }} }}\n---\n"
    );
    let inventory = "---\nsecrets:\n  - slug: bank-key\n    name: Key\n    \
         description: The key of the bank.\n    backend: keyring://bank/shop\n    \
         access: { bind: [{ tool: bank.list }] }\n---\n";
    shop()
        .file(".secrets/SECRETS.md", inventory)
        .file(".tools/bank.list/TOOL.md", tool("bank.list", "1.0.0", &fields))
        .file(".drivers/bank/DRIVER.md", driver)
}

#[test]
fn keyring_value_reaches_backend_without_fallback() {
    let (backend, packages) =
        (Backend::new(Keys::Ignored), Path::new(env!("CARGO_TARGET_TMPDIR")).join("keyring"));
    let (folder, keyring) = (with_bank(&backend), Keyring::unlocked(packages));
    let haft = |line: &str, input: &str| {
        let mut command = command(&folder, line);
        command.env("DBUS_SESSION_BUS_ADDRESS", keyring.address()).stdin(Stdio::piped());
        let mut child = started(command);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ran = finished(child, line);
        let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        (ran.status.code().unwrap(), said)
    };
    let (exit, said) = haft("call bank.list", "");
    assert!(exit != 0 && said.contains("is not in the keyring"), "{said}");
    assert_eq!(haft("secrets set bank-key --stdin", VALUE), (0, "set bank-key\n".to_owned()));
    assert_eq!(keyring.lookup(&["service", "bank", "username", "shop"]), VALUE);
    let (_, listed) = haft("secrets list", "");
    assert!(listed.contains("keyring://bank/shop"), "{listed}");
    backend.will(Act::refuses(Then::json(200, &format!("{{\"ok\":true,\"echo\":\"{VALUE}\"}}"))));
    let (exit, said) = haft("call bank.list", "");
    assert!(exit == 0 && said.contains("[withheld]") && !said.contains(VALUE), "{said}");
    let [heard] = &backend.heard()[..] else { panic!("{:?}", backend.heard()) };
    assert_eq!(heard.header("x-key"), Some(VALUE));
    let (_, told) = haft("events --json", "");
    assert!(told.contains("set the secret `bank-key`") && !told.contains(VALUE), "{told}");
    keyring.lock();
    let (exit, said) = haft("call bank.list", "");
    assert!(exit != 0 && said.contains("it is locked"), "{said}");
    assert_eq!(backend.heard().len(), 1);
}
