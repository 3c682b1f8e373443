//! Builtin tool tests: the contracts that are in every catalog without a file.

use haft::{Error, Workspace};
use haft_catalog::CatalogEntry;
use haft_driver::conformance::{Sample, examples};
use haft_drivers::Builtin;
use haft_model::{ActorId, Call, Decision, InvocationId, Timestamp, Verdict, utc_day};
use haft_policy::Permit;
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::json;

use crate::workspace::{catalog, driver, load, said, tool};

/// The drivers that claim a contract of a workspace.
fn drivers(entry: &CatalogEntry) -> Vec<&str> {
    entry.bindings.iter().map(|binding| binding.driver.id.as_str()).collect()
}

#[test]
fn empty_workspace_has_and_plans_builtin_contracts() {
    let workspace = load(&Folder::new().file("haft.toml", ""));
    let given: Vec<String> = workspace
        .snapshot()
        .entries()
        .map(|entry| {
            let effects = &entry.contract.effects;
            let classes: Vec<&str> = effects.classes.iter().map(|class| class.name()).collect();
            let key = entry.contract.key();
            format!("{key} {} {} {}", classes.join(" "), effects.risk, effects.approval)
        })
        .collect();
    assert_eq!(
        given,
        [
            "fs.list@1 read-only 0 auto",
            "fs.read@1 read-only 0 auto",
            "fs.write@1 irreversible 1 on-mutate",
            "http.fetch@1 external-communication 2 auto",
            "text.search@1 read-only 0 auto",
            "time.now@1 read-only 0 auto",
        ]
    );
    assert_eq!((said(&workspace), workspace.manifest_count()), (Vec::new(), 0));
    let call = Call::new(ActorId::from("agent:a"), "fs.read", json!({ "path": "a.txt" }));
    let plan = workspace.snapshot().plan(call, utc_day(Timestamp::now())).unwrap();
    assert_eq!(plan.route.driver.as_str(), haft::BUILTIN_DRIVER);
    assert_eq!(plan.input, json!({ "path": "a.txt", "offset": 0 }));
}

