//! Shape of `haft.toml`: the settings of a workspace.

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Flag, Formed, Integer, List, Map, Names, Set, Text, Word};
use crate::shape::documents::haft::CLASSES;
use crate::shape::form::settings::{
    ACTOR_ID, ACTOR_PATTERN, HOST_NAME, LISTEN, PAYLOADS_URL, PRIVATE_URL, SCOPE, STORE_URL,
    TOOL_PATTERN,
};
use crate::shape::form::{FILLED, SHORT_TAG, WEB_URL};
use crate::shape::{Field, Shape, optional, required};

/// The roles of an actor.
pub const ROLES: &[&str] = &["agent", "approver", "admin", "auditor"];

/// When a hook is asked.
pub const EVENTS: &[&str] = &[
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
    "permission_request",
    "permission_decision",
    "result_persistence",
];

/// The whole file.
pub static SETTINGS: Shape = table(
    "haft.toml",
    &[
        optional("workspace", "W001", Map(&WORKSPACE), "What holds for the workspace as a whole.")
            .or("{}"),
        optional("store", "W011", Map(&STORE), "Where the log and the payloads are kept.").or("{}"),
        optional("server", "W014", Map(&SERVER), "Where callers on the network are heard.")
            .or("{}"),
        optional("actor", "W017", List(0, &Map(&ACTOR)), "Who calls and who answers.").or("[]"),
        optional("rule", "W018", List(0, &Map(&RULE)), "Which calls go, ask or stop.").or("[]"),
        optional("hook", "W019", List(0, &Map(&HOOK)), "Programs that are asked along the way.")
            .or("[]"),
        optional("surface", "W020", List(0, &Map(&SURFACE)), "Who sees which tools.").or("[]"),
        optional("limits", "W021", Map(&LIMITS), "How much may run at once and over time.")
            .or("{}"),
        optional("telemetry", "W028", Map(&TELEMETRY), "Where spans of calls are sent.").or("{}"),
    ],
);

static WORKSPACE: Shape = table(
    "`[workspace]`",
    &[
        optional("name", "W002", Text(1, 80), "Its name; the folder's when absent."),
        optional(
            "autonomy",
            "W003",
            Integer(0, 3),
            "The highest risk that runs without asking when no rule speaks.",
        )
        .or("0"),
        optional(
            "non_interactive",
            "W004",
            Word(&["ask", "deny"]),
            "What an ask becomes where no person can be asked.",
        )
        .or("\"ask\""),
        optional(
            "forms",
            "W029",
            Word(&["inbox", "people", "off"]),
            "Who fills in forms of backends that a caller cannot show.",
        )
        .or("\"inbox\""),
        optional(
            "unsent",
            "W025",
            Word(&["refuse", "run"]),
            "What becomes of a call whose process died before anything was sent.",
        )
        .or("\"refuse\""),
        optional("sandbox", "W005", Word(&["on", "off"]), "Whether drivers are confined.")
            .or("\"on\""),
        optional(
            "policy_tags",
            "W006",
            Set(&Formed(&SHORT_TAG)),
            "Driver tags that are allowed; an empty list allows all.",
        )
        .or("[]"),
        optional(
            "denied_tags",
            "W007",
            Set(&Formed(&SHORT_TAG)),
            "Driver tags that are denied, even where they are allowed.",
        )
        .or("[]"),
        optional(
            "region",
            "W008",
            Set(&Formed(&FILLED)),
            "Regions that drivers may serve from; an empty list allows all.",
        )
        .or("[]"),
        optional(
            "region_global_matches",
            "W009",
            Flag,
            "Whether a driver that lists `global` is in every region.",
        )
        .or("true"),
        optional(
            "default_actor",
            "W010",
            Formed(&ACTOR_ID),
            "Who a caller on this machine without a token is; never an approver.",
        )
        .or("\"agent:local\""),
    ],
);

