//! Terminal harness: `script` plays a person and gives a command a terminal of its own.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use haft_testkit::Folder;
use serde_json::json;

use crate::call::shop;
use crate::stage::{done, json as answer, unvaried};

const WRITE: &str = "call fs.write path=b.txt content=one --as agent:coder";

/// What the prompt ends with.
const MENU: &str = "inbox > ";

/// What a command says at a terminal, and how it exits. Each line is typed once its prompt is there.
pub(crate) fn typed(folder: &Folder, line: &str, lines: &[(&str, &str)]) -> (i32, String) {
    let lines: Vec<_> = lines.iter().map(|(prompt, words)| (*prompt, Act::Type(words))).collect();
    played(folder, line, &lines)
}

/// What happens once a prompt is there.
enum Act<'a> {
    /// The person types.
    Type(&'a str),
    /// Something happens in another process.
    Elsewhere(&'a dyn Fn()),
}

/// The same, where not everything that happens is typed.
fn played(folder: &Folder, line: &str, acts: &[(&str, Act<'_>)]) -> (i32, String) {
    let haft = env!("CARGO_BIN_EXE_haft");
    let line = format!("{haft} -C {} {line}", folder.path().display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"]);
    script.env("NO_COLOR", "1").env("USER", "ana").env_remove("EDITOR").env_remove("VISUAL");
    script.env("XDG_CONFIG_HOME", folder.path().join(".config")).env_remove("HAFT_SECRETS_KEY");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let mut said = Vec::new();
    for (prompt, act) in acts {
        let seen = said.len();
        while !said[seen..].ends_with(prompt.as_bytes()) {
            let mut byte = [0];
            let read = screen.read(&mut byte).unwrap();
            assert!(read > 0, "no {prompt:?} in {}", String::from_utf8_lossy(&said));
            said.extend(byte);
        }
        match act {
            Act::Type(words) => keyboard.write_all(words.as_bytes()).unwrap(),
            Act::Elsewhere(happens) => happens(),
        }
    }
    screen.read_to_end(&mut said).unwrap();
    let ended = child.wait().unwrap();
    let said = String::from_utf8(said).unwrap().replace('\r', "");
    (ended.code().unwrap(), folder.filtered(&unvaried(&said)))
}

#[test]
fn the_person_at_the_terminal_is_asked_right_there() {
    let folder = shop();
    let (exit, said) = typed(&folder, WRITE, &[(MENU, "what?\n"), (MENU, "y\n")]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(
        said.trim(),
        r#"
? agent:coder wants to use fs.write@1: approval is `on-mutate`, and the call may change something
  tool      fs.write@1.0.0, carried out by haft-builtin
  input     {
              "path": "b.txt",
              "content": "one",
              "encoding": "utf-8",
              "mode": "replace"
            }
  changes   workspace:*; risk 1 (medium)
  asks      contract: approval is `on-mutate`, and the call may change something
  asks      autonomy: risk 1 is above autonomy 0
  answers   one of any approver
[y]es  [n]o, and why  [e]dit  [a]lways  [l]eave it to the inbox > [y]es  [n]o, and why  [e]dit  [a]lways  [l]eave it to the inbox > {
  "path": "b.txt",
  "size": 3,
  "created": true,
  "digest": "[digest]"
}
✔ fs.write@1 succeeded by haft-builtin in [time]; it took effect  inv_[id]
"#
        .trim()
    );
    let (_, all) = answer(&folder, "approvals --all --json");
    let given = &all[0]["answers"][0];
    assert_eq!((&given["by"], &given["channel"]), (&json!("user:ana"), &json!("terminal")));
}

#[test]
fn a_no_at_the_terminal_says_why() {
    let folder = shop();
    let (exit, said) = typed(&folder, WRITE, &[(MENU, "n not on a Friday\n")]);
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("approval.rejected: `user:ana` said no: not on a Friday"), "{said}");
    assert!(!folder.path().join("b.txt").exists());
}

#[test]
fn invalid_input_edit_at_terminal_is_asked_again() {
    let folder = shop();
    let lines = [
        (MENU, "e\n"),
        ("JSON: ", "{\"path\":1}\n"),
        (MENU, "e\n"),
        ("JSON: ", "{\"path\":\"c.txt\",\"content\":\"two\"}\n"),
    ];
    let (exit, said) = typed(&folder, WRITE, &lines);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("input.schema: the input does not fit"), "{said}");
    assert_eq!(folder.read("c.txt"), "two");
    assert!(!folder.path().join("b.txt").exists());
}

#[test]
fn control_c_at_the_question_calls_the_call_off() {
    let folder = shop();
    let (exit, said) = typed(&folder, WRITE, &[(MENU, "\x03")]);
    assert_eq!(exit, 130, "{said}");
    let (_, runs) = answer(&folder, "runs --json");
    assert_eq!(runs[0]["status"], "canceled");
}

#[test]
fn terminal_prompt_yields_to_answer_from_elsewhere() {
    let folder = shop();
    let elsewhere = || {
        let (_, open) = answer(&folder, "approvals --json");
        let id = open[0]["approval_id"].as_str().unwrap().to_owned();
        done(&folder, &format!("approve {id} --as user:ana"));
    };
    let (exit, said) = played(&folder, WRITE, &[(MENU, Act::Elsewhere(&elsewhere))]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(folder.read("b.txt"), "one");
}