#[test]
fn builtin_contracts_are_never_written_to_the_lock() {
    let folder = Folder::new().file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
    let keys = load(&folder).accept(None).unwrap();
    assert_eq!(keys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a.one@1"]);
    assert_eq!(folder.read("haft.lock").matches("[[tool]]").count(), 1);
    let refused = load(&folder).accept(Some("fs.read")).unwrap_err();
    assert!(matches!(&refused, Error::Given { name } if name == "fs.read@1"), "{refused}");
}

#[test]
fn builtin_contracts_can_be_called_under_a_damaged_lock() {
    let folder = Folder::new().file("haft.toml", "").file("haft.lock", "[[tool");
    let workspace = load(&folder);
    assert!(workspace.snapshot().entries().all(|entry| entry.block.is_none()));
}

#[test]
fn workspace_contract_silently_overrides_builtin_contract() {
    let folder = Folder::new().file(".tools/fs.read/TOOL.md", tool("fs.read", "1.3.0", "Ours."));
    let workspace = load(&folder);
    let entry = workspace.snapshot().find("fs.read").unwrap();
    assert_eq!(&*entry.contract.tool.description, "Ours.");
    assert_eq!(drivers(entry), [""; 0], "the builtin code may not do what ours says");
    assert_eq!((said(&workspace), catalog(&workspace)), (vec![], vec!["fs.read@1 by".to_owned()]));
    assert_eq!(drivers(workspace.snapshot().find("fs.write").unwrap()), ["haft-builtin"]);
}

#[test]
fn workspace_contract_naming_builtin_driver_is_served_by_it() {
    let ours = tool("fs.read", "1.3.0", "Ours.")
        .replace("mutates", "default_implementation: haft-builtin\nmutates");
    let workspace = load(&Folder::new().file(".tools/fs.read/TOOL.md", ours));
    assert_eq!(drivers(workspace.snapshot().find("fs.read").unwrap()), ["haft-builtin"]);
    assert_eq!(said(&workspace), [""; 0]);
}

#[test]
fn broken_workspace_contract_is_not_replaced_by_builtin() {
    let broken = "---\nid: fs.write\nname: [\n---\n";
    let workspace = load(&Folder::new().file(".tools/fs.write/TOOL.md", broken));
    assert!(workspace.snapshot().find("fs.write").is_none());
    assert!(workspace.snapshot().find("fs.read").is_some());
}

#[test]
fn another_major_stands_beside_the_builtin_one() {
    let folder = Folder::new().file(".tools/fs.read/TOOL.md", tool("fs.read", "2.0.0", "Ours."));
    let workspace = load(&folder);
    let find = |name| drivers(workspace.snapshot().find(name).unwrap());
    assert_eq!((find("fs.read@1"), find("fs.read")), (vec!["haft-builtin"], vec![]));
}

#[test]
fn accepted_workspace_driver_may_serve_builtin_contract() {
    let folder = Folder::new()
        .file("haft.toml", "")
        .file(".drivers/remote/DRIVER.md", driver("remote", "time.now"));
    let refused = |workspace: &Workspace| {
        let entry = workspace.snapshot().find("time.now").unwrap();
        entry.bindings.iter().filter(|binding| binding.refused.is_some()).count()
    };
    assert_eq!(
        refused(&load(&folder)),
        1,
        "a file that claims it is not accepted with the program"
    );
    crate::accepted::accept(&folder);
    let workspace = load(&folder);
    assert_eq!(refused(&workspace), 0);
    let entry = workspace.snapshot().find("time.now").unwrap();
    assert_eq!(drivers(entry), ["haft-builtin", "remote"]);
    assert_eq!(said(&workspace), [""; 0]);
}

#[test]
fn the_id_of_the_builtin_driver_is_taken() {
    let folder = Folder::new()
        .file("haft.toml", "")
        .file(".drivers/haft-builtin/DRIVER.md", driver("haft-builtin", "time.now"));
    assert_eq!(
        said(&load(&folder)),
        [
            "D045 .drivers/haft-builtin/DRIVER.md:3: `haft-builtin` is already defined in builtin:haft-builtin"
        ]
    );
}

#[test]
fn a_reload_keeps_the_builtin_contracts() {
    let folder = Folder::new().file("haft.toml", "");
    let before = load(&folder);
    let after = before.reload().unwrap();
    let same = |name| {
        let find = |workspace: &haft::Workspace| workspace.snapshot().find(name).unwrap().clone();
        std::sync::Arc::ptr_eq(&find(&before), &find(&after))
    };
    assert!(same("fs.read") && same("http.fetch"));
}

fn allowed(plan: &haft_model::Plan) -> Permit {
    let decision = Decision {
        verdict: Verdict::Allow,
        deciding: None,
        opinions: Vec::new(),
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: Timestamp::UNIX_EPOCH,
    };
    let id = InvocationId::from("inv_1");
    Permit::of_decision(&decision, plan, &id, Timestamp::UNIX_EPOCH).unwrap()
}

#[test]
fn builtin_contract_examples_match_actual_output() {
    let folder = Folder::new().file("haft.toml", "");
    let workspace = load(&folder);
    // The first writes what the others look at; no foreign page is fetched.
    let tools = ["fs.write", "fs.list", "fs.read", "text.search", "time.now"];
    let entries = tools.map(|tool| workspace.snapshot().find(tool).unwrap());
    let mut shown = Vec::new();
    for entry in entries {
        for example in &entry.contract.tool.examples {
            let tool = entry.contract.key().to_string();
            let call = Call::new(ActorId::from("agent:a"), tool, example.input.clone());
            let plan = workspace.snapshot().plan(call, utc_day(Timestamp::UNIX_EPOCH)).unwrap();
            shown.push((example, allowed(&plan), plan));
        }
    }
    let samples = shown.iter().map(|(example, permit, plan)| Sample {
        name: &example.name,
        plan,
        permit,
        output: example.output.as_ref(),
    });
    let samples: Vec<_> = samples.collect();
    assert_eq!(samples.len(), 6);
    let guard = AddressGuard::public();
    let builtin = Builtin::new(folder.path().to_owned(), guard, || Timestamp::UNIX_EPOCH);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(examples(&builtin, &samples)), []);
}
