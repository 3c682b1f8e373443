//! Tests of command matching under many spellings.

use haft_testkit::SeededRandom;

use super::*;

/// Location of programs in these tests.
fn real(program: &str) -> ProgramFile {
    let path = match program {
        "rm" | "/bin/rm" | "/usr/bin/../bin/rm" | "./harmless" => "/usr/bin/rm",
        "./wrapped" => "/usr/bin/env",
        "./git" | "./ls" => "/usr/bin/prlimit",
        "./in" => "/dev/stdin",
        "./gone" => return ProgramFile::Missing,
        _ => return ProgramFile::Unknown,
    };
    ProgramFile::At(path.to_owned())
}

fn line(text: &str) -> CommandLine {
    CommandLine::text(text, &real)
}

#[test]
fn every_spelling_of_a_denied_command_is_held() {
    for text in [
        "rm x",
        "rm",
        "bash -ec /bin/rm x",
        "/bin/rm x",
        "/usr/bin/../bin/rm x",
        "./harmless x",
        "./wrapped rm x",
        r"\rm x",
        r#""rm" x"#,
        "r'm' x",
        "rm\tx",
        "rm  x",
        " rm x",
        "env rm x",
        "env -i -u A B=1 rm x",
        "env -S 'rm x'",
        "env --split-string='rm x'",
        "sh -c 'rm x'",
        "bash -lc 'ls; rm x'",
        "bash -ec 'rm x'",
        "/bin/sh",
        "sh /dev/stdin",
        "bash -s",
        "bash --rcfile x -c y",
        "busybox rm x",
        "busybox sh -c 'rm x'",
        "command rm x",
        "command -p rm x",
        "exec -a ls rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "nohup rm x",
        "timeout 5 rm x",
        "timeout -k 1 --signal=9 5 rm x",
        "sudo -u root rm x",
        "sudo -s",
        "setsid -w rm x",
        "stdbuf -o0 rm x",
        "time rm x",
        "xargs rm",
        "xargs -0 rm -f",
        "xargs -I X X y",
        "xargs sh -c 'rm x'",
        "find . -name a -exec rm '{}' '+'",
        "find . -exec '{}' '+'",
        "nice timeout 5 env A=1 busybox rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "ls\nrm x",
        "ls; rm x",
        "$(echo rm) x",
        "X=1 rm x",
        "eval rm x",
        "python3.12 -c 'import os'",
        "python -W ignore -c 'import os'",
        "python",
        "python - x",
        "perl -ne print x",
        "node --eval=1",
        "awk 'BEGIN{}'",
        "git -c alias.x='!rm x' x",
        "git -c core.pager=rm log",
        "git rebase -x 'rm x' main",
        "git fetch --upload-pack=rm x",
        "git --exec-path=x log",
        "ssh host rm x",
        "if rm",
        // Launchers that no table follows, with the program at any position.
        "flock /tmp/l -c 'rm x'",
        "prlimit --core=0 rm x",
        "prlimit --core=0 ./harmless x",
        "split --filter='rm x'",
        "split --filter 'true; rm x'",
        "split --filter='r\"m\" x'",
        "setarch i686 rm x",
        "csh -c 'rm x'",
        "R -e 'system(1)'",
        "socat - EXEC:rm,pty",
        "unknown -xrm",
        "unknown --hook=exec=/bin/rm",
        "unknown '/proc/self/cwd/x'",
        "sh script.sh rm x",
        "./git rm x",
        "./ls rm",
        "timeout rm ls",
        "env -C /dev sh stdin",
        "chroot . ./x",
        "sh //dev/stdin",
        "sh /dev/./stdin",
        "sh ./in",
        "sh ./gone",
        "python //proc/self/fd/0",
        "/proc/self/cwd/x",
    ] {
        assert!(line(text).is_held(&CommandPattern::new("rm *")), "{text:?}");
        assert!(line(text).is_held(&CommandPattern::new("/bin/rm *")), "{text:?} by a path");
        assert!(!line(text).is_let_go(&CommandPattern::new("ls *")), "{text:?}");
    }
}

#[test]
fn another_command_is_not_held() {
    for text in [
        "firm x",
        "ls rm",
        "timeout 5 ls rm",
        "env A=1 grep rm x",
        "sh -c 'git rm x'",
        "unknown --form x",
        "git rm x",
        "git log --format=%h",
        "git --no-pager -c safe.directory=x -c user.name=Ana log -c",
        "sh script.sh x",
        "bash -ex script.sh",
        "sh -c 'git log'",
        "python script.py -c x",
        "python3 --version",
        "env git log",
        "env",
        "xargs grep x",
        "find . -name x",
        "find . -exec grep x '{}' '+'",
        "tar -czf a.tgz b",
        r#"git commit -m "rm it; all""#,
    ] {
        assert!(!line(text).is_held(&CommandPattern::new("rm *")), "{text:?}");
    }
}

#[test]
fn allow_pattern_covers_only_the_named_command() {
    for (pattern, text, expected) in [
        ("git *", "git status", true),
        ("git *", "git   status", true),
        ("git *", "./git status", false),
        ("git *", "env git status", false),
        ("env *", "env git status", true),
        ("env *", "env sh -c 'a;b'", false),
        ("*", "sh -c 'a;b'", false),
        ("./harmless *", "./harmless x", false),
        ("xargs *", "xargs rm", true),
    ] {
        assert_eq!(
            line(text).is_let_go(&CommandPattern::new(pattern)),
            expected,
            "{pattern} on {text}"
        );
    }
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let smuggled = CommandLine::of(&words(&["git log x"]), &real);
    assert!(!smuggled.is_let_go(&CommandPattern::new("git log *")));
}

#[test]
fn launchers_of_launchers_end() {
    let argv: Vec<String> = std::iter::repeat_n("env".to_owned(), 10_000).collect();
    let line = CommandLine::of(&argv, &|_| ProgramFile::Unknown);
    assert!(line.is_opaque());
    assert!(line.programs.len() <= DEEPEST);
}

#[test]
fn suffix_of_any_arguments_is_held() {
    for seed in 0..500_u64 {
        let mut random = SeededRandom::new(seed);
        let mut argv = vec![random.choose(&["prlimit", "./x", "unknown"]).to_owned()];
        for _ in 0..random.below(6) {
            argv.push(random.choose(&["-a", "--b=c", "d", "--", "-e5", "f g", ""]).to_owned());
        }
        let command = random.choose(&["rm", "/bin/rm", "./harmless"]);
        match random.below(5) {
            0 => argv.extend([command.to_owned(), "x".to_owned()]),
            1 => argv.push(format!("{command} x")),
            2 => argv.push(format!("--run={command} x")),
            3 => argv.push(format!("true; '{command}' x")),
            _ => argv.push(format!("-c{command}")),
        }
        for _ in 0..random.below(3) {
            argv.push("y".to_owned());
        }
        assert!(
            CommandLine::of(&argv, &real).is_held(&CommandPattern::new("rm *")),
            "seed {seed}: {argv:?}"
        );
    }
}

#[test]
fn huge_arguments_are_judged_in_bounded_time() {
    let began = std::time::Instant::now();
    for text in ["rm ".repeat(30_000), "a;".repeat(30_000), "=".repeat(200_000)] {
        let argv = ["unknown".to_owned(), text.clone(), text];
        CommandLine::of(&argv, &real).is_held(&CommandPattern::new("rm -r *"));
    }
    let many: Vec<String> = (0..20_000).map(|word| format!("w{word}")).collect();
    assert!(
        CommandLine::of(&many, &real).is_held(&CommandPattern::new("rm *")),
        "too many to look up"
    );
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
