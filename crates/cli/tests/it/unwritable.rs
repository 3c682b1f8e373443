//! Full disk tests: a store that cannot be written shows in results, exit codes and the doctor.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

use haft_testkit::Folder;

use crate::stage::{command, done, finished, started};

/// Runs a command that can write to no file: to it that is a full disk.
fn limited(folder: &Folder, line: &str) -> (i32, String) {
    let inner = command(folder, line);
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let Output { status, stdout, stderr } = finished(started(shell), line);
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (status.code().unwrap_or(-1), text)
}

#[test]
fn unwritable_store_shows_in_mark_exit_code_and_doctor() {
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"shop\"\n")
        .file("batch.json", r#"[{"tool": "time.now"}, {"tool": "time.now"}]"#);
    done(&folder, "call time.now");
    // What opens a store writes too; another process holds it open, so that only records fail.
    let mut holder = command(&folder, "serve --stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = holder.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    writeln!(stdin, "{hello}").unwrap();
    let mut answer = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("protocolVersion"), "{answer}");

    let batch = format!("batch {}", folder.path().join("batch.json").display());
    for line in ["call time.now", &batch] {
        let (exit, text) = limited(&folder, line);
        assert_eq!(exit, 69, "haft {line}: {text}");
        assert!(
            !text.contains('✔') && text.contains("! time.now@1 succeeded"),
            "haft {line}: {text}"
        );
        assert!(text.contains("its end is not on record"), "haft {line}: {text}");
        let (exit, text) = limited(&folder, &format!("{line} --json"));
        assert_eq!(exit, 69, "haft {line} --json: {text}");
        assert!(text.contains("\"unrecorded\""), "haft {line} --json: {text}");
    }
    let (exit, text) = limited(&folder, "doctor");
    assert!(exit == 1 && text.contains("cannot be written"), "{exit}: {text}");
    drop(stdin);
    holder.wait().unwrap();

    let (exit, text) = limited(&folder, "doctor");
    assert!(exit == 1 && text.contains("cannot open the store"), "{exit}: {text}");
    assert!(
        !text.contains("waits for the disk"),
        "a store that was not opened is not fine: {text}"
    );
    done(&folder, "call time.now");
    done(&folder, "audit verify");
}
