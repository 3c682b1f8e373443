//! The builtin tools keep the promises of every driver.

use haft_driver::conformance::{Case, check};
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::json;

use crate::server::{Server, send, until_gone};
use crate::stage::{Stage, permit, plan};

#[test]
fn every_builtin_tool_keeps_the_promises_of_a_driver() {
    let server = Server::new(|path, stream| {
        if path == "/slow" { until_gone(stream) } else { send(stream, "200 OK", &[b'x'; 6 << 20]) }
    });
    let guard = AddressGuard::public().allowing("127.0.0.1", server.port);
    let folder = Folder::new().file("a.txt", "x\n".repeat(2_000_000)).file("log", "");
    let stage = Stage::guarded(folder, guard);
    let root = stage.folder.path();
    let size = |name: &str| root.join(name).metadata().map_or(0, |file| file.len() as usize);
    let (appended, replaced, hits) = (|| size("log"), || size("new/file"), || server.hits());
    type Effects<'a> = Option<&'a (dyn Fn() -> usize + Sync)>;
    let calls: [(&str, serde_json::Value, usize, Effects<'_>); 9] = [
        ("time.now", json!({}), 100, None),
        ("fs.read", json!({"path": "a.txt", "length": 1_000_000}), 1_600_000, None),
        ("fs.read", json!({"path": "missing"}), 100, None),
        ("fs.list", json!({"path": ".", "depth": 5}), 100_000, None),
        ("text.search", json!({"path": ".", "pattern": "y"}), 100_000, None),
        (
            "fs.write",
            json!({"path": "log", "content": "1", "mode": "append"}),
            300,
            Some(&appended),
        ),
        ("fs.write", json!({"path": "new/file", "content": "1"}), 300, Some(&replaced)),
        ("http.fetch", json!({"url": server.url("/")}), 6 << 20, Some(&hits)),
        ("http.fetch", json!({"url": server.url("/slow")}), 300, Some(&hits)),
    ];
    let plans: Vec<_> = calls.iter().map(|(tool, input, ..)| plan(tool, input.clone())).collect();
    let permits: Vec<_> = plans.iter().map(permit).collect();
    let slow = calls.len() - 1;
    let cases = calls.iter().zip(plans.iter().zip(&permits)).enumerate().map(
        |(index, ((tool, _, most_bytes, effects), (plan, permit)))| Case {
            name: if index == slow { "a slow server" } else { tool },
            plan,
            permit,
            most_bytes: *most_bytes,
            effects: *effects,
        },
    );
    let cases: Vec<_> = cases.collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let breaches = runtime.block_on(check(&stage.builtin, &cases));
    assert_eq!(breaches, []);
}
