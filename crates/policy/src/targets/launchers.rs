//! Launcher table: programs that start other programs, and how their arguments name them.

/// How a program starts others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nature {
    /// Runs the program that its arguments name.
    Launcher(Launcher),
    /// Interprets program text, in a language that rules do not parse; the options introduce such
    /// text.
    Interpreter(&'static [&'static str]),
    /// Reads command lines.
    Shell,
    /// Runs what follows `-exec`.
    Finder,
    /// Runs what its settings name, and arguments may be settings.
    Git,
    /// Its arguments do not show what it runs.
    Opaque,
    /// Runs others only with one of these options.
    OpaqueWith(&'static [&'static str]),
}

/// Argument syntax of a launcher before the inner program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launcher {
    /// Options without a value.
    pub(super) flags: &'static [&'static str],
    /// Options whose value is the next word.
    pub(super) valued: &'static [&'static str],
    /// Number of its own operands before the program.
    pub(super) operands: usize,
    /// Variable assignments may precede the program.
    pub(super) variables: bool,
    /// It appends arguments of its own at run time.
    pub(super) adds: bool,
}

const PLAIN: Launcher =
    Launcher { flags: &[], valued: &[], operands: 0, variables: false, adds: false };

/// Launchers by name. An unlisted option makes the rest opaque; options that change the working
/// folder are unlisted, because a relative path is another file there.
const LAUNCHERS: &[(&str, Launcher)] = &[
    (
        "env",
        Launcher {
            flags: &["-", "-i", "-0", "-v", "--ignore-environment", "--null", "--debug"],
            valued: &["-u", "--unset"],
            variables: true,
            ..PLAIN
        },
    ),
    ("command", Launcher { flags: &["-p", "-v", "-V"], ..PLAIN }),
    ("builtin", PLAIN),
    ("exec", Launcher { flags: &["-c", "-l", "-cl"], valued: &["-a"], ..PLAIN }),
    ("nice", Launcher { valued: &["-n", "--adjustment"], ..PLAIN }),
    ("nohup", PLAIN),
    ("setsid", Launcher { flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], ..PLAIN }),
    ("stdbuf", Launcher { valued: &["-i", "-o", "-e", "--input", "--output", "--error"], ..PLAIN }),
    (
        "time",
        Launcher {
            flags: &["-p", "-v", "-a", "-q", "--portability", "--verbose", "--append", "--quiet"],
            valued: &["-f", "-o", "--format", "--output"],
            ..PLAIN
        },
    ),
    (
        "timeout",
        Launcher {
            flags: &["-v", "-p", "-f", "--verbose", "--preserve-status", "--foreground"],
            valued: &["-k", "-s", "--kill-after", "--signal"],
            operands: 1,
            ..PLAIN
        },
    ),
    (
        "sudo",
        Launcher {
            flags: &["-A", "-b", "-B", "-E", "-H", "-k", "-n", "-N", "-P", "-S"],
            valued: &["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U"],
            variables: true,
            ..PLAIN
        },
    ),
    ("doas", Launcher { flags: &["-n", "-L"], valued: &["-u", "-C"], ..PLAIN }),
    ("busybox", PLAIN),
    ("toybox", PLAIN),
    (
        "xargs",
        Launcher {
            flags: &[
                "-0",
                "-o",
                "-p",
                "-r",
                "-t",
                "-x",
                "--null",
                "--no-run-if-empty",
                "--verbose",
                "--exit",
                "--interactive",
                "--open-tty",
            ],
            valued: &[
                "-a",
                "-d",
                "-E",
                "-L",
                "-n",
                "-P",
                "-s",
                "--arg-file",
                "--delimiter",
                "--max-args",
                "--max-lines",
                "--max-procs",
                "--max-chars",
            ],
            adds: true,
            ..PLAIN
        },
    ),
    ("ionice", Launcher { flags: &["-t"], valued: &["-c", "-n"], ..PLAIN }),
    ("chrt", Launcher { flags: &["-b", "-f", "-i", "-o", "-r"], operands: 1, ..PLAIN }),
    ("taskset", Launcher { flags: &["-c"], operands: 1, ..PLAIN }),
    (
        "flock",
        Launcher { flags: &["-n", "-s", "-x", "-e"], valued: &["-w", "-E"], operands: 1, ..PLAIN },
    ),
    (
        "unshare",
        Launcher { flags: &["-f", "-m", "-n", "-p", "-r", "-u", "-i", "-U", "-C"], ..PLAIN },
    ),
    (
        "strace",
        Launcher { flags: &["-f", "-ff", "-q", "-c"], valued: &["-o", "-e", "-s"], ..PLAIN },
    ),
    ("ltrace", Launcher { flags: &["-f", "-c"], valued: &["-o", "-e", "-s"], ..PLAIN }),
    ("fakeroot", PLAIN),
    ("unbuffer", PLAIN),
    ("eatmydata", PLAIN),
    ("rlwrap", PLAIN),
    ("setarch", PLAIN),
    ("linux", PLAIN),
];

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "rbash", "csh", "tcsh", "yash"];

