//! Shape of `DRIVER.md`: the fields of every kind of driver (AIP-30).

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Names, Number, Object, Set, Text, Word,
};
use crate::shape::documents::tool::{BACKOFFS, KINDS};
use crate::shape::documents::{cli, haft, http, mcp, sdk};
use crate::shape::form::{
    CURRENCY, DRIVER_ID, DURATION, ENVIRONMENT_NAME, FILLED, RANGE, SHORT_TAG, URL, VERSION,
    VERSION_PATTERN,
};
use crate::shape::{Shape, optional, required};

/// The fields of every driver; each kind adds its own.
pub static DRIVER: Shape = Shape {
    title: "DRIVER.md",
    strangers: Kept,
    fields: &[
        required("name", "D001", Text(1, 80), "The driver's name for people, 1 to 80 characters."),
        required("id", "D002", Formed(&DRIVER_ID), "The driver's id."),
        required(
            "description",
            "D003",
            Text(1, 2000),
            "What backend this is, at most 2000 characters.",
        ),
        required("version", "D004", Formed(&VERSION), "The driver's semantic version."),
        required("kind", "D005", Word(KINDS), "How the backend is reached."),
        required(
            "implements",
            "D006",
            List(1, &Map(&ENTRY)),
            "The contracts it serves, at least one.",
        ),
        optional(
            "install",
            "D007",
            List(0, &Map(&cli::INSTALL)),
            "Ways to install the backend, tried in order.",
        ),
        optional(
            "version_check",
            "D008",
            Map(&VERSION_CHECK),
            "How to learn the backend's version.",
        ),
        optional("auth", "D009", Map(&AUTH), "How to log in, and how to see that a login ran out."),
        optional(
            "runner",
            "D010",
            Either(&[Formed(&FILLED), Object]),
            "Where the body runs (AIP-17).",
        ),
        optional("network", "D011", Map(&NETWORK), "Hosts the driver may reach; none when absent."),
        optional("region", "D012", List(0, &Formed(&FILLED)), "Regions the backend serves.")
            .or("[\"global\"]"),
        optional(
            "policy_tags",
            "D013",
            Set(&Formed(&SHORT_TAG)),
            "Tags that workspaces allow or forbid.",
        ),
        optional("cost_override", "D014", Map(&COST), "What a call costs here."),
        optional(
            "timeout_override_ms",
            "D015",
            Integer(100, i64::MAX),
            "A shorter deadline than the contract's.",
        ),
        optional("retry_override", "D016", Map(&RETRY), "Attempts at this backend."),
        optional("health_check", "D017", Map(&HEALTH), "How to see whether the backend works."),
        optional("requires", "D018", Map(&MACHINE), "What machine it needs."),
        optional("examples", "D019", List(0, &Map(&EXAMPLE)), "What people do with it."),
        optional("tags", "D020", Set(&Formed(&SHORT_TAG)), "Words to find the driver by."),
        optional("metadata", "D021", Object, "Hints for hosts."),
        optional("code", "D022", Any, "The driver's code (AIP-26)."),
        optional("run", "D023", Any, "How its code is started (AIP-26)."),
        optional("spec", "D024", Formed(&FILLED), "`agentdriver/v1`, which some examples write."),
        optional("sandbox", "D025", Object, "What the sandbox opens for it."),
        optional("inputsFiles", "D026", Object, "Files to stage before a run (AIP-16)."),
        optional("outputsFiles", "D027", Object, "Files to take back after a run (AIP-16)."),
    ],
    moved: &[],
};