static STORE: Shape = table(
    "`[store]`",
    &[
        optional("url", "W012", Formed(&STORE_URL), "The store of the log, `sqlite:<file>`.")
            .or("\"sqlite:.haft/haft.db\""),
        optional(
            "payloads",
            "W013",
            Formed(&PAYLOADS_URL),
            "The folder of the payloads, `file:<folder>`.",
        )
        .or("\"file:.haft/payloads\""),
        optional(
            "identity_file",
            "",
            Formed(&FILLED),
            "The file that remembers which store this is; one in the user's state folder when absent.",
        ),
    ],
);

static SERVER: Shape = table(
    "`[server]`",
    &[
        optional("listen", "W015", Formed(&LISTEN), "The address, `<host>:<port>`.")
            .or("\"127.0.0.1:7311\""),
        optional(
            "hosts",
            "W027",
            Set(&Formed(&HOST_NAME)),
            "Host names by which remote callers reach it; with one, every caller needs a token.",
        )
        .or("[]"),
        optional("oauth", "W016", Map(&OAUTH), "Whose access tokens are taken."),
        optional(
            "max_sessions",
            "",
            Integer(1, 1_000_000),
            "How many sessions of MCP there may be, of all actors.",
        )
        .or("10000"),
        optional(
            "max_sessions_per_actor",
            "",
            Integer(1, 1_000_000),
            "How many sessions of MCP one actor may have; its oldest idle one makes room.",
        )
        .or("1000"),
    ],
);

static OAUTH: Shape = table(
    "`[server.oauth]`",
    &[
        required("issuer", "", Formed(&PRIVATE_URL), "The authorization server."),
        required("audience", "", Formed(&FILLED), "What a token has to be made out for."),
        optional(
            "roles",
            "",
            Names(Some(&FILLED), &Set(&Word(ROLES))),
            "The roles here of each role in a token; none for those not listed.",
        )
        .or("{}"),
    ],
);

static ACTOR: Shape = table(
    "an `[[actor]]`",
    &[
        required("id", "", Formed(&ACTOR_ID), "`user:<name>` or `agent:<name>`."),
        optional("tenant", "", Formed(&FILLED), "Whose it is; the workspace's name when absent."),
        optional("roles", "", Set(&Word(ROLES)), "What it may do.").or("[\"agent\"]"),
    ],
);

static RULE: Shape = table(
    "a `[[rule]]`",
    &[
        required("verdict", "", Word(&["allow", "ask", "deny"]), "What becomes of such calls."),
        optional("tool", "", Formed(&TOOL_PATTERN), "Which tools, as in `git.*`."),
        optional("action", "", Formed(&FILLED), "Which actions, as in `storage:*`."),
        optional("class", "", Word(CLASSES), "Which tool class."),
        optional("path", "", Formed(&FILLED), "Which paths."),
        optional("url", "", Formed(&FILLED), "Which addresses."),
        optional("command", "", Formed(&FILLED), "Which command lines."),
        optional("actor", "", Formed(&ACTOR_PATTERN), "Which callers, as in `agent:*`."),
        optional("reason", "", Text(1, 500), "Why, for the people who read the decision."),
        optional(
            "match",
            "",
            List(0, &Formed(&FILLED)),
            "Calls that the rule is about, as `<tool-id> <json-object>`.",
        )
        .or("[]"),
        optional("not_match", "", List(0, &Formed(&FILLED)), "Calls that it is not about.")
            .or("[]"),
    ],
);

static HOOK: Shape = table(
    "a `[[hook]]`",
    &[
        required("event", "", Word(EVENTS), "When it is asked."),
        optional("tool", "", Formed(&TOOL_PATTERN), "About which tools.").or("\"*\""),
        optional("run", "", List(1, &Formed(&FILLED)), "The program and its arguments."),
        optional("url", "", Formed(&PRIVATE_URL), "The address to ask instead of a program."),
        optional("secret", "", Formed(&FILLED), "The secret that signs what is sent to `url`."),
        optional("timeout_ms", "", Integer(1, 60_000), "How long it may take, in milliseconds.")
            .or("2000"),
        optional("may_allow", "", Flag, "Whether its yes counts; its no always does.").or("false"),
    ],
);

