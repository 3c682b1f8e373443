//! Driver readiness tests, as `haft tools`, `haft show` and `haft why` report it.

use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{READS, check, check_own, driver, json as answer, run, tool};

/// A tool with two drivers: a program that is not there, and one that wants a login.
fn workspace() -> Folder {
    let demo = |id: &str| driver(id, &[("demo.run", "^1")]);
    Folder::new()
        .file("haft.toml", "[workspace]\nname = \"demo\"\n")
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", READS))
        .file(".drivers/absent/DRIVER.md", demo("absent").replace("bin: env", "bin: haft-nowhere"))
        .file(
            ".drivers/closed/DRIVER.md",
            demo("closed").replace("bin: env", "bin: env\nauth: { login: { cmd: 'true' } }"),
        )
}

#[test]
fn tools_list_shows_obstacle_of_each_driver() {
    let folder = workspace();
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL  VERSION  RISK  STATE  DRIVERS  ABOUT
demo.run  1.0.0  0  no route  absent (not set up), closed (not logged in)  2 drivers claim `demo.run@1` and none can serve it
",
    );
    let (_, said) = answer(&folder, "show demo.run --json");
    let told: Vec<_> = said["drivers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["id"], one["state"], one["reason"], one["mend"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            [
                "absent",
                "not set up",
                "driver `absent` runs `haft-nowhere`, which is not installed",
                "haft setup absent"
            ],
            [
                "closed",
                "not logged in",
                "`agent:local` is not logged in",
                "haft login closed --as agent:local"
            ],
        ])
    );
    assert!(run(&folder, "login closed").status.success());
    check_own(
        &folder,
        "tools --as user:ana",
        r"
exit 0
TOOL  VERSION  RISK  STATE  DRIVERS  ABOUT
demo.run  1.0.0  0  ready  absent (not set up), closed  Does what demo.run says.
",
    );
}

#[test]
fn why_names_obstacle_of_each_driver_and_still_judges() {
    check(
        &workspace(),
        "why demo.run",
        r"
exit 1
demo.run@1  demo.run
input     not given, so not checked
driver    none (route.none): 2 drivers claim `demo.run@1` and none can serve it
          each rejected driver says what stands in its way
risk      0 (low)
approval  auto
grant     tool:demo.run
decision  ✔ allow: risk 0 is within autonomy 0

LAYER     SAYS     RULE  REASON
autonomy  ✔ allow  -     risk 0 is within autonomy 0

REJECTED  PHASE       WHY
absent    capability  driver `absent` runs `haft-nowhere`, which is not installed
closed    capability  `agent:local` is not logged in
",
    );
}