/// One contract that a driver serves.
static ENTRY: Shape = Shape {
    title: "an `implements` entry",
    strangers: Refused(""),
    fields: &[
        required("tool", "", Formed(&FILLED), "The contract: its id, or the path of its TOOL.md."),
        required(
            "version",
            "",
            Formed(&RANGE),
            "The contract versions it serves, as an npm range.",
        ),
        optional(
            "schema_narrowing",
            "D040",
            Map(&NARROWING),
            "Optional inputs and outputs the backend lacks.",
        ),
        optional(
            "mapping",
            "D041",
            Names(None, &Either(&[Formed(&FILLED), Map(&MAPPED)])),
            "The backend's names for the contract's inputs.",
        ),
        optional("cost_override", "", Map(&COST), "What a call of this tool costs here."),
        optional(
            "timeout_override_ms",
            "",
            Integer(100, i64::MAX),
            "A shorter deadline for this tool.",
        ),
        optional("retry_override", "", Map(&RETRY), "Attempts for this tool."),
        optional(
            "metadata",
            "D042",
            Map(&ENTRY_METADATA),
            "How this kind of driver carries the tool out.",
        ),
    ],
    moved: &[],
};

static ENTRY_METADATA: Shape = Shape {
    title: "`metadata` of an `implements` entry",
    strangers: Kept,
    fields: &[
        optional("haft", "", Map(&haft::ENTRY), "What Haft reads beyond AIP-30."),
        optional("http", "", Map(&http::ENTRY), "The request."),
        optional("mcp", "", Map(&mcp::ENTRY), "The MCP tool."),
        optional("sdk", "", Map(&sdk::ENTRY), "The function."),
        optional("cli", "", Map(&cli::ENTRY), "The command line."),
    ],
    moved: &[],
};

static NARROWING: Shape = Shape {
    title: "`schema_narrowing`",
    strangers: Refused(""),
    fields: &[
        optional(
            "drop_inputs",
            "",
            List(0, &Formed(&FILLED)),
            "Optional inputs the backend does not take.",
        ),
        optional(
            "drop_outputs",
            "",
            List(0, &Formed(&FILLED)),
            "Optional outputs it does not give.",
        ),
    ],
    moved: &[],
};

static MAPPED: Shape = Shape {
    title: "a mapping",
    strangers: Refused(""),
    fields: &[
        required("from", "", Formed(&FILLED), "The other name."),
        optional("transform", "", Formed(&FILLED), "A transformer that the driver's code exports."),
    ],
    moved: &[],
};

/// `version_check` of a driver or a bundle.
pub static VERSION_CHECK: Shape = Shape {
    title: "`version_check`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that prints the version."),
        required(
            "parse",
            "",
            Formed(&VERSION_PATTERN),
            "A pattern whose first group is the version.",
        ),
        required("range", "", Formed(&RANGE), "The versions that will do, as an npm range."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long the command may take.")
            .or("5000"),
    ],
    moved: &[],
};

static AUTH: Shape = Shape {
    title: "`auth`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A SECRETS.md, or an AUTH.md that logs in."),
        optional("state", "", Map(&AUTH_STATE), "Where a login is kept."),
        optional("login", "", Map(&LOGIN), "How to log in."),
        optional("refresh", "", Map(&REFRESH), "How to renew a login."),
        optional("expiry", "", Map(&EXPIRY), "How to see that a login ran out."),
    ],
    moved: &[],
};

/// `auth.state` of a driver or a bundle.
pub static AUTH_STATE: Shape = Shape {
    title: "`auth.state`",
    strangers: Refused(""),
    fields: &[
        optional("paths", "", List(0, &Formed(&FILLED)), "Files that hold the login."),
        optional(
            "env",
            "",
            List(0, &Formed(&ENVIRONMENT_NAME)),
            "Environment variables that hold it.",
        ),
    ],
    moved: &[],
};

static LOGIN: Shape = Shape {
    title: "`auth.login`",
    strangers: Refused(""),
    fields: &[
        optional("cmd", "", Text(0, usize::MAX), "The command that logs in."),
        optional("url", "", Formed(&URL), "The page that logs in."),
        optional("interactive", "", Flag, "Whether a person is needed."),
        optional("requires_callback_url", "", Flag, "Whether the page calls back."),
        optional("completes_when", "", Map(&COMPLETES), "How to see that it worked."),
    ],
    moved: &[],
};

static COMPLETES: Shape = Shape {
    title: "`completes_when`",
    strangers: Refused(""),
    fields: &[
        optional("cmd", "", Formed(&FILLED), "A command to run."),
        optional("exit_code", "", Integer(0, 255), "What it must exit with."),
        optional("http", "", Map(&HTTP_PROBE), "A request to send."),
    ],
    moved: &[],
};

