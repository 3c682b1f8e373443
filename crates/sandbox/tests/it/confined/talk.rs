//! Tests of running programs: the caller exchanges messages with them and hands them secrets.

use std::path::PathBuf;

use haft_model::Secret;
use haft_sandbox::{ConfinedProgram, ExitKind, SecretFile, Spawn, StartRefusal, Walls};
use haft_testkit::Folder;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::confined::{run, said, script, text, walls};

#[tokio::test]
async fn a_program_answers_while_it_is_under_way() {
    let folder = Folder::new();
    for walls in [walls(), Walls::Off] {
        let answer = "while read word; do echo heard $word; done; echo aside >&2; exit 4";
        let mut running = script(&folder, answer).start(&walls).unwrap();
        let mut feed = running.stdin.take().unwrap();
        let mut lines = BufReader::new(std::mem::take(&mut running.stdout)).lines();
        for word in ["one", "two"] {
            feed.write_all(format!("{word}\n").as_bytes()).await.unwrap();
            assert_eq!(lines.next_line().await.unwrap(), Some(format!("heard {word}")));
        }
        drop(feed);
        assert_eq!(running.ended().await.unwrap().end, ExitKind::Exited(4));
        let mut aside = String::new();
        running.stderr.read_to_string(&mut aside).await.unwrap();
        assert_eq!(aside, "aside\n");
        assert_eq!(running.ended().await.unwrap().end, ExitKind::Exited(4));
    }
}

#[tokio::test]
async fn stopped_program_ends_as_cancelled() {
    let folder = Folder::new();
    for walls in [walls(), Walls::Off] {
        let mut running = script(&folder, "echo up; sleep 1000").start(&walls).unwrap();
        let mut up = [0; 3];
        running.stdout.read_exact(&mut up).await.unwrap();
        running.stop();
        assert_eq!(running.ended().await.unwrap().end, ExitKind::CalledOff);
    }
}

#[tokio::test]
async fn program_that_cannot_start_reports_reason_to_waiter() {
    let folder = Folder::new();
    let program = PathBuf::from("/no/such/program");
    let confined = ConfinedProgram { program, ..script(&folder, "") };
    let refused = confined.start(&walls()).unwrap().ended().await;
    assert_eq!(refused, Err(StartRefusal::Program("`/no/such/program` does not exist".into())));
}

#[tokio::test]
async fn secrets_reach_only_the_program() {
    let folder = Folder::new();
    let look = "echo $WORD; cat $FILE; echo; cat $FILE; echo; sh -c 'cat $FILE'; echo;
        (echo x > $FILE) 2>/dev/null && echo changed; tr '\\0' '\\n' < /proc/1/environ 2>/dev/null | grep WORD; exit 0";
    let secret = |value: &str| Secret::new(value.to_owned());
    for walls in [walls(), Walls::Off] {
        let mut confined = script(&folder, look);
        confined.secret_env.insert("WORD".into(), secret("spoken"));
        confined.handed.push(SecretFile { name: "FILE".into(), value: secret("written") });
        assert!(!format!("{confined:?}").contains("spoken"));
        let ended =
            confined.run(&walls, crate::confined::late(), std::future::pending()).await.unwrap();
        assert_eq!(text(&ended.stdout), "spoken\nwritten\nwritten\nwritten\n");
    }
}

#[tokio::test]
async fn a_long_secret_arrives_whole() {
    let folder = Folder::new();
    let value = "0123456789".repeat(20_000);
    let handed = vec![SecretFile { name: "FILE".into(), value: Secret::new(value.clone()) }];
    assert_eq!(said(ConfinedProgram { handed, ..script(&folder, "cat $FILE") }).await, value);
}

#[tokio::test]
async fn more_secrets_than_can_be_handed_over_are_refused() {
    let folder = Folder::new();
    let handed =
        |number| SecretFile { name: format!("F{number}"), value: Secret::new(String::new()) };
    let handed = (0..64).map(handed).collect();
    let refused = run(ConfinedProgram { handed, ..script(&folder, "exit 0") }).await;
    let why = "there are 64 secrets or more";
    assert_eq!(refused, Err(StartRefusal::Broken(why.to_owned())));
}

#[tokio::test]
async fn spawn_nothing_permits_threads_but_no_processes() {
    let folder = Folder::new();
    let shell =
        ConfinedProgram { spawn: Spawn::Nothing, ..script(&folder, "echo a; /bin/echo b; exit 0") };
    let ended = run(shell).await.unwrap();
    assert_eq!(text(&ended.stdout), "a\n");
    let children = "import subprocess, os, threading
t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
for start in (lambda: subprocess.run(['/bin/true']), os.fork, lambda: os.posix_spawn('/bin/true', ['true'], {})):
    try:
        start(); print('started')
    except PermissionError: print('no')";
    let program = PathBuf::from("/usr/bin/python3");
    if !program.exists() {
        eprintln!("skipped: there is no /usr/bin/python3 to start threads with");
        return;
    }
    let args = vec!["-c".into(), children.into()];
    let confined = ConfinedProgram { program, args, spawn: Spawn::Nothing, ..script(&folder, "") };
    assert_eq!(said(confined).await, "thread\nno\nno\nno\n");
}