static SURFACE: Shape = table(
    "a `[[surface]]`",
    &[
        required("scope", "", Formed(&SCOPE), "Who or what sees it: `<kind>` or `<kind>:<name>`."),
        optional("tools", "", List(0, &Formed(&TOOL_PATTERN)), "The tools on it.").or("[\"*\"]"),
        optional(
            "defer_above",
            "",
            Integer(0, i64::MAX),
            "From how many tools on schemas are sent only when asked for.",
        )
        .or("40"),
        optional(
            "defer_above_bytes",
            "",
            Integer(0, i64::MAX),
            "From how many bytes of schemas on they are sent only when asked for.",
        ),
        optional("only_reads", "", Flag, "Whether tools that may change something are left out.")
            .or("false"),
        optional("nobody_there", "", Flag, "Whether tools that ask a person are left out.")
            .or("false"),
        optional("all_schemas", "", Flag, "Whether the model cannot load schemas on the way.")
            .or("false"),
        optional(
            "largest_schema",
            "",
            Integer(1, i64::MAX),
            "How many bytes the schema of one tool may have.",
        ),
        optional(
            "without_kinds",
            "",
            Set(&Formed(&FILLED)),
            "Kinds of tools that the model cannot use, by Agent Tool's words.",
        )
        .or("[]"),
    ],
);

static LIMITS: Shape = table(
    "`[limits]`",
    &[
        optional("max_parallel", "W022", Integer(1, 1000), "How many calls run at once.").or("10"),
        optional("rates", "W023", List(0, &Map(&RATE)), "How many calls in how long.").or("[]"),
        optional(
            "drivers",
            "W024",
            List(0, &Map(&AT_ONCE)),
            "How many calls drivers carry out at once.",
        )
        .or("[]"),
        optional("rest", "W026", Map(&REST), "When a driver that fails is left alone.").or("{}"),
        optional(
            "form_ms",
            "W031",
            Integer(1, 86_400_000),
            "How long a form of a backend waits for people, in milliseconds; ten minutes when absent.",
        ),
    ],
);

static TELEMETRY: Shape = table(
    "`[telemetry]`",
    &[
        optional(
            "endpoint",
            "",
            Formed(&WEB_URL),
            "The base address of an OTLP collector; `/v1/traces` is added.",
        ),
        optional("service", "", Text(1, 80), "What the service is called there.").or("\"haft\""),
        optional(
            "content",
            "",
            Flag,
            "Whether inputs and results are told, as far as people may see them.",
        )
        .or("false"),
        optional("commands", "", Flag, "Whether commands such as `haft call` send spans too.")
            .or("false"),
    ],
);

static REST: Shape = table(
    "`rest`",
    &[
        optional("failures", "", Integer(0, 1000), "After how many in a row; 0 is never.").or("5"),
        optional("pause_ms", "", Integer(1, 86_400_000), "For how long.").or("30000"),
    ],
);

static AT_ONCE: Shape = table(
    "an entry of `drivers`",
    &[
        required("driver", "", Formed(&TOOL_PATTERN), "Which drivers, together."),
        required("max_parallel", "", Integer(1, 1000), "How many calls run at once."),
    ],
);

static RATE: Shape = table(
    "a rate",
    &[
        required("tool", "", Formed(&TOOL_PATTERN), "Which tools are counted together."),
        optional("driver", "", Formed(&TOOL_PATTERN), "Which drivers; their attempts count."),
        required("per", "", Word(&["second", "minute", "hour", "day"]), "In how long."),
        required("value", "", Integer(1, i64::MAX), "How many calls."),
        optional(
            "scope",
            "",
            Word(&["actor", "tenant", "workspace", "tool", "driver"]),
            "Whose calls are counted together.",
        )
        .or("\"workspace\""),
    ],
);

/// A table of the file; an unknown key in any of them is the same mistake.
const fn table(title: &'static str, fields: &'static [Field]) -> Shape {
    Shape { title, strangers: Refused("W030"), fields, moved: &[] }
}