static HTTP_PROBE: Shape = Shape {
    title: "`http`",
    strangers: Refused(""),
    fields: &[
        optional("method", "", Word(&["GET", "POST", "HEAD"]), "How to ask."),
        required("url", "", Formed(&URL), "Where."),
        optional("expect_status", "", Integer(100, 599), "What it must answer."),
    ],
    moved: &[],
};

static REFRESH: Shape = Shape {
    title: "`auth.refresh`",
    strangers: Refused(""),
    fields: &[
        optional(
            "cmd",
            "",
            Text(0, usize::MAX),
            "The command that renews; empty means the driver's code does.",
        ),
        optional("url", "", Formed(&URL), "The address that renews."),
        optional("every", "", Formed(&DURATION), "How often."),
    ],
    moved: &[],
};

static EXPIRY: Shape = Shape {
    title: "`auth.expiry`",
    strangers: Refused(""),
    fields: &[required(
        "detect",
        "",
        Formed(&FILLED),
        "`exit_code:N`, `http_status:N`, `exception:Name` or `header:NAME:VALUE`.",
    )],
    moved: &[],
};

/// `network` of a driver or a bundle's sandbox.
pub static NETWORK: Shape = Shape {
    title: "`network`",
    strangers: Refused(""),
    fields: &[
        optional("egress", "", List(0, &Formed(&FILLED)), "`host`, `host:port` or `*.host`."),
        optional("ingress", "", List(0, &Formed(&FILLED)), "What may reach in."),
    ],
    moved: &[],
};

static COST: Shape = Shape {
    title: "`cost_override`",
    strangers: Refused(""),
    fields: &[
        optional("cost_class", "", Word(&["trivial", "metered", "expensive"]), "The cost in kind."),
        optional(
            "cost_units_per_call",
            "",
            Number(0.0),
            "Units of one call, to compare drivers by.",
        ),
        optional("currency", "", Formed(&CURRENCY), "What the units are in."),
    ],
    moved: &[],
};

static RETRY: Shape = Shape {
    title: "`retry_override`",
    strangers: Refused(""),
    fields: &[
        required("max_attempts", "", Integer(1, 10), "Attempts in all, 1 to 10."),
        optional("backoff", "", Word(BACKOFFS), "How the wait between attempts grows."),
        optional("initial_ms", "", Integer(0, i64::MAX), "The first wait, in milliseconds."),
    ],
    moved: &[],
};

static HEALTH: Shape = Shape {
    title: "`health_check`",
    strangers: Refused(""),
    fields: &[
        required("method", "", Word(&["ping", "exec", "http", "noop"]), "How to look."),
        optional("cmd", "", Formed(&FILLED), "The command to run."),
        optional("http", "", Map(&HTTP_PROBE), "The request to send."),
        optional("expect_exit", "", Integer(0, 255), "What the command must exit with."),
        optional("every", "", Formed(&DURATION), "How long an answer holds."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long it may take.").or("5000"),
    ],
    moved: &[],
};

/// Requirements on the machine of a driver or a bundle.
pub static MACHINE: Shape = Shape {
    title: "`requires`",
    strangers: Refused(""),
    fields: &[
        optional("os", "", List(0, &Word(&["darwin", "linux", "windows"])), "Operating systems."),
        optional("arch", "", List(0, &Word(&["x64", "arm64", "x86", "arm"])), "Processors."),
        optional("min_disk_mb", "", Integer(0, i64::MAX), "Free disk."),
        optional("min_memory_mb", "", Integer(0, i64::MAX), "Memory."),
    ],
    moved: &[],
};

static EXAMPLE: Shape = Shape {
    title: "an example",
    strangers: Kept,
    fields: &[
        required("goal", "", Formed(&FILLED), "What the user wants."),
        optional("note", "", Text(0, usize::MAX), "For the reader."),
        optional("cmd", "", Formed(&FILLED), "How they get it."),
    ],
    moved: &[],
};
