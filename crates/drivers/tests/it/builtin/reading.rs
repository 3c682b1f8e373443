//! Tests of `fs.read`: its results and its refusals.

use haft_model::{Code, EffectState};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::stage::Stage;

fn read(stage: &Stage, input: Value) -> Value {
    let (value, effect) = stage.run("fs.read", input).value();
    assert_eq!(effect, EffectState::None);
    value
}

#[test]
fn file_is_read_whole_or_in_ranges_at_characters() {
    let stage = Stage::of(Folder::new().file("a/b.txt", "né!").file("empty", ""));
    let answer = |path: &str, content: &str, offset: u64, more: bool| {
        json!({"path": path, "content": content, "encoding": "utf-8", "size": 4,
               "offset": offset, "more": more})
    };
    let cases = [
        (json!({"path": "a/b.txt"}), answer("a/b.txt", "né!", 0, false)),
        (json!({"path": "./a//../a/b.txt"}), answer("./a//../a/b.txt", "né!", 0, false)),
        (json!({"path": "a/b.txt", "length": 2}), answer("a/b.txt", "n", 0, true)),
        (json!({"path": "a/b.txt", "length": 3}), answer("a/b.txt", "né", 0, true)),
        (json!({"path": "a/b.txt", "offset": 3}), answer("a/b.txt", "!", 3, false)),
        (json!({"path": "a/b.txt", "offset": 4}), answer("a/b.txt", "", 4, false)),
        (json!({"path": "a/b.txt", "offset": u64::MAX}), answer("a/b.txt", "", u64::MAX, false)),
    ];
    for (input, expected) in cases {
        assert_eq!(read(&stage, input.clone()), expected, "{input}");
    }
    let empty = json!({"path": "empty", "content": "", "encoding": "utf-8", "size": 0,
                       "offset": 0, "more": false});
    assert_eq!(read(&stage, json!({"path": "empty"})), empty);
}

#[test]
fn bytes_that_are_no_text_come_as_base64() {
    let stage = Stage::of(Folder::new().file("b", [0xff, 0x00, 0x41]));
    let expected = json!({"path": "b", "content": "/wBB", "encoding": "base64", "size": 3,
                          "offset": 0, "more": false});
    assert_eq!(read(&stage, json!({"path": "b"})), expected);
}

#[test]
fn large_file_read_in_ranges_gives_the_whole() {
    let text = "a line with an é in it\n".repeat(120_000);
    let stage = Stage::of(Folder::new().file("large", &text));
    let mut whole = String::new();
    loop {
        let part = read(&stage, json!({"path": "large", "offset": whole.len()}));
        assert!(part["content"].as_str().unwrap().len() <= 1024 * 1024);
        whole.push_str(part["content"].as_str().unwrap());
        if part["more"] == json!(false) {
            break;
        }
    }
    assert_eq!(whole, text);
}

#[test]
fn unreadable_path_is_refused_under_name_as_written() {
    let folder = Folder::new().file("a/b.txt", "x");
    let stage = Stage::of(folder);
    let path = stage.folder.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(path).unwrap();
    let cases = [
        ("c.txt", Code::ResourceNotFound, "`c.txt` does not exist"),
        ("c/d.txt", Code::ResourceNotFound, "`c/d.txt` does not exist"),
        ("a", Code::InputValue, "`a` is a folder"),
        (".", Code::InputValue, "`.` is a folder"),
        ("a/b.txt/c", Code::InputValue, "`a/b.txt/c` is not a folder, or lies below a file"),
        ("/etc/passwd", Code::InputValue, "`path` is absolute; write it from the workspace's root"),
        ("../x", Code::InputValue, "`path` leaves the workspace"),
        ("a\0", Code::InputValue, "`path` holds a character that no file name can hold"),
        ("", Code::InputValue, "`path` is empty; `.` is the workspace"),
    ];
    for (path, code, message) in cases {
        let refusal = stage.run("fs.read", json!({"path": path})).refusal();
        assert_eq!(refusal, (code, message.to_owned(), EffectState::None), "{path:?}");
    }
    let long = "x".repeat(300);
    let refusal = stage.run("fs.read", json!({"path": long})).refusal();
    let message = format!("`{long}` is longer than a file name can be");
    assert_eq!(refusal, (Code::InputValue, message, EffectState::None));
    let (code, ..) = stage.run("fs.read", json!({"path": "socket"})).refusal();
    assert_ne!(code, Code::Internal);
}

#[test]
fn named_pipe_is_refused_without_blocking() {
    let stage = Stage::new();
    let pipe = stage.folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(made.success());
    for tool in ["fs.read", "fs.write"] {
        let refusal = stage.run(tool, json!({"path": "pipe", "content": "x"})).refusal();
        let message = "`pipe` is neither a file nor a folder";
        assert_eq!((refusal.0, refusal.1.as_str()), (Code::InputValue, message), "{tool}");
    }
    let found = stage.run("text.search", json!({"path": ".", "pattern": "x"})).value().0;
    assert_eq!(found, json!({"pattern": "x", "matches": [], "files": 0, "more": false}));
}

#[test]
fn preflight_refuses_what_can_never_be_right_without_looking() {
    let stage = Stage::new();
    let cases = [
        (json!({"path": "/a"}), Code::InputValue, "/path"),
        (json!({"path": "a/../../b"}), Code::InputValue, "/path"),
        (json!({"path": ""}), Code::InputValue, "/path"),
        (json!({"path": "a\0b"}), Code::InputValue, "/path"),
        (json!({"path": ".haft/x"}), Code::SandboxViolation, "/path"),
        (json!({"path": "a", "length": 0}), Code::InputValue, "/length"),
        (json!({"path": "a", "length": 10_485_761}), Code::InputValue, "/length"),
        (json!({"path": "a", "offset": -1}), Code::InputValue, "/offset"),
    ];
    for (input, code, field) in cases {
        let stop = stage.preflight("fs.read", input.clone()).unwrap_err();
        assert_eq!((stop.code, stop.field.as_deref()), (code, Some(field)), "{input}");
    }
    assert_eq!(stage.preflight("fs.read", json!({"path": "not/there"})), Ok(()));
}
