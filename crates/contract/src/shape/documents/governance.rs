//! Shapes of AIP-7: `POLICY.md` of doctype `policy`, and `GOVERNANCE.md`.

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Flag, Formed, Integer, List, Map, Object, Set, Text, Word};
use crate::shape::form::{APPROVAL, CURRENCY, FILLED, SLUG, TextFormat, VERSION, pattern};
use crate::shape::{Shape, optional, required};

/// A class of actions as a rule matches it.
static MATCHED_ACTION: TextFormat = pattern(
    "a class of actions",
    r"^[a-z][a-z0-9._*-]*$",
    (1, usize::MAX),
    "write `tool.call` or, with a star for a segment, `workspace.*`",
);

/// A class of actions without stars.
static ACTION_CLASS: TextFormat = pattern(
    "a class of actions",
    r"^[a-z][a-z0-9._-]*[a-z0-9]$",
    (2, usize::MAX),
    "write lowercase words with dots between them, as in `tool.call`",
);

static BOUND_CLASS: TextFormat = pattern(
    "a class of actions",
    r"^([a-z][a-z0-9._-]*[a-z0-9]|\*)$",
    (1, usize::MAX),
    "write a class such as `tool.call`, or `*` for all",
);

static WORKSPACE_NAME: TextFormat = pattern(
    "a name",
    r"^[a-z][a-z0-9-]*[a-z0-9]$",
    (2, 96),
    "use 2 to 96 lowercase letters, digits and dashes, beginning with a letter",
);

static MERGE_ID: TextFormat = pattern(
    "an id",
    r"^[a-z][a-z0-9-]*$",
    (1, usize::MAX),
    "use lowercase letters, digits and dashes, beginning with a letter",
);

/// The published pattern has no room for `../GOVERNANCE.md`, the nearest parent there is.
static PARENT: TextFormat = pattern(
    "a parent",
    r"^\.\.?/([^\s]+/)?GOVERNANCE\.md$",
    (1, 512),
    "write a path from this file that ends in `/GOVERNANCE.md`, as in `../GOVERNANCE.md`",
);

static CONSUMER: TextFormat = pattern(
    "a consumer",
    r"^(ws://(operators|companies|skills)/[a-z][a-z0-9-]*|\.\./[^\s]+)$",
    (1, usize::MAX),
    "write `ws://operators/NAME`, `ws://companies/NAME`, `ws://skills/NAME` or a path that begins with `../`",
);

static OPERATOR: TextFormat = pattern(
    "an operator",
    r"^ws://operators/[a-z][a-z0-9-]*$",
    (1, usize::MAX),
    "write `ws://operators/NAME`",
);

static QUORUM: TextFormat = pattern(
    "a quorum",
    r"^[1-9][0-9]*(-of-[1-9][0-9]*)?$",
    (1, 32),
    "write `2` or `2-of-3`, in quotes",
);

static RETENTION: TextFormat =
    pattern("a retention", r"^(forever|days:[0-9]+)$", (1, 32), "write `forever` or `days:N`");

/// One rule: what is decided about a class of actions.
pub static RULE: Shape = Shape {
    title: "POLICY.md",
    strangers: Refused("G030"),
    fields: &[
        required("schema", "G001", Word(&["agentgovernance/v1"]), "`agentgovernance/v1`."),
        required("doctype", "G002", Word(&["policy"]), "`policy`."),
        required("slug", "G003", Formed(&SLUG), "The rule's name, 2 to 64 characters."),
        required("version", "G004", Formed(&VERSION), "Its semantic version."),
        required("match", "G005", Map(&MATCH), "What it speaks about."),
        required("decision", "G006", Word(DECISIONS), "What it says."),
        optional("signers", "G007", List(0, &Map(&SIGNER)), "Who may sign."),
        optional("quorum", "G008", Integer(1, i64::MAX), "How many must sign.").or("1"),
        optional("autonomy", "G009", Integer(0, 4), "Up to which autonomy it stays permissive.")
            .or("2"),
        optional("budget", "G010", Map(&BUDGET), "How much it lets through before it asks."),
        optional("metadata", "G011", Object, "Hints for hosts.").or("{}"),
    ],
    moved: &[],
};

const DECISIONS: &[&str] = &["allow", "deny", "require-approval", "escalate"];

static MATCH: Shape = Shape {
    title: "`match`",
    strangers: Refused(""),
    fields: &[
        required("action", "", Formed(&MATCHED_ACTION), "The class; a segment may be `*`."),
        optional("subject", "", Text(0, usize::MAX), "An id, a pattern or a path."),
        optional("risk_level_min", "", Integer(0, 3), "From which risk on.").or("0"),
    ],
    moved: &[],
};

static SIGNER: Shape = Shape {
    title: "a signer",
    strangers: Refused(""),
    fields: &[
        optional("role", "", Text(1, 64), "Any person with this role."),
        optional("userId", "", Text(1, 256), "This person."),
    ],
    moved: &[],
};

