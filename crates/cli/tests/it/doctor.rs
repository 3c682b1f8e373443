//! `haft doctor` tests: each finding names the command that mends it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::stage::{READS, asked, done, driver, json as answer, run, tool};

fn workspace(settings: &str, driver: String) -> Folder {
    Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"demo\"\n{settings}"))
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", READS))
        .file(".drivers/demo/DRIVER.md", driver)
}

fn demo(fields: &str) -> String {
    driver("demo", &[("demo.run", "^1")]).replace("bin: env", fields)
}

/// What is said of one part.
fn of(said: &Value, what: &str) -> Value {
    let examined = said["examined"].as_array().unwrap().iter();
    let found: Vec<Value> = examined
        .filter(|one| one["what"] == what)
        .map(|one| json!([one["state"], one["says"], one["mend"]]))
        .collect();
    json!(found)
}

#[test]
fn a_workspace_in_order_is_healthy() {
    let folder = workspace("", demo("bin: env\nhealth_check: { method: exec, cmd: 'true' }"));
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!((exit, &said["healthy"]), (0, &json!(true)), "{said:#}");
    let fine = json!([["ok", "its program is there, its backend works", null]]);
    assert_eq!(of(&said, "driver demo"), fine);
    assert_eq!(of(&said, "keys"), json!([["ok", "no other user may read them", null]]));
    let sandbox = of(&said, "sandbox").to_string();
    for layer in ["programs are confined by ", "landlock", "namespaces"] {
        assert!(sandbox.contains(layer), "{sandbox}");
    }
    let told = String::from_utf8(run(&folder, "doctor").stdout).unwrap();
    assert!(told.ends_with("\nnothing is broken\n"), "{told}");
}

#[test]
fn each_obstacle_of_a_driver_names_its_command() {
    let cases = [
        (
            "bin: haft-nowhere",
            "driver `demo` runs `haft-nowhere`, which is not installed",
            json!("haft setup demo"),
        ),
        (
            "bin: env\nversion_check: { cmd: echo 1.0.0, parse: '(.+)', range: ^2 }",
            "`env` is 1.0.0, and `^2` is needed",
            json!("haft setup demo"),
        ),
        (
            "bin: env\nauth: { login: { cmd: 'true' } }",
            "`agent:local` is not logged in",
            json!("haft login demo --as agent:local"),
        ),
        (
            "bin: env\nhealth_check: { method: exec, cmd: 'false' }",
            "its health check failed lately: `false` ended with code 1",
            Value::Null,
        ),
    ];
    for (fields, says, mend) in cases {
        let folder = workspace("", demo(fields));
        let (exit, said) = answer(&folder, "doctor --json");
        assert_eq!((exit, &said["healthy"]), (1, &json!(false)), "{fields}: {said:#}");
        assert_eq!(of(&said, "driver demo"), json!([["broken", says, mend]]), "{fields}");
    }
}

#[test]
fn doctor_and_trace_report_sandbox_that_is_off() {
    let folder = workspace("sandbox = \"off\"\n", demo("bin: env"));
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!(exit, 0, "it is what the workspace wants");
    let sandbox = of(&said, "sandbox").to_string();
    assert!(sandbox.contains("NOTHING IS CONFINED"), "{sandbox}");
    assert!(sandbox.contains("driver `demo`"), "{sandbox}");
    let (_, envelope) = answer(&folder, "call demo.run --no-wait --json");
    let id = envelope["invocation_id"].as_str().unwrap();
    let told = String::from_utf8(run(&folder, &format!("trace {id}")).stdout).unwrap();
    assert!(told.contains("UNCONFINED, since `sandbox = \"off\"`"), "{told}");
}

