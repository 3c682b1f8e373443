//! `haft login` tests: real authorization servers on this machine, and a person at a terminal.

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::json;

use crate::stage::{READS, check, driver as program, json as answer, run, tool};
use crate::terminal::typed;

const TOKEN: &str = "never-shown-4711";

fn driver(auth: &str) -> String {
    format!(
        "---\nname: Bank\nid: bank\ndescription: The bank.\nversion: 1.0.0\nkind: http\n\
         base_url: https://bank.example\nnetwork: {{ egress: [bank.example] }}\nauth: {auth}\n\
         implements:\n  - tool: pay.list\n    version: \"1.x\"\n    metadata:\n      http: {{ endpoint: /list, method: GET, headers: {{ Authorization: \"Bearer ${{secrets.BANK_TOKEN}}\" }} }}\n---\n"
    )
}

fn shop(auth: &str) -> Folder {
    let fields = format!("{READS}\nrequires: {{ secrets: [bank-token], network: [bank.example] }}");
    Folder::new()
        .file("haft.toml", "[workspace]\nname = \"shop\"\n")
        .file(
            ".secrets/SECRETS.md",
            "---\nsecrets:\n  - slug: bank-token\n    name: Token\n    description: Opens the bank.\n    kind: oauth\n    access: { bind: [{ tool: pay.list }] }\n---\n",
        )
        .file(".tools/pay.list/TOOL.md", tool("pay.list", "1.0.0", &fields))
        .file(".drivers/bank/DRIVER.md", driver(auth))
}

fn with_flow(base: &str, flow: &str) -> Folder {
    let auth = format!(
        "---\nid: bank\ndescription: The bank.\napiBase: {base}\nauth: {{ {flow}, tokenStore: {{ keychain: bank-token }} }}\n---\n"
    );
    shop("{ ref: ./AUTH.md, state: { env: [BANK_TOKEN] } }").file(".drivers/bank/AUTH.md", auth)
}

