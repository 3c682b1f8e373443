//! Settings diagnostics: mistakes in `haft.toml`, each with the whole report about it.

use crate::settings::read;
use crate::{Diagnostic, Source};

fn said(text: &str) -> Vec<String> {
    let (_, diagnostics) = read(&Source::new("haft.toml", text));
    let line = |d: Diagnostic| {
        let help = d.help.map(|help| format!(" | {help}")).unwrap_or_default();
        format!("{} {}:{} {}{help}", d.code, d.line, d.column, d.message)
    };
    diagnostics.into_iter().map(line).collect()
}

#[test]
fn a_mistake_is_reported_where_it_stands() {
    for (text, expected) in CASES {
        assert_eq!(said(text), *expected, "{text}");
    }
}

/// A file, and what is said of it: code, line, column, message and help.
const CASES: &[(&str, &[&str])] = &[
    ("[workspace\n", &["Y005 1:11 unclosed table, expected `]`"]),
    ("[stor]\n", &["W030 1:2 haft.toml has no field `stor` | did you mean `store`?"]),
    (
        "name = 'x'\n",
        &[
            "W030 1:1 haft.toml has no field `name` | it can hold workspace, store, server, actor, rule, hook, surface, limits, telemetry",
        ],
    ),
    ("store = 3\n", &["W011 1:9 `store` must be a map, not a whole number"]),
    (
        "[rule]\nverdict = 'ask'\n",
        &["W018 1:1 `[rule]` is a table, and there can be several | write `[[rule]]`"],
    ),
    (
        "[workspace]\nautonmy = 1\n",
        &["W030 2:1 `[workspace]` has no field `autonmy` | did you mean `autonomy`?"],
    ),
    ("[workspace]\nautonomy = 4\n", &["W003 2:12 `autonomy` is 4; it must be from 0 to 3"]),
    (
        "[workspace]\nnon_interactive = 'wait'\n",
        &["W004 2:19 `non_interactive` cannot be `wait` | use one of ask, deny"],
    ),
    (
        "[workspace]\nsandbox = 'of'\n",
        &["W005 2:11 `sandbox` cannot be `of` | did you mean `off`?"],
    ),
    (
        "[workspace]\nsandbox = 'off'\n",
        &[
            "W047 2:11 drivers run unconfined | remove the line; a contract that needs more says so in `mutates` and `requires`",
        ],
    ),
    ("[workspace]\npolicy_tags = ['a', 'a']\n", &["W006 2:21 `policy_tags` lists `a` twice"]),
    (
        "[workspace]\npolicy_tags = ['a']\ndenied_tags = ['b', 'a']\n",
        &["W048 3:21 `a` is allowed and denied | denying wins; remove it from `policy_tags`"],
    ),
    (
        "[workspace]\nregion_global_matches = 'yes'\n",
        &["W009 2:25 `region_global_matches` must be true or false, not text"],
    ),
    (
        "[workspace]\ndefault_actor = 'ana'\n",
        &[
            "W010 2:17 `default_actor`: `ana` is not an actor's id | write `user:<name>` or `agent:<name>`",
        ],
    ),
    (
        "[store]\nurl = 'postgres://db/bakery'\n",
        &[
            "W012 2:7 `url`: `postgres://db/bakery` is not the address of a store | write `sqlite:<file>`, the only kind of store in this version",
        ],
    ),
    (
        "[store]\npayloads = 's3://bakery'\n",
        &[
            "W013 2:12 `payloads`: `s3://bakery` is not the address of a payload store | write `file:<folder>`, the only kind of payload store in this version",
        ],
    ),
    (
        "[server]\nlisten = '7311'\n",
        &[
            "W015 2:10 `listen`: `7311` is not an address to listen on | write `<host>:<port>`, as in `127.0.0.1:7311`",
        ],
    ),
    (
        "[server]\nlisten = '0.0.0.0:7311'\n",
        &[
            "W046 2:10 other machines can reach `0.0.0.0:7311`, so every caller needs a token | make tokens with `haft token new`, or add `[server.oauth]`",
        ],
    ),
    (
        "[server.oauth]\nissuer = 'http://id.example'\naudience = 'haft'\n",
        &[
            "W016 2:10 `issuer`: `http://id.example` is not encrypted | use https; http is for this machine",
        ],
    ),
    (
        "[server.oauth]\nissuer = 'https://id.example'\n",
        &[
            "W016 1:1 `audience` is missing from `[server.oauth]` | add `audience`: what a token has to be made out for",
        ],
    ),
    (
        "[[actor]]\nid = 'user:ana'\nroles = ['aprover']\n",
        &["W017 3:10 `roles[0]` cannot be `aprover` | did you mean `approver`?"],
    ),
    (
        "[[actor]]\nroles = ['agent']\n",
        &[
            "W017 1:1 `id` is missing from an `[[actor]]` | add `id`: `user:<name>` or `agent:<name>`",
        ],
    ),
    (
        "[[actor]]\nid = 'user:ana'\n[[actor]]\nid = 'user:ana'\n",
        &["W043 4:6 `user:ana` is listed twice | put all its roles into one `[[actor]]`"],
    ),
    (
        "[[actor]]\nid = 'agent:local'\nroles = ['admin']\n",
        &[
            "W044 3:9 `agent:local` is who callers without a token are, so it can hold no such role | give the role to another actor, or name another `default_actor`",
        ],
    ),
    (
        "[[actor]]\nid = 'agent:coder'\nroles = ['approver']\n",
        &[
            "W045 3:9 `agent:coder` is an agent, no approver | only a person answers; give the role to a `user:<name>`",
        ],
    ),
    (
        "[[rule]]\ntool = 'a.b'\n",
        &[
            "W018 1:1 `verdict` is missing from a `[[rule]]` | add `verdict`: what becomes of such calls",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\nreason = 'why not'\n",
        &[
            "W040 1:1 the rule does not say what it is about | add `tool`, `action`, `class`, `path`, `url`, `command` or `actor`",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\ntool = 'Git.*'\n",
        &[
            "W018 3:8 `tool`: `Git.*` is not a pattern of tool ids | write a tool's id, with `*` for any run of characters, as in `git.*`",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\nclass = 'readonly'\n",
        &["W018 3:9 `class` cannot be `readonly` | did you mean `read-only`?"],
    ),
    (
        "[[rule]]\nverdict = 'ask'\nactor = 'coder'\n",
        &[
            "W018 3:9 `actor`: `coder` is not a pattern of actors | write `agent:*`, `user:ana` or `*`",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\ntool = 'a.*'\nmatch = ['a.b']\n",
        &[
            "W050 4:10 `a.b` is not an example of a call | write `<tool-id> <json-object>`, as in `git.log {}`",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\ntool = 'a.*'\nmatch = ['a.b {}', 'a.b []']\n",
        &[
            "W050 4:20 `a.b []` is not an example of a call | write `<tool-id> <json-object>`, as in `git.log {}`",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\ntool = 'a.*'\nmatch = ['b.a {}']\n",
        &[
            "W051 4:10 the rule does not match its own example `b.a` | widen `tool`, or correct the example",
        ],
    ),
    (
        "[[rule]]\nverdict = 'ask'\ntool = 'a.*'\nnot_match = ['a.b {}']\n",
        &[
            "W052 4:14 the rule matches `a.b`, which it says it does not | narrow `tool`, or add a `class` or an `action`",
        ],
    ),
    ("[[rule]]\nverdict = 'ask'\nclass = 'irreversible'\nmatch = ['b.a {}']\n", &[]),
    (
        "[[hook]]\nrun = ['x']\n",
        &["W019 1:1 `event` is missing from a `[[hook]]` | add `event`: when it is asked"],
    ),
    (
        "[[hook]]\nevent = 'pre_tool_used'\nrun = ['x']\n",
        &["W019 2:9 `event` cannot be `pre_tool_used` | did you mean `pre_tool_use`?"],
    ),
    (
        "[[hook]]\nevent = 'pre_tool_use'\n",
        &[
            "W041 1:1 the hook has neither `run` nor `url` | add `run = [\"<program>\"]` or `url = \"https://…\"`",
        ],
    ),
    ("[[hook]]\nevent = 'pre_tool_use'\nrun = []\n", &["W019 3:7 `run` needs at least 1 entry"]),
    (
        "[[hook]]\nevent = 'pre_tool_use'\nrun = ['x']\nurl = 'https://h.example'\n",
        &["W041 4:7 the hook has both `run` and `url` | keep one of them"],
    ),
    (
        "[[hook]]\nevent = 'pre_tool_use'\nurl = 'https://h.example'\n",
        &[
            "W042 3:7 what is sent to this hook is not signed | add `secret = \"<slug>\"`, and check the signature there",
        ],
    ),
    (
        "[[hook]]\nevent = 'pre_tool_use'\nurl = 'http://h.example'\nsecret = 's'\n",
        &[
            "W019 3:7 `url`: `http://h.example` is not encrypted | use https; http is for this machine",
        ],
    ),
    ("[[hook]]\nevent = 'pre_tool_use'\nurl = 'http://127.0.0.1:9'\nsecret = 's'\n", &[]),
    (
        "[[hook]]\nevent = 'pre_tool_use'\nrun = ['x']\ntimeout_ms = 0\n",
        &["W019 4:14 `timeout_ms` is 0; it must be from 1 to 60000"],
    ),
    (
        "[[surface]]\nscope = 'roles:agent'\n",
        &["W020 2:9 `scope`: `roles` is not a kind of scope | did you mean `role`?"],
    ),
    (
        "[[surface]]\nscope = 'role:'\n",
        &["W020 2:9 `scope`: `role:` names no role | write `role:<name>`, or `role` for any"],
    ),
    ("[limits]\nmax_parallel = 0\n", &["W022 2:16 `max_parallel` is 0; it must be from 1 to 1000"]),
    (
        "[limits]\nrates = [{ tool = '*', per = 'minutes', value = 1 }]\n",
        &["W023 2:30 `per` cannot be `minutes` | did you mean `minute`?"],
    ),
    (
        "[limits]\nrates = [{ tool = '*', per = 'day', value = 1, scop = 'actor' }]\n",
        &["W030 2:48 a rate has no field `scop` | did you mean `scope`?"],
    ),
];
