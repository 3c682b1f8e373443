//! Hot reload tests: valid changes take effect while a host runs, and half-written ones do not.

use haft::{
    GoverningStanding, Host, HostOptions, LoadOptions, ReloadOutcome, StoreChoice, Workspace,
};
use haft_testkit::Folder;

use crate::accepted::accept;
use crate::workspace::{driver, remove, tool};

const BROKEN: &str = "---\nid: a.one\nname: [\n---\n";

const DENY: &str = "[[rule]]\ntool = \"a.*\"\nverdict = \"deny\"\n";

fn three_tools() -> (Folder, Host) {
    let folder = Folder::new()
        .file("haft.toml", "")
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second."))
        .file(".drivers/ones/DRIVER.md", driver("ones", "a.one"))
        .file(".drivers/twos/DRIVER.md", driver("twos", "a.two"));
    let options = HostOptions { store: StoreChoice::Memory, ..HostOptions::default() };
    accept(&folder);
    let host = Host::open(folder.path(), options).unwrap();
    (folder, host)
}

/// What is in force: each contract by its description, and its drivers by their versions.
fn in_force(host: &Host) -> Vec<String> {
    let workspace = host.workspace();
    let entries = workspace.snapshot().entries();
    let ours = entries.filter(|entry| entry.contract.key().id.as_str().starts_with("a."));
    let lines = ours.map(|entry| {
        let drivers = entry.bindings.iter();
        let drivers: Vec<_> = drivers.map(|binding| &*binding.driver.version).collect();
        format!("{} {}", entry.contract.tool.description, drivers.join(" "))
    });
    lines.collect()
}

/// How many rules there are.
fn rules(host: &Host) -> usize {
    host.runtime().world().rulebook.rules.len()
}

/// In which way the files were taken, and which files the new errors are in.
fn refreshed(host: &Host) -> (&'static str, Vec<String>) {
    let (way, new) = match host.refresh().unwrap() {
        ReloadOutcome::Same => ("same", Vec::new()),
        ReloadOutcome::Swapped => ("swapped", Vec::new()),
        ReloadOutcome::Kept(new) => ("kept", new),
        ReloadOutcome::Partly(new) => ("partly", new),
        ReloadOutcome::Without(new) => ("without", new),
    };
    let told =
        host.runtime().world().notices.iter().filter(|notice| notice.severity == "error").count();
    assert_eq!(told > 0, !new.is_empty(), "whoever looks is told what is wrong");
    let mut files: Vec<_> = new.iter().map(|notice| notice.file.to_string()).collect();
    files.dedup();
    // A driver says that what it claims cannot be used.
    if files.iter().any(|file| file.starts_with(".tools")) {
        files.retain(|file| !file.starts_with(".drivers"));
    }
    (way, files)
}

fn said(way: &'static str, files: &[&str]) -> (&'static str, Vec<String>) {
    (way, files.iter().map(|file| (*file).to_owned()).collect())
}

const ONE: &str = ".tools/a.one/TOOL.md";
const ONES: &str = ".drivers/ones/DRIVER.md";

