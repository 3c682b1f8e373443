//! Escape tests: real attempts to leave the file system, network, processes and privileges.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use haft_sandbox::{Access, ConfinedProgram, MountedPath};
use haft_testkit::Folder;

use crate::confined::probe::{inside, outside};
use crate::confined::{root, run, said, script, text};

#[tokio::test]
async fn only_what_is_shown_is_there() {
    let (folder, other) = (Folder::new().file("shown", "mine"), Folder::new().file("secret", "x"));
    let secret = root(&other).join("secret");
    let look = format!(
        "cat shown; echo; for f in /etc/shadow /root /home /var /sys /run /boot {}; do [ -e $f ] && echo $f; done; ls -A / | tr '\\n' ' '",
        secret.display()
    );
    let seen = said(script(&folder, &look)).await;
    let (first, rest) = seen.split_once('\n').unwrap();
    assert_eq!(first, "mine");
    let known = [
        "bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "proc", "sbin",
        "tmp", "usr",
    ];
    let strange: Vec<_> = rest.split_whitespace().filter(|name| !known.contains(name)).collect();
    assert_eq!(strange, Vec::<&str>::new());
}

#[tokio::test]
async fn program_starts_in_its_folder_even_if_hidden() {
    let folder = Folder::new().file("shown", "mine");
    let look = "pwd; ls -A; (echo x > new) 2>/dev/null && echo wrote; exit 0";
    let blind = ConfinedProgram { shown: Vec::new(), ..script(&folder, look) };
    assert_eq!(said(blind).await, format!("{}\n", root(&folder).display()));
}

#[tokio::test]
async fn nothing_but_the_private_folder_can_be_written() {
    let folder = Folder::new().file("shown", "mine");
    let tries = "for f in shown new /new /usr/new /etc/new /etc/passwd /dev/new /proc/sys/kernel/hostname /bin/sh; do
        (echo x > $f) 2>/dev/null && echo wrote $f; done
        rm -f shown 2>/dev/null && echo removed; mv shown other 2>/dev/null && echo moved
        echo private > /tmp/own && cat /tmp/own";
    assert_eq!(said(script(&folder, tries)).await, "private\n");
    assert_eq!(folder.read("shown"), "mine");
    // Each run has its own private folder.
    assert_eq!(said(script(&folder, "ls -A /tmp | grep own; exit 0")).await, "");
}

#[tokio::test]
async fn what_may_be_written_is_written_and_only_that() {
    let folder = Folder::new().file("open/a", "old").file("closed/b", "old");
    let shown = vec![
        MountedPath { path: root(&folder), access: Access::Read },
        MountedPath { path: root(&folder).join("open"), access: Access::Write },
    ];
    let tries = "echo new > open/a; echo new > open/c; (echo new > closed/b) 2>/dev/null; exit 0";
    said(ConfinedProgram { shown, ..script(&folder, tries) }).await;
    let files = ["open/a", "open/c", "closed/b"].map(|path| folder.read(path));
    assert_eq!(files, ["new\n", "new\n", "old"]);
}

#[tokio::test]
async fn what_is_hidden_stays_hidden_in_every_spelling() {
    let folder = Folder::new().file(".haft/key", "secret").file("token", "secret").file("a", "b");
    std::os::unix::fs::symlink(".haft/key", folder.path().join("link")).unwrap();
    let hidden = vec![
        root(&folder).join(".haft"),
        root(&folder).join("token"),
        root(&folder).join("absent"),
    ];
    let look = "cat .haft/key ./a/../.haft/key link token 2>/dev/null; ls -A .haft; cat /proc/self/cwd/.haft/key 2>/dev/null;
        umount .haft 2>/dev/null && echo unmounted; rmdir .haft 2>/dev/null && echo removed; mv .haft x 2>/dev/null && echo moved; exit 0";
    for access in [Access::Read, Access::Write] {
        let shown = vec![MountedPath { path: root(&folder), access }];
        let confined = ConfinedProgram { shown, hidden: hidden.clone(), ..script(&folder, look) };
        assert_eq!(said(confined).await, "");
    }
    assert_eq!(folder.read(".haft/key"), "secret");
}

