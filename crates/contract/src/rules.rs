//! Lint rules that no table of fields can state: of files, across fields and across manifests.

use crate::diagnostic::Rule;

/// Redaction: rules whose breach is a credential in a file, so that diagnostics never show its
/// line.
pub const CONCEALED: [&str; 3] = ["H034", "S040", "X040"];

macro_rules! rules {
    ($($code:ident $severity:ident $about:literal;)*) => {
        $(#[doc = $about] pub const $code: Rule = Rule::$severity(stringify!($code), $about);)*

        /// All of them, in order.
        pub const ALL: &[Rule] = &[$($code,)*];
    };
}

rules! {
    Y001 error "A manifest is UTF-8.";
    Y002 error "A manifest holds no NUL byte.";
    Y003 error "A manifest has at most 1 MiB.";
    Y004 error "A manifest opens with YAML between two `---` lines.";
    Y005 error "The YAML, JSON or TOML parses.";
    Y006 error "No name is given twice in one map.";
    Y007 error "An alias refers to an anchor before it, and does not blow the document up.";
    Y008 error "A manifest has at most 50000 values, nested at most 64 deep.";
    Y009 error "Only the tags of YAML's core schema are used.";
    Y010 error "A file or folder that is read lies inside the workspace, symbolic links followed.";
    Y011 error "A file can be read.";
    Y012 error "A file's name or its `schema` says what it is.";
    Y013 warning "What code says of a tool or driver is what the file of the same id says.";
    Y014 warning "A field that this version does not act on is left out.";
    Y020 error "With `--strict-published-schema`, a manifest fits the schema that the AIP publishes.";

    T040 warning "A tool that changes something does not say `approval: auto`.";
    T041 error "An example's input fits `inputs`.";
    T042 error "An example's output fits `outputs`.";
    T043 warning "No kind of driver is both required and forbidden.";
    T044 warning "The folder is named after the manifest's `id`.";
    T045 warning "An id has no two dots in a row, and a version no leading zeros.";
    T046 warning "A contract states `mutates` and `risk_level`, so that nothing has to be assumed.";
    T047 error "`default_implementation` names a driver that can serve the tool.";
    T048 warning "`requires.tools` names tools that exist.";
    T049 error "Only one contract has a given id and major version.";
    T050 error "A tool's `risk_level` is not below its action's.";
    T051 error "A tool keeps every `mutates` entry of its action.";
    T052 error "A tool's `approval` is not looser than its action's.";
    T053 error "A tool keeps everything its action requires.";
    T054 error "`implements` names an action that exists.";
    T055 error "`inputs` and `outputs` describe an object.";
    T056 error "`approval: policy:<name>` names a policy that exists.";
    T057 error "A contract that breaks its callers has a new major version.";

    E050 error "A condition parses and looks only at what exists there.";
    E051 error "The dates of a lifecycle are in order.";
    E052 error "A reversible write says how it is undone.";
    E053 error "A pointer leads to a property of the schema.";
    E054 error "`status`, `compensation` and `replacement` name tools that exist.";
    E055 error "A template looks only at what exists there.";
    E056 error "An alias is no other tool's name or alias.";
    E057 error "A tool whose facts are classified says what the classifier sees.";
    E058 error "A tool that is `read-only` changes nothing, has risk 0 and no other class.";
    E059 error "A tool whose schema is always shown is not deferred.";

    D030 warning "A driver has no field that neither AIP-30 nor its kind knows.";
    D031 warning "A driver does not use the discouraged fields `driver`, `concrete` and `transport`.";
    D032 warning "An id does not end in a dot or dash.";
    D044 warning "The folder is named after the driver's `id`.";
    D045 error "Only one driver has a given id.";
    D050 error "An `implements` entry names a tool that exists.";
    D051 error "An `implements` range contains the contract's version.";
    D052 error "Only optional inputs are dropped.";
    D053 warning "Only inputs that the contract has are dropped.";
    D054 error "A mapping connects an input of the contract to a name of the backend.";
    D055 error "A transform is one that the driver provides.";
    D056 warning "A driver's deadline is not longer than the contract's.";
    D057 error "A driver names each tool once.";
    D058 error "A health check has what its method needs.";
    D059 error "`auth.expiry.detect` is a sign that can be seen.";
    D060 warning "`auth.ref` names a file that exists; without it a secret is still found in another SECRETS.md of the workspace, and stays closed where none lists it.";
    D061 error "A template refers to inputs that the contract has, and to secrets by name.";
    D062 warning "An optional input in a template has a default.";
    D063 warning "A secret in a template is listed in `auth.state.env`.";
    D064 warning "The hosts a driver reaches are among those that the contract requires.";
    D065 error "Only optional outputs are dropped.";
    D066 warning "An install method is one that Haft knows, and is not experimental.";
    D067 error "An install entry has what its method needs.";
    D068 error "A driver's `auth.state.paths` lie beyond the workspace, or in what the contract changes, and are less than a whole home.";

    H030 error "An HTTP driver's `implements` entries say `metadata.http`.";
    H031 error "`base_url` is https, or http to loopback or to a private host named in `network.egress`.";
    H032 error "The host of `base_url` is in `network.egress`.";
    H033 error "`base_url` is fixed: no part of it comes from the call.";
    H034 error "No credential is written into a header.";

    M031 error "The transport fits the server.";
    M032 error "A remote server is reached by https, or by http on loopback.";
    M033 error "An MCP driver's `implements` entries say `metadata.mcp`.";

    K031 error "Install methods fit the package manager.";
    K032 error "An SDK driver's `implements` entries say `metadata.sdk`.";
    K033 error "A runner of an SDK driver is in-process.";
    K034 error "Positional arguments are `_0` to `_4`, without gaps or names beside them.";

    B001 error "A builtin driver has no install, auth or network.";

    C060 error "A leaf of `commands` names a TOOL.md that exists.";
    C061 error "No argument uses shell features.";
    C062 warning "Files that hold a login are open in the sandbox.";
    C063 error "`persist` says exactly one place.";
    C064 error "A cli driver's `implements` entries say `metadata.cli`.";
    C065 error "A leaf of `commands` has its arguments in `metadata.cli`.";
    C066 error "No secret stands in a command line, or in what a program is given to read.";

    W040 error "A rule says what it is about: a tool, action, class, path, url, command or actor.";
    W041 error "A hook has exactly one of `run` and `url`.";
    W042 warning "A hook with a `url` names the secret that signs its requests.";
    W043 error "An actor is listed once.";
    W044 error "`default_actor`, which any local caller can be, is neither approver nor admin.";
    W045 error "An agent is no approver.";
    W046 warning "An address that other machines can reach has `[server.oauth]`, or every caller has a token.";
    W047 warning "Drivers run in a sandbox.";
    W048 warning "No driver tag is both allowed and denied.";
    W050 error "An example of a rule is `<tool-id> <json-object>`.";
    W051 error "A rule matches its own `match` examples.";
    W052 error "A rule matches none of its own `not_match` examples.";
    J040 warning "A record states every field that Agent Tool requires of it.";
    J041 warning "A `tool_id` names the major version of the tool.";
    J042 error "A tool's id can be made of letters, digits, dots and dashes.";
    J043 warning "An example's input fits the input schema.";
    J044 warning "A fact is true, false or a rule that Haft can settle.";
    J045 warning "A record's `schema_version` is one that Haft knows.";
    J046 warning "An interface describes a tool that exists.";
    P040 warning "A policy denies where no grant speaks.";
    P041 warning "A policy that is a file of its own says its `id`.";
    P042 warning "A grant with `ttl_seconds` says `granted_at`; without it, it has expired.";
    P043 warning "A condition is of a kind that Haft knows; one that is not never holds.";
    P044 warning "A limit is of a kind that Haft knows; one that is not denies.";
    P045 warning "A requirement is of a kind that Haft knows; one that is not denies.";
    P046 warning "A condition, limit or requirement has what its kind needs.";
    P047 warning "A grant's principal is one that a caller can be; any other matches no call.";
    P050 error "Only one policy has a given name.";

    G040 error "A rule that allows leaves some autonomy.";
    G041 error "A rule that requires approval says who signs.";
    G042 warning "A rule that allows by wildcard has a budget.";
    G043 warning "A quorum can be reached by the people who are named.";
    G044 error "A signer is a role or a person.";
    G045 warning "A rule that denies has no signers and no budget.";
    G140 error "A view that says `appliesTo` says what it `extends`.";
    G141 error "A quorum is not larger than the group it is taken from.";
    G142 warning "An approver says what it may approve; without it, that is nothing.";
    G143 error "No policy and no approver is listed twice.";
    G150 warning "The chain of parents has no cycle (`governance_extends_cycle`).";
    G151 warning "The chain of parents has at most 8 files (`governance_extends_depth_exceeded`).";
    G152 warning "A parent exists (`governance_extends_missing`).";
    G153 error "A log that an ancestor locked stays append-only (`governance_append_only_relaxation`).";
    G154 error "Signatures that an ancestor requires stay required (`governance_signing_downgrade`).";
    G155 warning "A view uses the keyring of its ancestors (`governance_keyring_drift`).";
    G156 warning "A view does not raise the autonomy of its ancestors.";
    G157 error "`appliesTo` names consumers that exist (`governance_appliesto_unresolvable`).";
    G158 error "A policy that governance names exists.";

    S040 error "A manifest holds no value of a secret, nor anything that decrypts one.";
    S041 error "Only one secret has a given slug.";
    S042 warning "A slug has no two dashes in a row.";
    S043 warning "An access entry is of a kind that Haft knows; one that is not is ignored.";
    S044 error "An access entry names exactly one of role, userId, cap, tool and workflow.";
    S045 warning "An exposure is of a kind that Haft knows; one that is not is ignored.";
    S046 warning "Every secret has an access entry that grants its use.";
    S047 warning "A secret leaves it to the host which vault keeps it.";

    U040 error "`apiBase` is https, or http on loopback.";

    R040 warning "Only a sandbox has an image.";
    R041 error "A runner is written out, or given by exactly one of `ref`, `file` and `inline`.";

    X040 error "No credential is written into a sandbox.";
    X041 error "Only one thing is mounted at a place.";
    X042 error "A mount's source is exactly one of `ref`, `file` and `inline`.";
    X043 warning "A lifecycle uses the names of the schema, and only features that are known.";
    X044 error "A sandbox is written out, or given by exactly one of `ref`, `file` and `inline`.";

    I040 warning "A path uses only the tokens that are filled in.";
    I041 error "`_workflowFsRoot` is text where a document declares it.";

    L001 error "A contract's effects are no wider than those that were accepted.";
    L002 error "An imported contract's description and schemas are those that were accepted.";
    L003 error "haft.lock can be read.";
    L004 error "A driver that leaves out other inputs or outputs than were accepted has a new major version.";
    L005 error "A contract, and each new major version of it, is accepted before it is called.";
    L006 error "A driver, and each new major version of it, is accepted before it serves a contract.";
    L007 warning "What governs is what was accepted.";
    L008 error "What governs becomes looser in a running server only after it is accepted.";
    L009 error "A driver opens no path beyond the workspace that was not accepted.";

    V040 warning "A write says how a repeated call is recognised.";
    V041 warning "A contract states its `sideEffectClass`, so that nothing has to be assumed.";
}
