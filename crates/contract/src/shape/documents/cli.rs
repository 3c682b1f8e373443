//! Shapes of `CLI.md` bundles and `kind: cli` (AIP-29).

mod setup;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{
    Either, Flag, Formed, Integer, Kinds, List, Map, Names, Object, Set, Text, Word,
};
use crate::shape::documents::driver::{AUTH_STATE, MACHINE, NETWORK, VERSION_CHECK};
use crate::shape::form::{self, CLI_ID, FILLED, SHORT_TAG, TEMPLATE, TextFormat, URL, VERSION};
use crate::shape::{Shape, optional, required};
use haft_notation::Pattern;
use setup::STEPS;

/// A program's name or path: one token.
static BIN: TextFormat = TextFormat {
    what: "the name of a program",
    pattern: Some(Pattern::new(r"^[A-Za-z0-9._\-/]+$")),
    length: (1, usize::MAX),
    also: |_| None,
    help: "write one word without spaces; arguments go into `bin_args`",
};

static SHA256: TextFormat = TextFormat {
    what: "a SHA-256",
    pattern: Some(Pattern::new(r"^[0-9a-f]{64}$")),
    length: (64, 64),
    also: |_| None,
    help: "write 64 lowercase hexadecimal digits",
};

static EXIT_CODE: TextFormat = TextFormat {
    what: "an exit code",
    pattern: Some(Pattern::new(r"^\d+$")),
    length: (1, 10),
    also: |_| None,
    help: "write a number",
};

static MEANING: TextFormat = TextFormat {
    what: "a meaning",
    pattern: Some(Pattern::new(r"^[a-z][a-z0-9_]+$")),
    length: (2, usize::MAX),
    also: |_| None,
    help: "use lowercase letters, digits and underscores, as in `auth_required`",
};

static EXPIRY_SIGN: TextFormat = TextFormat {
    what: "a sign of expiry",
    pattern: Some(Pattern::new(r"^exit_code:\d+$")),
    length: (1, usize::MAX),
    also: |_| None,
    help: "write `exit_code:N`",
};

/// A whole bundle.
pub static CLI: Shape = Shape {
    title: "CLI.md",
    strangers: Refused("C030"),
    fields: &[
        required("name", "C001", Text(1, 80), "The bundle's name for people."),
        required("id", "C002", Formed(&CLI_ID), "The bundle's id, without dots."),
        required("description", "C003", Text(1, 2000), "What the program is."),
        required("version", "C004", Formed(&VERSION), "The bundle's semantic version."),
        required("bin", "C005", Formed(&BIN), "The program."),
        optional("bin_args", "C006", List(0, &Text(0, usize::MAX)), "Arguments before all others."),
        required("install", "C007", List(1, &Map(&INSTALL)), "Ways to install it, tried in order."),
        required("version_check", "C008", Map(&VERSION_CHECK), "How to learn its version."),
        optional("auth", "C009", Map(&AUTH), "How to log in."),
        optional(
            "setup",
            "C010",
            List(0, &Kinds("kind", STEPS)),
            "What to do once after installing.",
        ),
        required("sandbox", "C011", Map(&SANDBOX), "What it may touch."),
        optional("output", "C012", Map(&OUTPUT), "How its output is read."),
        required(
            "commands",
            "C013",
            Names(None, &Either(&[Formed(&FILLED), Object])),
            "Subcommands, down to the TOOL.md each serves.",
        ),
        optional("actions", "C014", List(0, &Map(&ACTION)), "Actions it offers."),
        optional("intents", "C014", List(0, &Map(&ACTION)), "The prose's name for `actions`."),
        optional("requires", "C015", Map(&MACHINE), "What machine it needs."),
        optional("examples", "C016", List(0, &Map(&EXAMPLE)), "What people do with it."),
        optional("tags", "C017", Set(&Formed(&SHORT_TAG)), "Words to find it by."),
        optional(
            "metadata",
            "C018",
            Object,
            "Hints for hosts; `metadata.cli` has the command lines.",
        ),
        optional("runner", "C019", Either(&[Formed(&FILLED), Object]), "Where it runs."),
        optional("driver_kind", "C020", Word(&["cli"]), "`cli`, which AIP-30 asks for."),
    ],
    moved: &[discouraged("shell"), discouraged("env"), discouraged("cwd")],
};