#[test]
fn doctor_reports_readable_keys_and_broken_store() {
    let folder = workspace("", demo("bin: env"));
    done(&folder, "call time.now");
    let key = folder.path().join(".haft/audit.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!(exit, 1);
    let found = of(&said, "keys").to_string();
    assert!(found.contains("can be read by others: its mode is 644"), "{found}");
    assert!(found.contains("chmod 600 "), "{found}");
    fs::write(folder.path().join(".haft/haft.db"), "no database").unwrap();
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!((exit, &of(&said, "store")[0][0]), (1, &json!("broken")), "{said:#}");
}

#[test]
fn what_waits_for_people_is_told() {
    let asks =
        "mutates: [\"workspace:*\"]\nrisk_level: 2\napproval: always\ninputs: { type: object }";
    let folder = workspace("", demo("bin: env"))
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", asks));
    asked(&folder, "call demo.run");
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!(exit, 0, "{said:#}");
    let waits = json!([["note", "one question waits for an answer", "haft approvals"]]);
    assert_eq!(of(&said, "approvals"), waits);
}

#[test]
fn doctor_reports_changed_contract_and_invalid_manifest() {
    let folder = workspace("", demo("bin: env"));
    done(&folder, "tools");
    let wider = READS.replace("risk_level: 0", "risk_level: 3");
    let folder = folder
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", &wider))
        .file(".tools/bad/TOOL.md", "---\nid: bad\n---\n");
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!(exit, 1);
    assert_eq!(of(&said, "lock")[0][2], json!("haft accept demo.run@1"), "{said:#}");
    assert_eq!(of(&said, "workspace")[0][2], json!("haft check"), "{said:#}");
}

#[test]
fn misconfigurations_are_told_with_what_mends_them() {
    let settings = "default_actor = \"user:ana\"\n[server]\nlisten = \"0.0.0.0:7311\"\n\
                    [[hook]]\nevent = \"pre_tool_use\"\ntool = \"*\"\nrun = [\"hooks/none\"]\n";
    let rests = r#"{"demo": {"circuits": [
        {"tool": "demo.run@1", "failures": 5, "until": "2999-01-01T00:00:00Z"},
        {"tool": "demo.run@1", "host": "a.example:443", "failures": 5, "until": "2999-01-01T00:00:00Z"},
        {"tool": "demo.run@1", "host": "b.example:443", "failures": 5, "until": "2000-01-01T00:00:00Z"}]}}"#;
    let folder = workspace(settings, demo("bin: env")).file(".haft/health.json", rests);
    let at = |path: &str| folder.path().join(path);
    fs::set_permissions(at("haft.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::hard_link(at(".drivers/demo/DRIVER.md"), at("another")).unwrap();
    let (exit, said) = answer(&folder, "doctor --json");
    assert_eq!(exit, 1, "{said:#}");
    let told = |what: &str| of(&said, what).to_string();
    let files = told("files");
    for words in [
        "`[folder]/haft.toml` can be changed by every user of this machine",
        "chmod o-w [folder]/haft.toml",
        "`[folder]/.drivers/demo/DRIVER.md` has 2 names",
    ] {
        assert!(files.contains(words), "{words}: {files}");
    }
    let server = "other machines can reach `0.0.0.0:7311`, and there is neither a token";
    assert!(told("server").contains(server), "{said:#}");
    assert!(told("server").contains("haft token new agent:NAME"), "{said:#}");
    let person = "`user:ana`, who callers without a token are, is a person";
    assert!(told("actor").contains(person), "{said:#}");
    let hook = "hook `hooks/none` cannot be heard: `hooks/none` is no program that can be run";
    assert!(told("hooks").contains(hook), "{said:#}");
    let driver = told("driver demo");
    for words in [
        "`demo.run@1` is left alone: it failed 5 times in a row",
        "`demo.run@1` at `a.example:443` is left alone",
        "haft call demo.run@1 --pin demo",
    ] {
        assert!(driver.contains(words), "{words}: {driver}");
    }
    assert!(!driver.contains("b.example"), "what is over is not told: {driver}");
}

/// An approval of two, which none of them may give to their own call.
const FOUR_EYES: &str = "---\nschema: agentgovernance/v1\ndoctype: policy\nslug: four-eyes\n\
    version: 1.0.0\nmatch: { action: tool.call }\ndecision: require-approval\n\
    signers: [{ role: approver }]\nquorum: 2\n---\n";

/// What is said of one part where the settings are these, of whatever state.
fn told_of(folder: &Folder, what: &str) -> (i32, Vec<(String, String)>) {
    let (exit, said) = answer(folder, "doctor --json");
    let examined = said["examined"].as_array().unwrap().iter();
    let found = examined.filter(|one| one["what"] == what).map(|one| {
        let is_told = one["state"] == "warning" || one["state"] == "broken";
        assert!(!is_told || one["mend"].is_string(), "{one:#}");
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        (text("state"), text("says"))
    });
    (exit, found.collect())
}

#[test]
fn looser_settings_are_told_as_no_server_takes_them() {
    let folder = workspace("", demo("bin: env"));
    done(&folder, "tools");
    let folder = folder.file("haft.toml", "[workspace]\nname = \"demo\"\nautonomy = 3\n");
    let (exit, told) = told_of(&folder, "settings");
    let [(state, says)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((exit, state.as_str()), (1, "broken"));
    assert!(says.contains("looser than was accepted") && says.contains("autonomy"), "{says}");
}

#[test]
fn leftover_quarantine_is_told_until_it_is_removed() {
    let folder = workspace("", demo("bin: env"));
    let kept = folder.path().join(".haft/quarantine/1-2");
    fs::create_dir_all(&kept).unwrap();
    let (_, told) = told_of(&folder, "quarantine");
    assert!(told[0].0 == "warning" && told[0].1.contains("one run"), "{told:?}");
    fs::remove_dir(&kept).unwrap();
    assert_eq!(told_of(&folder, "quarantine").1, []);
}

#[test]
fn quorum_of_too_few_distinct_persons_is_told() {
    // The person who runs this is `user:ana`, an approver; an agent of the same name is the same
    // person.
    let actor = |id: &str| format!("[[actor]]\nid = \"{id}\"\nroles = [\"approver\"]\n");
    for (actors, expected) in [
        (vec![], Some(("broken", "needs 2 persons, and 1 can answer"))),
        (vec!["user:ana", "agent:bo"], Some(("broken", "needs 2 persons, and 1 can answer"))),
        (vec!["user:bo"], Some(("warning", "no call of theirs is ever approved"))),
        (vec!["user:bo", "user:cy"], None),
    ] {
        let settings: String = actors.iter().map(|id| actor(id)).collect();
        let folder =
            workspace(&settings, demo("bin: env")).file(".policy/four-eyes/POLICY.md", FOUR_EYES);
        let (_, told) = told_of(&folder, "approvals");
        let told = told.iter().find(|(_, says)| says.contains("`four-eyes`"));
        match (told, expected) {
            (None, None) => {}
            (Some((state, says)), Some((degree, words))) => {
                assert!(state == degree && says.contains(words), "{actors:?}: {state} {says}");
            }
            (told, _) => panic!("{actors:?}: {told:?}"),
        }
    }
}

#[test]
fn auditors_who_are_something_else_are_told() {
    let settings = "default_actor = \"agent:eye\"\n\
        [[actor]]\nid = \"agent:eye\"\nroles = [\"auditor\"]\n\
        [[actor]]\nid = \"user:bo\"\nroles = [\"auditor\", \"approver\"]\n";
    let folder = workspace(settings, demo("bin: env"));
    let (exit, told) = told_of(&folder, "actor");
    let [default, mixed] = &told[..] else { panic!("{told:?}") };
    assert_eq!((exit, default.0.as_str(), mixed.0.as_str()), (1, "broken", "warning"));
    assert!(default.1.contains("`agent:eye`") && default.1.contains("`auditor`"), "{default:?}");
    assert!(mixed.1.contains("`user:bo`") && mixed.1.contains("`approver`"), "{mixed:?}");
}

#[test]
fn identity_file_inside_workspace_is_reported_and_not_written() {
    let settings = "[store]\nidentity_file = \"state/store.json\"\nurl = \"sqlite:state/haft.db\"\n\
        [[rule]]\nverdict = \"allow\"\ntool = \"fs.write\"\n";
    let folder = workspace(settings, demo("bin: env"));
    done(&folder, "call time.now");
    let (_, told) = told_of(&folder, "store");
    let inside = |(state, says): &(String, String)| {
        state == "warning" && says.contains("inside of the workspace")
    };
    assert!(told.iter().any(inside), "{told:?}");
    for path in ["state/store.json", "state/haft.db", "state/haft.db-wal", "state/audit.key"] {
        let line = format!("call fs.write path={path} content=x --json --no-wait");
        let (exit, told) = answer(&folder, &line);
        assert_ne!(exit, 0, "{path}: {told:#}");
        assert!(told["error"]["error_code"] == "sandbox.violation", "{path}: {told:#}");
    }
    // Nothing of it was damaged.
    done(&folder, "audit verify");
    let outside = "[store]\nidentity_file = \"/dev/shm/haft-nowhere/store.json\"\n";
    let folder = workspace(outside, demo("bin: env"));
    assert!(!told_of(&folder, "store").1.iter().any(inside));
}

#[test]
fn a_sound_workspace_is_told_of_no_misconfiguration() {
    let folder = workspace("", demo("bin: env"));
    let (_, said) = answer(&folder, "doctor --json");
    for what in ["files", "server", "actor", "hooks", "settings", "quarantine", "approvals"] {
        assert_eq!(of(&said, what), json!([]), "{said:#}");
    }
}