/// Interpreters, and the options that introduce program text.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c", "-m"]),
    ("pypy", &["-c", "-m"]),
    ("perl", &["-e", "-E", "-x"]),
    ("ruby", &["-e", "-x"]),
    ("node", &["-e", "-p", "-r", "-i", "--eval", "--print", "--require", "--import", "--loader"]),
    ("nodejs", &["-e", "-p", "-r", "-i", "--eval", "--print", "--require", "--import", "--loader"]),
    ("deno", &["-e", "-p", "eval", "repl"]),
    ("bun", &["-e", "-p", "--eval", "--print"]),
    ("php", &["-r", "-B", "-R", "-E"]),
    ("lua", &["-e", "-l", "-i"]),
    ("luajit", &["-e", "-l", "-i", "-b"]),
    ("tclsh", &[]),
    ("expect", &["-c"]),
    ("rscript", &["-e"]),
    ("r", &["-e"]),
    ("julia", &["-e", "-E", "--eval"]),
    ("guile", &["-c", "-e"]),
    ("osascript", &["-e"]),
];

/// Programs whose arguments are program text, and shell keywords.
const OPAQUE: &[&str] = &[
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "ed",
    "ex",
    "gdb",
    "lldb",
    "sqlite",
    "su",
    "runuser",
    "watch",
    "script",
    "parallel",
    "entr",
    "ssh",
    "systemd-run",
    "at",
    "batch",
    "crontab",
    "chroot",
    "nsenter",
    "bwrap",
    "firejail",
    "pwsh",
    "powershell",
    "cmd",
    "npx",
    "uvx",
    "bunx",
    "eval",
    "source",
    ".",
    "trap",
    "fc",
    "coproc",
    "if",
    "while",
    "until",
    "for",
    "case",
    "select",
    "function",
    "then",
    "do",
    "else",
    "{",
    "(",
    "!",
    "[[",
];

/// Programs that run others only with certain options.
const OPAQUE_WITH: &[(&str, &[&str])] = &[
    (
        "tar",
        &["--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command"],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("sort", &["--compress-program"]),
    ("make", &["--eval"]),
    ("vim", &["-c", "--cmd", "-S", "-s"]),
    ("vi", &["-c", "--cmd", "-S", "-s"]),
    ("nvim", &["-c", "--cmd", "-S", "-s", "-l"]),
    ("emacs", &["--eval", "--execute", "-f", "-l", "--load", "--script"]),
    ("zip", &["-TT", "--unzip-command"]),
];

/// Settings of git that name no program.
pub(super) const PLAIN_SETTINGS: &[&str] = &[
    "safe.",
    "user.",
    "gc.",
    "color.",
    "advice.",
    "maintenance.",
    "init.",
    "log.",
    "commit.gpgsign",
];

/// Subcommands of git that run what they are given.
pub(super) const RUNNING: &[&str] =
    &["bisect", "submodule", "filter-branch", "difftool", "mergetool", "send-email"];

/// System programs that start nothing that an argument names. INVARIANT: an unlisted program may
/// start anything in its arguments, so the list can only be too short.
const INERT: &[&str] = &[
    "[",
    "base64",
    "basename",
    "cat",
    "chmod",
    "chown",
    "cksum",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expr",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "id",
    "jq",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "nl",
    "od",
    "paste",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sleep",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "uname",
    "uniq",
    "wc",
    "whoami",
];

/// Folders in which a program's name is trusted.
const SYSTEM: [&str; 3] = ["/usr/", "/bin/", "/sbin/"];

/// Returns true if a program starts nothing that its arguments name, by called name and real path.
pub(super) fn is_inert(called: &str, real: Option<&str>) -> bool {
    let listed = |path: &str| INERT.contains(&path.rsplit('/').next().unwrap_or(path));
    listed(called) && real.is_none_or(listed) && is_of_system(called, real)
}

/// Returns true if a program lies in a system folder, so that its name is trusted.
pub(super) fn is_of_system(called: &str, real: Option<&str>) -> bool {
    let of_system = |path: &str| SYSTEM.iter().any(|folder| path.starts_with(folder));
    real.map_or(!called.contains('/'), of_system)
}

/// Nature of a program by name; `None` for any other.
pub(super) fn nature(name: &str) -> Option<Nature> {
    let name = name.to_ascii_lowercase();
    if ["ld-linux", "ld-musl", "ld.so", "ld-2"].iter().any(|loader| name.starts_with(loader)) {
        return Some(Nature::Launcher(PLAIN));
    }
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    // `python3.12` is `python`, and `bash-5.2` is `bash`.
    let plain =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || "-.".contains(letter));
    let plain = if plain.is_empty() { name } else { plain };
    let listed = |names: &[&str]| names.contains(&plain) || names.contains(&name);
    if listed(SHELLS) {
        return Some(Nature::Shell);
    }
    if listed(OPAQUE) {
        return Some(Nature::Opaque);
    }
    if listed(&["find", "gfind"]) {
        return Some(Nature::Finder);
    }
    if name == "git" {
        return Some(Nature::Git);
    }
    let launcher = LAUNCHERS.iter().find(|(known, _)| listed(&[known]));
    let launcher = launcher.map(|(_, launcher)| Nature::Launcher(*launcher));
    let interpreter = || INTERPRETERS.iter().find(|(known, _)| listed(&[known]));
    let optional = || OPAQUE_WITH.iter().find(|(known, _)| listed(&[known]));
    launcher
        .or_else(|| interpreter().map(|(_, options)| Nature::Interpreter(options)))
        .or_else(|| optional().map(|(_, options)| Nature::OpaqueWith(options)))
}