#[tokio::test]
async fn a_link_that_leads_out_leads_nowhere() {
    let (folder, other) = (Folder::new(), Folder::new().file("secret", "x"));
    std::os::unix::fs::symlink(root(&other), folder.path().join("way")).unwrap();
    assert_eq!(
        said(script(&folder, "cat way/secret 2>/dev/null; ls -A way/ 2>/dev/null; exit 0")).await,
        ""
    );
}

#[tokio::test]
async fn sandboxed_program_reaches_no_socket() {
    let folder = Folder::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let socket = root(&folder).join("socket");
    let _open = UnixListener::bind(&socket).unwrap();
    let tcp = format!("tcp|{}", tcp.local_addr().unwrap());
    let udp = format!("udp|{}", udp.local_addr().unwrap());
    // A Unix socket is shown as a file, and cannot be connected to.
    let unix = format!("unix|{}", socket.display());
    for attempt in [&tcp, &udp, &unix] {
        assert_eq!(outside(attempt), "done");
        assert_eq!(inside(&folder, attempt).await, "unsupported");
    }
    assert_eq!(inside(&folder, "raw").await, "unsupported");
}

#[tokio::test]
async fn no_wall_can_be_taken_down_from_inside() {
    let folder = Folder::new();
    let mut refused = Vec::new();
    for attempt in ["mount", "unshare", "ptrace", "keys"] {
        refused.push((attempt, inside(&folder, attempt).await));
    }
    let unsupported = |attempt| (attempt, "unsupported".to_owned());
    assert_eq!(refused, ["mount", "unshare", "ptrace", "keys"].map(unsupported));
    assert_eq!(outside("keys"), "done");
}

#[tokio::test]
async fn no_right_is_left_and_none_can_be_had() {
    let folder = Folder::new();
    let look = "grep -e ^Cap -e ^NoNewPrivs -e ^Seccomp: /proc/self/status | tr -d '\\t '";
    let none = "0000000000000000";
    let wanted = format!(
        "CapInh:{none}\nCapPrm:{none}\nCapEff:{none}\nCapBnd:{none}\nCapAmb:{none}\nNoNewPrivs:1\nSeccomp:2\n"
    );
    assert_eq!(said(script(&folder, look)).await, wanted);
}

#[tokio::test]
async fn the_processes_of_this_machine_are_not_there() {
    let folder = Folder::new();
    let outside = std::process::id();
    let look = format!(
        "echo /proc/[0-9]* | wc -w; [ -e /proc/{outside}/status ] && grep Name /proc/{outside}/status; kill -0 {outside} 2>/dev/null && echo found;
        kill -9 1; kill -9 -1; echo alive; cat /proc/1/environ /proc/1/mem 2>/dev/null | wc -c"
    );
    let seen = run(script(&folder, &look)).await.unwrap();
    let seen = text(&seen.stdout);
    let count: usize = seen.lines().next().unwrap().trim().parse().unwrap();
    assert!(count <= 5, "{seen}");
    assert!(!seen.contains("found") && !seen.contains("Name"), "{seen}");
}

#[tokio::test]
async fn common_languages_run_inside() {
    let folder = Folder::new();
    let hello = [
        (
            "/usr/bin/python3",
            "import json, subprocess, threading; t = threading.Thread(target=print, args=('a',)); t.start(); t.join(); print(subprocess.run(['echo', 'b'], capture_output=True, text=True).stdout.strip())",
        ),
        (
            "/usr/bin/node",
            "new Promise(r => setTimeout(r, 1)).then(() => { console.log('a'); console.log(require('child_process').execSync('echo b').toString().trim()) })",
        ),
        ("/usr/bin/perl", "print \"a\\n\"; print `echo b`"),
    ];
    for (program, code) in
        hello.into_iter().filter(|(program, _)| std::path::Path::new(program).exists())
    {
        let flag = if program.ends_with("python3") { "-c" } else { "-e" };
        let confined = ConfinedProgram {
            program: program.into(),
            args: vec![flag.into(), code.into()],
            ..script(&folder, "")
        };
        assert_eq!(said(confined).await, "a\nb\n", "{program}");
    }
}
