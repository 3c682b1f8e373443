//! Driver conformance of the builtin tools.

use std::io::Write as _;

use haft_driver::conformance::{
    ConformanceCase, Hostile, Ill, check, check_clearance, hardened, left,
};
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::server::{Server, send, until_gone};
use crate::builtin::stage::{Stage, permit, plan};

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
        |(index, ((tool, _, most_bytes, effects), (plan, permit)))| ConformanceCase {
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

#[test]
fn fetching_keeps_its_promises_when_its_server_does_not() {
    let server = Server::new(|path, stream| match path {
        "/well" => send(stream, "200 OK", b"well"),
        "/hangs" => until_gone(stream),
        "/floods" => send(stream, "200 OK", &[b'x'; 6 << 20]),
        "/half" => drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")),
        "/garbage" => drop(stream.write_all(b"this is no answer\r\n\r\n")),
        _ => {}
    });
    let guard = AddressGuard::public().allowing("127.0.0.1", server.port);
    let stage = Stage::guarded(Folder::new(), guard);
    let calls = [
        ("/well", Ill::Well),
        ("/hangs", Ill::Hangs),
        ("/floods", Ill::Floods),
        ("/half", Ill::ClosesEarly),
        ("/gone", Ill::ClosesEarly),
        ("/garbage", Ill::WrongType),
    ];
    let plans = calls.map(|(path, _)| plan("http.fetch", json!({"url": server.url(path)})));
    let permits: Vec<_> = plans.iter().map(permit).collect();
    let promised = |value: &Value| value["status"] == json!(200) && value["content"].is_string();
    let cases =
        calls.iter().zip(plans.iter().zip(&permits)).map(|((name, ill), (plan, permit))| {
            let case = ConformanceCase { name, plan, permit, most_bytes: 6 << 20, effects: None };
            let hostile = Hostile::new(case, *ill).promising(&promised);
            hostile.leaving_nothing_of(&left::open_files)
        });
    let cases: Vec<_> = cases.collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(hardened(&stage.builtin, &cases)), []);
}

#[test]
fn expired_clearance_changes_no_file_and_fetches_nothing() {
    let server = Server::new(|_, stream| send(stream, "200 OK", b"well"));
    let guard = AddressGuard::public().allowing("127.0.0.1", server.port);
    let stage = Stage::guarded(Folder::new().file("log", ""), guard);
    let log = stage.folder.path().join("log");
    let (size, hits) = (|| log.metadata().map_or(0, |file| file.len() as usize), || server.hits());
    let write = plan("fs.write", json!({"path": "log", "content": "1", "mode": "append"}));
    let fetch = plan("http.fetch", json!({"url": server.url("/")}));
    let permits = [permit(&write), permit(&fetch)];
    let most_bytes = 300;
    let cases = [
        ConformanceCase {
            name: "fs.write",
            plan: &write,
            permit: &permits[0],
            most_bytes,
            effects: Some(&size),
        },
        ConformanceCase {
            name: "http.fetch",
            plan: &fetch,
            permit: &permits[1],
            most_bytes,
            effects: Some(&hits),
        },
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(check_clearance(&stage.builtin, &cases)), []);
}