#[test]
fn refresh_keeps_broken_contract_and_applies_other_changes() {
    let (folder, host) = three_tools();
    let folder = folder
        .file(ONE, BROKEN)
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."))
        .file(".tools/a.three/TOOL.md", tool("a.three", "1.0.0", "Third."));
    assert_eq!(refreshed(&host), said("partly", &[ONE]));
    let both = ["First. 1.0.0", "Third. ", "Second to none. 1.0.0"];
    assert_eq!(in_force(&host), both);
    // Whatever else happens, it goes on until it is mended.
    remove(&folder, ".tools/a.three/TOOL.md");
    assert_eq!(refreshed(&host), said("partly", &[ONE]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second to none. 1.0.0"]);
    assert_eq!(refreshed(&host), said("kept", &[ONE]));
    let _folder = folder.file(ONE, tool("a.one", "1.0.0", "First of all."));
    assert_eq!(refreshed(&host), said("swapped", &[]));
    assert_eq!(in_force(&host), ["First of all. 1.0.0", "Second to none. 1.0.0"]);
}

#[test]
fn refresh_defers_changed_driver_until_broken_contract_is_fixed() {
    let (folder, host) = three_tools();
    let other = |id: &str, tool: &str| driver(id, tool).replace("version: 1.0.0", "version: 1.1.0");
    let folder = folder
        .file(ONE, BROKEN)
        .file(ONES, other("ones", "a.one"))
        .file(".drivers/more/DRIVER.md", other("more", "a.one"))
        .file(".drivers/twos/DRIVER.md", other("twos", "a.two"));
    assert_eq!(refreshed(&host), said("partly", &[ONE]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second. 1.1.0"]);
    let folder = folder.file(ONE, tool("a.one", "1.0.0", "First of all."));
    assert_eq!(refreshed(&host), said("partly", &[".drivers/more/DRIVER.md"]), "it is new");
    accept(&folder);
    assert_eq!(refreshed(&host), said("swapped", &[]));
    let all = ["First of all. 1.1.0 1.1.0", "Second. 1.1.0"];
    assert_eq!(in_force(&host), all);
}

#[test]
fn refresh_defers_changed_contract_while_driver_is_broken() {
    let (folder, host) = three_tools();
    let _folder = folder
        .file(ONES, driver("ones", "a.one").replace("kind: cli", "kind: magic"))
        .file(ONE, tool("a.one", "1.0.0", "First of all."))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."));
    assert_eq!(refreshed(&host), said("partly", &[ONES]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second to none. 1.0.0"]);
}

#[test]
fn refresh_keeps_deleted_contract_while_driver_claims_it() {
    let (folder, host) = three_tools();
    remove(&folder, ONE);
    let folder = folder.file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."));
    assert_eq!(refreshed(&host), said("partly", &[ONES]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second to none. 1.0.0"]);
    remove(&folder, ONES);
    assert_eq!(refreshed(&host), said("swapped", &[]));
    assert_eq!(in_force(&host), ["Second to none. 1.0.0"]);
}

#[test]
fn shared_driver_does_not_couple_refresh_of_its_contracts() {
    let (folder, host) = three_tools();
    let two = "  - { tool: a.two, version: ^1, metadata: { cli: { argv: [go] } } }\n---\n";
    let both = driver("ones", "a.one").replace("\n---\n", &format!("\n{two}"));
    let folder = folder.file(ONES, both);
    accept(&folder);
    assert_eq!(refreshed(&host), said("swapped", &[]));
    let _folder = folder
        .file(ONE, BROKEN)
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."));
    assert_eq!(refreshed(&host), said("partly", &[ONE]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second to none. 1.0.0 1.0.0"]);
}

#[test]
fn refresh_applies_rule_at_once_and_drops_broken_contract() {
    let (folder, host) = three_tools();
    let folder = folder.file(ONE, BROKEN);
    assert_eq!(refreshed(&host), said("kept", &[ONE]));
    assert_eq!((in_force(&host).len(), rules(&host)), (2, 0));
    // The author may have moved what the contract said into the rule, or the other way round.
    let folder = folder.file("haft.toml", DENY);
    assert_eq!(refreshed(&host), said("without", &[ONE]));
    assert_eq!((in_force(&host), rules(&host)), (vec!["Second. 1.0.0".to_owned()], 1));
    let _folder = folder.file(ONE, tool("a.one", "1.0.0", "First of all."));
    assert_eq!(refreshed(&host), said("swapped", &[]));
    assert_eq!((in_force(&host).len(), rules(&host)), (2, 1));
}

#[test]
fn a_mistake_in_what_governs_holds_everything_back() {
    let (folder, host) = three_tools();
    let folder = folder
        .file("haft.toml", DENY.replace("deny", "perhaps"))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."));
    assert_eq!(refreshed(&host), said("kept", &["haft.toml"]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second. 1.0.0"]);
    let folder = folder.file("haft.toml", "").file(".policy/shop/POLICY.md", "---\nid: [\n---\n");
    assert_eq!(refreshed(&host), said("kept", &[".policy/shop/POLICY.md"]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second. 1.0.0"]);
    remove(&folder, ".policy/shop/POLICY.md");
    assert_eq!(refreshed(&host), said("swapped", &[]));
    assert_eq!(in_force(&host), ["First. 1.0.0", "Second to none. 1.0.0"]);
}

#[test]
fn changed_hook_program_is_looser_until_accepted() {
    let hook = "[[hook]]\nevent = \"pre_tool_use\"\nrun = [\"python3\", \"hooks/look.py\"]\n";
    let folder = Folder::new().file("haft.toml", hook).file("hooks/look.py", "one");
    let load = || Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    load().accept_governing().unwrap();
    assert_eq!(load().governing_standing(), GoverningStanding::Accepted);
    std::fs::write(folder.path().join("hooks/look.py"), "two").unwrap();
    match load().governing_standing() {
        GoverningStanding::Looser(files, ways) => {
            assert_eq!(files, ["hooks/look.py"]);
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            assert_eq!(ways, ["hooks/look.py: it says something else than before"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(load().diagnostics().iter().any(|found| found.message.contains("hooks/look.py")));
    assert_eq!(load().accept_governing().unwrap(), ["hooks/look.py"]);
    assert_eq!(load().governing_standing(), GoverningStanding::Accepted);
}