const fn discouraged(name: &'static str) -> crate::shape::MovedField {
    crate::shape::MovedField {
        name,
        code: "C031",
        help: "no shell runs it; environment and folders are opened under `sandbox`",
    }
}

/// What a DRIVER.md of kind cli adds: the bundle's fields, without those that `implements` replaces.
pub static KIND: Shape = Shape {
    title: "DRIVER.md of kind cli",
    strangers: Kept,
    fields: &[
        required("bin", "C005", Formed(&BIN), "The program."),
        optional("bin_args", "C006", List(0, &Text(0, usize::MAX)), "Arguments before all others."),
        optional(
            "setup",
            "C010",
            List(0, &Kinds("kind", STEPS)),
            "What to do once after installing.",
        ),
        optional("sandbox", "C011", Map(&KIND_SANDBOX), "What it may touch."),
        optional("output", "C012", Map(&OUTPUT), "How its output is read."),
        optional(
            "commands",
            "C013",
            Names(None, &Either(&[Formed(&FILLED), Object])),
            "Subcommands.",
        ),
    ],
    moved: &[],
};

/// `install` of a driver or a bundle: unknown methods are skipped with a warning, so any is read.
pub static INSTALL: Shape = Shape {
    title: "an `install` entry",
    strangers: Refused(""),
    fields: &[
        required(
            "method",
            "",
            Formed(&FILLED),
            "brew, apt, dnf, pacman, choco, scoop, npm, pip, cargo, go, curl, download or vendored.",
        ),
        optional("package", "", Formed(&FILLED), "The package."),
        optional("global", "", Flag, "npm: install for everybody."),
        optional("user", "", Flag, "pip: install for this user."),
        optional("url", "", Formed(&URL), "curl and download: where from."),
        optional("verify_sha256", "", Formed(&SHA256), "curl and download: what it must hash to."),
        optional("extract_bin", "", Formed(&FILLED), "download: the program inside."),
        optional("path", "", Formed(&form::INSIDE), "vendored: the program in this workspace."),
        optional("experimental", "", Flag, "Skipped with a warning."),
    ],
    moved: &[],
};

static AUTH: Shape = Shape {
    title: "`auth`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A SECRETS.md."),
        optional("state", "", Map(&AUTH_STATE), "Where a login is kept."),
        optional("login", "", Map(&LOGIN), "How to log in."),
        optional("refresh", "", Map(&REFRESH), "How to renew a login."),
        optional("expiry", "", Map(&EXPIRY), "How to see that a login ran out."),
    ],
    moved: &[],
};

static LOGIN: Shape = Shape {
    title: "`auth.login`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that logs in."),
        optional("interactive", "", Flag, "Whether a person is needed."),
        optional("requires_callback_url", "", Flag, "Whether a page calls back."),
        optional("completes_when", "", Map(&COMPLETES), "How to see that it worked."),
    ],
    moved: &[],
};

static COMPLETES: Shape = Shape {
    title: "`completes_when`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "A command to run."),
        optional("exit_code", "", Integer(0, 255), "What it must exit with."),
    ],
    moved: &[],
};

static REFRESH: Shape = Shape {
    title: "`auth.refresh`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Text(0, usize::MAX), "The command that renews."),
        optional("every", "", Formed(&form::DURATION), "How often."),
    ],
    moved: &[],
};

static EXPIRY: Shape = Shape {
    title: "`auth.expiry`",
    strangers: Refused(""),
    fields: &[required("detect", "", Formed(&EXPIRY_SIGN), "`exit_code:N`.")],
    moved: &[],
};

