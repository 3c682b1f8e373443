//! Shape of the `sandbox` block and `SANDBOX.md` (AIP-36): the machine that commands run on.

use haft_notation::NotationFault;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Either, Flag, Formed, Integer, List, Map, Object, Word};
use crate::shape::documents::policy::{ADDRESS, IDENTITIES};
use crate::shape::documents::runner::LIMITS;
use crate::shape::form::{FILLED, TextFormat, VERSION};
use crate::shape::{Shape, optional, required};

/// The providers that AIP-36 names; there is no default to fall back to.
const PROVIDERS: &[&str] =
    &["local", "mastra-e2b", "mastra-modal", "mastra-daytona", "mastra-blaxel", "node-permission"];

static MOUNT_POINT: TextFormat = TextFormat {
    what: "a mount point",
    pattern: None,
    length: (1, usize::MAX),
    also: |text| {
        crate::sandbox::mount_point(text).is_none().then(|| {
            NotationFault::new(format!("`{text}` is not a place inside the sandbox"))
                .help("write an absolute path without `..`")
        })
    },
    help: "write an absolute path without `..`",
};

/// The whole block; the first three fields belong to a file of its own.
pub static SANDBOX: Shape = Shape {
    title: "the sandbox",
    strangers: Refused("X030"),
    fields: &[
        optional("schema", "X001", Word(&["sandbox/v1"]), "`sandbox/v1`."),
        optional("id", "X002", Formed(&ADDRESS), "The sandbox's address, `@owner/name`."),
        optional("version", "X003", Formed(&VERSION), "Its semantic version."),
        required("provider", "X004", Word(PROVIDERS), "Who provides the machine."),
        required("config", "X005", Object, "What the provider asks for."),
        optional("limits", "X006", Map(&LIMITS), "How much one command may use."),
        optional("env", "X007", Map(&ENVIRONMENT), "What the environment holds."),
        optional("network", "X008", Map(&NETWORK), "Hosts it may reach; none when absent."),
        optional("mounts", "X009", List(0, &Map(&MOUNT)), "What is mounted, and where.").or("[]"),
        optional("identity", "X010", Either(OWNERS), "Who owns the processes."),
        optional(
            "policy",
            "X011",
            Either(&[Formed(&FILLED), Object, List(1, &Object)]),
            "Who may use it (AIP-38).",
        ),
        optional("lifecycle", "X012", Map(&LIFECYCLE), "When it pauses and ends."),
        optional("read_only", "X013", Flag, "Whether commands are refused.").or("false"),
        optional("metadata", "X014", Object, "Hints for hosts."),
    ],
    moved: &[],
};

static OWNERS: &[crate::shape::Takes] = &[List(1, &Either(IDENTITIES)), Either(IDENTITIES)];

static ENVIRONMENT: Shape = Shape {
    title: "`env`",
    strangers: Refused(""),
    fields: &[
        optional("auth", "", Map(&AUTH), "Where credentials come from."),
        optional("passthrough", "", List(0, &Formed(&FILLED)), "Variables of the host."),
    ],
    moved: &[],
};

static AUTH: Shape = Shape {
    title: "`env.auth`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A SECRETS.md."),
        optional("state", "", Map(&AUTH_STATE), "What it puts into the environment."),
    ],
    moved: &[],
};

static AUTH_STATE: Shape = Shape {
    title: "`env.auth.state`",
    strangers: Refused(""),
    fields: &[optional("env", "", List(0, &Formed(&FILLED)), "Environment variables.")],
    moved: &[],
};

static NETWORK: Shape = Shape {
    title: "`network`",
    strangers: Refused(""),
    fields: &[optional("egress", "", List(0, &Formed(&FILLED)), "Hosts it may reach.").or("[]")],
    moved: &[],
};

static MOUNT: Shape = Shape {
    title: "a mount",
    strangers: Refused(""),
    fields: &[
        required("source", "", Either(&[Word(&["workspace"]), Map(&SOURCE)]), "What is mounted."),
        required("at", "", Formed(&MOUNT_POINT), "Where, as an absolute path."),
        optional("mode", "", Word(&["read-write", "read-only"]), "Whether it may be changed.")
            .or("\"read-write\""),
    ],
    moved: &[],
};

static SOURCE: Shape = Shape {
    title: "`source`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A registry reference."),
        optional("file", "", Formed(&FILLED), "A STORAGE.md."),
        optional("inline", "", Object, "The storage itself."),
    ],
    moved: &[],
};

/// What a provider does not support is ignored, so anything may stand here.
pub static LIFECYCLE: Shape = Shape {
    title: "`lifecycle`",
    strangers: Kept,
    fields: &[
        optional("pause_after_idle", "", Formed(&FILLED), "The event after which it pauses."),
        optional("destroy_on", "", Formed(&FILLED), "The event at which it ends."),
        optional(
            "pause_after_idle_ms",
            "",
            Integer(1, i64::MAX),
            "The prose's name for `pause_after_idle`.",
        ),
        optional("destroy_on_workspace_close", "", Flag, "The prose's name for `destroy_on`."),
    ],
    moved: &[],
};
