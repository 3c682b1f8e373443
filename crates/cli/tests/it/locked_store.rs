//! Locked store test: the call's own timeout bounds the wait.

use std::time::{Duration, Instant};

use haft_testkit::Folder;
use rusqlite::Connection;
use serde_json::json;

use crate::stage::{READS, done, driver, json as answer, tool};

#[test]
fn call_on_a_locked_store_ends_within_its_timeout() {
    let quick = format!("{READS}\ntimeout_ms: 2000");
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"demo\"\n")
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", &quick))
        .file(".drivers/demo/DRIVER.md", driver("demo", &[("demo.run", "^1")]));
    done(&folder, "call time.now");
    let holder = Connection::open(folder.path().join(".haft/haft.db")).unwrap();
    let locked = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM marks; COMMIT";
    holder.execute_batch(locked).unwrap();
    let began = Instant::now();
    let (exit, told) = answer(&folder, "call demo.run --json");
    let took = began.elapsed();
    assert_eq!((exit, &told["error"]["error_code"]), (69, &json!("store.unavailable")), "{told:#}");
    assert!(took < Duration::from_secs(8), "a call of 2 s was answered after {took:?}");
    drop(holder);
    done(&folder, "call time.now");
}