static SANDBOX: Shape = Shape {
    title: "`sandbox`",
    strangers: Refused(""),
    fields: &[
        required("network", "", Map(&NETWORK), "Hosts it may reach."),
        required("fs", "", Map(&FILES), "Files it may touch."),
        required("exec", "", Map(&EXEC), "Programs it may start."),
        required("env", "", Map(&ENVIRONMENT), "Environment variables it sees."),
        optional("tty", "", Map(&TTY), "Whether it needs a terminal."),
    ],
    moved: &[],
};

static KIND_SANDBOX: Shape = Shape {
    title: "`sandbox`",
    strangers: Refused(""),
    fields: &[
        optional("network", "", Map(&NETWORK), "Hosts it may reach."),
        optional("fs", "", Map(&FILES), "Files it may touch."),
        optional("exec", "", Map(&EXEC), "Programs it may start."),
        optional("env", "", Map(&ENVIRONMENT), "Environment variables it sees."),
        optional("tty", "", Map(&TTY), "Whether it needs a terminal."),
    ],
    moved: &[],
};

static FILES: Shape = Shape {
    title: "`sandbox.fs`",
    strangers: Refused(""),
    fields: &[
        optional("read", "", List(0, &Formed(&FILLED)), "What it may read."),
        optional("write", "", List(0, &Formed(&FILLED)), "What it may write."),
        optional("deny", "", List(0, &Formed(&FILLED)), "What it may not touch in any case."),
    ],
    moved: &[],
};

static EXEC: Shape = Shape {
    title: "`sandbox.exec`",
    strangers: Refused(""),
    fields: &[
        required("allow", "", Flag, "Whether it may start others."),
        optional("spawn", "", List(0, &Formed(&FILLED)), "Which ones."),
    ],
    moved: &[],
};

static ENVIRONMENT: Shape = Shape {
    title: "`sandbox.env`",
    strangers: Refused(""),
    fields: &[
        optional("pass", "", List(0, &Formed(&FILLED)), "Variables passed on."),
        optional("set", "", Names(None, &Text(0, usize::MAX)), "Variables set."),
    ],
    moved: &[],
};

static TTY: Shape = Shape {
    title: "`sandbox.tty`",
    strangers: Refused(""),
    fields: &[optional("required", "", Flag, "Whether it needs a terminal.")],
    moved: &[],
};

static OUTPUT: Shape = Shape {
    title: "`output`",
    strangers: Refused(""),
    fields: &[
        optional("default_format", "", Word(FORMATS), "What it prints."),
        optional("json_flag", "", Formed(&FILLED), "The flag that makes it print JSON."),
        optional("json_flag_args", "", List(0, &Text(0, usize::MAX)), "What follows that flag."),
        optional(
            "exit_codes",
            "",
            Names(Some(&EXIT_CODE), &Formed(&MEANING)),
            "What its exit codes mean.",
        ),
        optional("stream", "", Word(STREAMS), "Where its output is."),
        optional("error_stream", "", Word(STREAMS), "Where its errors are."),
    ],
    moved: &[],
};

const FORMATS: &[&str] = &["text", "json", "yaml", "binary"];
const STREAMS: &[&str] = &["stdout", "stderr", "mixed"];

static ACTION: Shape = Shape {
    title: "an action",
    strangers: Refused(""),
    fields: &[required("ref", "", Formed(&FILLED), "Which one.")],
    moved: &[],
};

static EXAMPLE: Shape = Shape {
    title: "an example",
    strangers: Refused(""),
    fields: &[
        required("goal", "", Formed(&FILLED), "What the user wants."),
        required("cmd", "", Formed(&FILLED), "How they get it."),
        optional("note", "", Text(0, usize::MAX), "For the reader."),
    ],
    moved: &[],
};

/// `metadata.cli` of an `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.cli`",
    strangers: Refused("C050"),
    fields: &[
        optional(
            "argv",
            "C040",
            List(0, &Formed(&TEMPLATE)),
            "The arguments, one template each; no shell reads them.",
        ),
        optional("stdin", "C041", Formed(&TEMPLATE), "What is written to its standard input."),
        optional("output_format", "C042", Word(FORMATS), "What this command prints."),
        optional("streaming", "C043", Flag, "Whether its output is progress."),
    ],
    moved: &[],
};
