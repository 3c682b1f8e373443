//! `DRIVER.md` (AIP-30): the shape of the fields of every kind of driver, and their typed values.

mod auth;
mod health;
mod provision;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{
    Any, Either, Formed, Integer, List, Map, Names, Number, Object, Set, Text, Word,
};
use crate::shape::documents::cli::{CliEntry, CliFields, SandboxBlock};
use crate::shape::documents::haft::EntryExtras;
use crate::shape::documents::http::{HttpEntry, HttpFields};
use crate::shape::documents::mcp::{McpEntry, McpFields};
use crate::shape::documents::runner::RunnerField;
use crate::shape::documents::sdk::{SdkEntry, SdkFields};
use crate::shape::documents::tool::{BACKOFFS, KINDS};
use crate::shape::documents::{cli, haft, http, mcp, sdk};
use crate::shape::form::{CURRENCY, DRIVER_ID, FILLED, RANGE, SHORT_TAG, VERSION};
use crate::shape::{Shape, optional, required};

pub use auth::{AUTH_STATE, AuthBlock, AuthState, CompletesWhen, Expiry, LoginBlock, Refresh};
pub use health::{HealthCheck, HealthMethod, HttpProbe};
pub use provision::{INSTALL, InstallEntry, MACHINE, VERSION_CHECK, VersionCheck};

use auth::AUTH;
use health::HEALTH;

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
            List(0, &Map(&INSTALL)),
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
        optional("metadata", "D021", Map(&METADATA), "Hints for hosts."),
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

/// `metadata` of a driver: other hosts may keep theirs beside ours.
static METADATA: Shape = Shape {
    title: "`metadata`",
    strangers: Kept,
    fields: &[optional("haft", "", Map(&EXTRAS), "What Haft reads beyond AIP-30.")],
    moved: &[],
};

static EXTRAS: Shape = Shape {
    title: "`metadata.haft`",
    strangers: Kept,
    fields: &[optional(
        "interpreter",
        "",
        Formed(&FILLED),
        "sdk: the interpreter, if it is not the one on the path.",
    )],
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

/// The typed fields of every driver; those of its kind stand in `kind`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DriverManifest {
    /// The driver's id.
    pub id: String,
    /// Ways to install the backend, in order.
    pub install: Vec<InstallEntry>,
    /// How to learn the version of the backend.
    pub version_check: Option<VersionCheck>,
    /// The login; `None` where the backend needs none.
    pub auth: Option<AuthBlock>,
    /// The process of the backend.
    pub runner: Option<RunnerField>,
    /// The hosts that the driver reaches.
    pub network: NetworkBlock,
    /// How to see whether the backend works.
    pub health_check: Option<HealthCheck>,
    /// What the sandbox opens; the contract alone decides where absent.
    pub sandbox: Option<SandboxBlock>,
    /// Hints for hosts.
    pub metadata: DriverMetadata,
    /// The contracts that it serves.
    pub implements: Vec<DriverEntry>,
    /// Whether it brings code of its own (AIP-26).
    pub code: Option<IgnoredAny>,
    /// How that code is started (AIP-26).
    pub run: Option<IgnoredAny>,
    /// Files to stage before a run (AIP-16).
    #[serde(rename = "inputsFiles")]
    pub inputs_files: Option<IgnoredAny>,
    /// Files to take back after a run (AIP-16).
    #[serde(rename = "outputsFiles")]
    pub outputs_files: Option<IgnoredAny>,
    /// The fields of its kind.
    #[serde(skip)]
    pub kind: KindFields,
}

/// The fields that a kind adds to a driver.
#[derive(Clone, Debug, Default)]
pub enum KindFields {
    /// A builtin has none.
    #[default]
    Builtin,
    /// A program.
    Cli(CliFields),
    /// An HTTP API.
    Http(HttpFields),
    /// An MCP server.
    Mcp(McpFields),
    /// A package.
    Sdk(SdkFields),
}

/// The hosts of a driver: `host`, `host:port` or `*.host`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NetworkBlock {
    /// Egress allowlist.
    pub egress: Vec<String>,
    /// The hosts that may reach in, which this version cannot let in.
    pub ingress: Vec<String>,
}

/// `metadata` of a driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DriverMetadata {
    /// The fields beyond AIP-30.
    pub haft: DriverExtras,
}

/// `metadata.haft` of a driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DriverExtras {
    /// sdk: the interpreter, if it is not the one on the path.
    pub interpreter: Option<String>,
}

/// One contract that a driver serves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DriverEntry {
    /// How the kind carries it out.
    pub metadata: EntryMetadata,
}

/// `metadata` of an entry, by kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EntryMetadata {
    /// The fields beyond the AIPs.
    pub haft: EntryExtras,
    /// The request.
    pub http: Option<HttpEntry>,
    /// The MCP tool.
    pub mcp: Option<McpEntry>,
    /// The function.
    pub sdk: Option<SdkEntry>,
    /// The command line.
    pub cli: Option<CliEntry>,
}