/// Who has a value of the secret.
fn holders(folder: &Folder) -> Vec<String> {
    let (_, listed) = answer(folder, "secrets list --json");
    listed["secrets"][0]["actors"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_token_is_asked_for_kept_and_never_shown() {
    let folder = with_flow("https://bank.example", "flow: pat");
    let (exit, said) = typed(&folder, "login bank", &[("token of bank: ", &format!("{TOKEN}\r"))]);
    assert_eq!((exit, said.trim()), (0, "token of bank: \nlogged user:ana in to bank"));
    assert_eq!(holders(&folder), ["user:ana"]);
    let (exit, said) =
        typed(&folder, "login bank --as agent:coder", &[("token of bank: ", "half\x03")]);
    assert_eq!(exit, 130, "{said}");
    assert!(said.contains("no token was entered; the login is canceled"), "{said}");
    assert_eq!(holders(&folder), ["user:ana"]);
    let events = String::from_utf8(run(&folder, "events --json").stdout).unwrap();
    let note = "`user:ana` logged `user:ana` in to `bank`, with the secret `bank-token`";
    assert!(events.contains(note) && !events.contains(TOKEN), "{events}");
    let logins = folder.read(".haft/logins.json");
    assert!(logins.contains("user:ana") && !logins.contains(TOKEN), "{logins}");
}

#[test]
fn device_code_login_stores_token() {
    let backend = Backend::new(Keys::Ignored);
    let base = format!("http://{}", backend.host());
    let json_at = |path: &str, value: serde_json::Value| {
        backend.will_at(path, Act::commits(Then::json(200, &value.to_string())));
    };
    json_at(
        "/.well-known/oauth-protected-resource",
        json!({ "resource": base, "authorization_servers": [base] }),
    );
    json_at(
        "/.well-known/oauth-authorization-server",
        json!({
            "issuer": base,
            "device_authorization_endpoint": format!("{base}/device"),
            "token_endpoint": format!("{base}/token"),
        }),
    );
    json_at(
        "/device",
        json!({ "device_code": "dev-1", "user_code": "ABCD-EFGH", "verification_uri": format!("{base}/go"), "expires_in": 600, "interval": 1 }),
    );
    let pending = r#"{"error": "authorization_pending"}"#;
    backend.will_at("/token", Act::refuses(Then::json(400, pending)));
    json_at(
        "/token",
        json!({ "access_token": TOKEN, "refresh_token": "again-1", "expires_in": 3600 }),
    );
    let folder = with_flow(&base, "flow: device-code, clientId: shop, scope: pay");
    let (exit, said) = typed(&folder, "login bank --shared", &[]);
    let said = said.replace(&backend.host(), "[host]");
    assert_eq!(
        (exit, said.trim()),
        (
            0,
            "open this page and type in the code ABCD-EFGH, which is good for 10 minutes:\n  http://[host]/go\nlogged everybody in to bank"
        )
    );
    let asked: Vec<_> = backend.heard().iter().map(|heard| heard.body.clone()).collect();
    let poll = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1&client_id=shop";
    assert_eq!(asked, ["", "", "client_id=shop&scope=pay", poll, poll]);
    let (_, listed) = answer(&folder, "secrets list --json");
    assert!(listed["secrets"][0]["shared"].is_string(), "{listed:#}");
}

#[test]
fn login_without_terminal_fails_and_names_command() {
    let folder = with_flow("https://bank.example", "flow: device-code");
    check(
        &folder,
        "login bank",
        "
exit 1
! credential.missing: a person has to log in to `bank`, and there is no terminal
! help: run `haft login bank` at a terminal
",
    );
    check(
        &folder,
        "login bnk",
        "
exit 1
! resource.not_found: no tool is served by a driver `bnk`
! help: did you mean `bank`?
",
    );
    let folder = shop("{ state: { env: [BANK_TOKEN] } }");
    check(
        &folder,
        "login bank",
        "
exit 4
! input.value: `bank` has no way to log in; it takes secrets
! help: haft secrets set bank-token
",
    );
}

#[test]
fn login_command_is_verified_by_exit_and_completion_check() {
    let login = |cmd: &str, done: &str| {
        let auth =
            format!("{{ login: {{ cmd: \"{cmd}\", completes_when: {{ cmd: \"{done}\" }} }} }}");
        // A program that reaches no host needs no egress from its sandbox.
        let program = program("bank", &[("pay.list", "1.x")]);
        let program = program.replace("kind: cli\n", &format!("kind: cli\nauth: {auth}\n"));
        shop(&auth).file(".drivers/bank/DRIVER.md", program)
    };
    check(&login("true", "true"), "login bank", "exit 0\nlogged user:ana in to bank");
    check(
        &login("false", "true"),
        "login bank",
        "exit 1\n! credential.missing: the login to `bank` failed: `false` ended with code 1",
    );
    check(
        &login("true", "false"),
        "login bank",
        "exit 1\n! credential.missing: the login to `bank` failed: it ended, and its `completes_when` does not hold",
    );
}

#[test]
fn interactive_login_command_gets_its_own_terminal() {
    let auth = "{ login: { cmd: \"sh ask.sh\", interactive: true } }";
    let program = program("bank", &[("pay.list", "1.x")]);
    let program = program.replace("kind: cli\n", &format!("kind: cli\nauth: {auth}\n"));
    let ask = "test -t 0 && test -t 1 && printf 'who? ' && read -r name && test \"$name\" = ana";
    let folder = shop(auth).file(".drivers/bank/DRIVER.md", program).file("ask.sh", ask);
    let (exit, said) = typed(&folder, "login bank", &[("who? ", "ana\r")]);
    assert!(exit == 0 && said.contains("logged user:ana in to bank"), "{exit}: {said}");
    let (exit, said) = typed(&folder, "login bank", &[("who? ", "eve\r")]);
    assert!(exit == 1 && said.contains("`sh ask.sh` ended with code 1"), "{exit}: {said}");
    let (exit, said) = typed(&folder, "login bank", &[("who? ", "\u{3}")]);
    assert!(exit != 0 && said.contains("the login was called off"), "{exit}: {said}");
    let alone = run(&folder, "login bank");
    let said = String::from_utf8(alone.stderr).unwrap();
    assert!(said.contains("run `haft login bank` at a terminal"), "{said}");
}