static BUDGET: Shape = Shape {
    title: "`budget`",
    strangers: Refused(""),
    fields: &[
        optional("max_per_hour", "", Integer(1, i64::MAX), "Calls an hour."),
        optional("max_per_day", "", Integer(1, i64::MAX), "Calls a UTC day."),
        optional("max_amount_cents", "", Integer(1, i64::MAX), "Money, in cents."),
        optional("currency", "", Formed(&CURRENCY), "Whose money.").or("\"USD\""),
    ],
    moved: &[],
};

/// The governance of a workspace, or of a view of one.
pub static WORKSPACE: Shape = Shape {
    title: "GOVERNANCE.md",
    strangers: Refused("G130"),
    fields: &[
        required(
            "schema",
            "G101",
            Word(&["governance.workspace/v1"]),
            "`governance.workspace/v1`.",
        ),
        required("name", "G102", Formed(&WORKSPACE_NAME), "Its name, 2 to 96 characters."),
        required("title", "G103", Text(1, 200), "Its name for people, at most 200 characters."),
        required("description", "G104", Text(1, 2000), "What it governs, and for whom."),
        required("version", "G105", Formed(&VERSION), "Its semantic version."),
        optional("extends", "G106", Formed(&PARENT), "The parent this is a view of."),
        optional("appliesTo", "G107", Set(&Formed(&CONSUMER)), "Whom this view is for."),
        optional("autonomy", "G108", Map(&AUTONOMY), "How far agents go alone."),
        optional("signing", "G109", Map(&SIGNING), "How approvals are signed."),
        optional("audit", "G110", Map(&AUDIT), "How the log is kept."),
        optional("policies", "G111", List(0, &Map(&POLICY)), "The policies that apply, by id.")
            .or("[]"),
        optional("approvers", "G112", List(0, &Map(&APPROVER)), "Who may approve, by id.").or("[]"),
        optional("executor", "G113", Formed(&OPERATOR), "Who runs the governance."),
        optional("escalateTo", "G114", Formed(&OPERATOR), "Who decides when no approver can."),
        optional("work", "G115", Text(1, 512), "A WORK.md that follows along."),
        optional("knowledge", "G116", Text(1, 512), "A KNOWLEDGE.md that is governed."),
        optional("display", "G117", Map(&DISPLAY), "Hints for those who show it."),
        optional("metadata", "G118", Object, "Hints for hosts.").or("{}"),
    ],
    moved: &[],
};

static AUTONOMY: Shape = Shape {
    title: "`autonomy`",
    strangers: Refused(""),
    fields: &[
        optional("level", "", Integer(0, 3), "The highest risk that runs without asking."),
        optional("defaultApproval", "", Formed(&APPROVAL), "What applies where no policy does."),
        optional("approvalEscalation", "", Map(&ESCALATION), "Where to go without a quorum."),
    ],
    moved: &[],
};

static ESCALATION: Shape = Shape {
    title: "`approvalEscalation`",
    strangers: Refused(""),
    fields: &[
        required("from", "", Text(0, 96), "The approval class that found no quorum."),
        required("to", "", Text(0, 96), "The approval class that takes over."),
    ],
    moved: &[],
};

static SIGNING: Shape = Shape {
    title: "`signing`",
    strangers: Refused(""),
    fields: &[
        optional("algo", "", Word(&["ed25519", "ecdsa-p256", "rsa-pss-sha256"]), "With what."),
        optional("keyring", "", Text(1, 512), "The file of public keys."),
        optional("required", "", Flag, "Whether every event is signed; never taken back."),
    ],
    moved: &[],
};

static AUDIT: Shape = Shape {
    title: "`audit`",
    strangers: Refused(""),
    fields: &[
        optional("retention", "", Formed(&RETENTION), "How long the log is kept."),
        // The two halves of AIP-7 list different hashes; either's are read.
        optional("hashAlgo", "", Word(&["sha256", "sha512", "blake3", "blake2b-256"]), "The hash."),
        optional("appendOnly", "", Flag, "Whether the log only grows; never taken back."),
        optional("storage", "", Text(1, 1024), "Where the log is copied to."),
        optional("headPointerSign", "", Flag, "Whether the head of the chain is published."),
    ],
    moved: &[],
};

static POLICY: Shape = Shape {
    title: "a policy",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&MERGE_ID), "What contracts call it."),
        required("ref", "", Text(1, 512), "Its POLICY.md."),
        optional("appliesTo", "", Formed(&BOUND_CLASS), "The class of actions it is bound to."),
        optional("severity", "", Word(&["error", "warn", "info"]), "What a breach does.")
            .or("\"error\""),
        optional("params", "", Object, "What its POLICY.md reads."),
    ],
    moved: &[],
};

static APPROVER: Shape = Shape {
    title: "an approver",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&MERGE_ID), "What the approver is called."),
        optional("role", "", Text(0, 200), "A role, or an operator."),
        optional("canApprove", "", Set(&Formed(&ACTION_CLASS)), "What they may approve."),
        optional("quorum", "", Formed(&QUORUM), "How many it takes: `n` or `n-of-m`."),
    ],
    moved: &[],
};

static DISPLAY: Shape = Shape {
    title: "`display`",
    strangers: Refused(""),
    fields: &[
        optional("defaultDashboard", "", Formed(&FILLED), "The page to land on."),
        optional("showRetentionWarnings", "", Flag, "Whether to say what will be deleted."),
    ],
    moved: &[],
};
