//! `haft show` and `haft tools` tests.

use haft_testkit::Folder;

use serde_json::json;

use crate::stage::{READS, check, driver, json as answer, prices, tool};

#[test]
fn one_contract_is_shown_with_what_it_means() {
    check(
        &prices("^1"),
        "show quote",
        r"
exit 0
price.lookup@1  Look up a price  (1.2.0)
Says what an article costs today. Each answer is taken off the daily allowance.

file        .tools/price.lookup/TOOL.md
inputs      article, currency?, count?
host fills  customer
outputs     cents
implements  nothing
changes     external:allowance
class       external-communication
risk        1 (medium)
approval    auto
reaches     prices.example
secrets     nothing
read-only   no
destructive unknown, so taken to be the worse
open world  no
parallel    not stated, so no
deadline    [time]
lifecycle   available
grant       tool:price.lookup
assumed     is_destructive = unknown: nothing says that it can be undone; effective risk is 1
assumed     class = external-communication: `metadata.haft.class` is not stated

DRIVER  KIND  VERSION  COST  STATE
prices  http  1.0.0    -     ready
",
    );
}

#[test]
fn one_contract_is_data_for_machines() {
    check(
        &prices("^1"),
        "show price.lookup@1 --json",
        r#"
exit 0
{
  "id": "price.lookup",
  "key": "price.lookup@1",
  "version": "1.2.0",
  "name": "Look up a price",
  "description": "Says what an article costs today. Each answer is taken off the daily allowance.",
  "file": ".tools/price.lookup/TOOL.md",
  "inputs": {
    "type": "object",
    "properties": {
      "article": {
        "type": "string",
        "pattern": "^[A-Z]{2}[0-9]{4}$"
      },
      "currency": {
        "type": "string",
        "enum": [
          "EUR",
          "CHF"
        ],
        "default": "EUR"
      },
      "count": {
        "type": "integer",
        "minimum": 1,
        "maximum": 50
      },
      "customer": {
        "type": "string"
      }
    },
    "required": [
      "article"
    ],
    "additionalProperties": false
  },
  "model_inputs": {
    "type": "object",
    "properties": {
      "article": {
        "type": "string",
        "pattern": "^[A-Z]{2}[0-9]{4}$"
      },
      "currency": {
        "type": "string",
        "enum": [
          "EUR",
          "CHF"
        ],
        "default": "EUR"
      },
      "count": {
        "type": "integer",
        "minimum": 1,
        "maximum": 50
      }
    },
    "required": [
      "article"
    ],
    "additionalProperties": false
  },
  "outputs": {
    "type": "object",
    "properties": {
      "cents": {
        "type": "integer"
      }
    },
    "required": [
      "cents"
    ]
  },
  "context_schema": {
    "type": "object",
    "properties": {
      "shop": {
        "type": "string"
      }
    },
    "required": [
      "shop"
    ]
  },
  "implements": null,
  "effects": {
    "mutates": [
      "external:allowance"
    ],
    "mutates_stated": true,
    "classes": [
      "external-communication"
    ],
    "risk": 1,
    "requires": {
      "network": [
        "prices.example"
      ]
    },
    "approval": {
      "class": "auto"
    },
    "facts": {
      "read_only": "no",
      "destructive": "unknown",
      "open_world": "no",
      "concurrency_safe": "unstated"
    },
    "inferred": [
      {
        "field": "is_destructive",
        "value": "unknown",
        "source": "nothing says that it can be undone; effective risk is 1"
      },
      {
        "field": "class",
        "value": "external-communication",
        "source": "`metadata.haft.class` is not stated"
      }
    ]
  },
  "fingerprint": "[digest]",
  "schema_digest": "[digest]",
  "idempotent": false,
  "timeout_ms": 4000,
  "retry": null,
  "lifecycle": "available",
  "blocked": null,
  "grant": "tool:price.lookup",
  "default_implementation": null,
  "drivers": [
    {
      "id": "prices",
      "kind": "http",
      "refused": null,
      "state": "ready",
      "reason": null,
      "mend": null,
      "known": {
        "installed": "not_looked",
        "version": "not_looked",
        "auth": "not_required",
        "health": "not_looked"
      },
      "version": "1.0.0",
      "file": ".drivers/prices/DRIVER.md",
      "limits": {
        "timeout_ms": 2500
      },
      "cost_units_per_call": null,
      "region": [
        "eu"
      ],
      "egress": [
        "prices.example"
      ]
    }
  ]
}
"#,
    );
}

#[test]
fn what_a_contract_inherits_is_shown() {
    let action = "---\nschema: action/v1\nid: stock:change\ndescription: Changes the stock.\n\
        category: stock\nmutates: [\"external:stock\"]\nrisk_level: 2\napproval: always\n---\n";
    let fields = "implements: stock:change\ninputs: { type: object }";
    let folder = Folder::new()
        .file(".actions/stock-change/ACTION.md", action)
        .file(".tools/stock.add/TOOL.md", tool("stock.add", "1.0.0", fields));
    check(
        &folder,
        "show stock.add",
        r"
exit 0
stock.add@1  stock.add  (1.0.0)
Does what stock.add says.

file        .tools/stock.add/TOOL.md
inputs      nothing
outputs     nothing
implements  stock:change
changes     external:stock
class       external-communication
risk        2 (high)
approval    always
reaches     not stated
secrets     nothing
read-only   no
destructive unknown, so taken to be the worse
open world  unknown, so taken to be the worse
parallel    not stated, so no
deadline    [time]
lifecycle   available
grant       stock:change
assumed     is_destructive = unknown: nothing says that it can be undone; effective risk is 2
assumed     is_open_world = true: `requires.network` does not name the hosts it reaches
assumed     class = external-communication: `metadata.haft.class` is not stated

no driver claims it
",
    );
}

#[test]
fn an_unknown_tool_cannot_be_shown() {
    check(
        &prices("^1"),
        "show price.look",
        r"
exit 4
! tool.unknown: there is no tool `price.look`
! help: did you mean `price.lookup`?
",
    );
    check(
        &prices("^1"),
        "show nothing --json",
        r#"
exit 4
{
  "ok": false,
  "error": {
    "error_code": "tool.unknown",
    "error_class": "unknown_tool",
    "code": "not_found",
    "aruntime_code": "input.invalid",
    "message": "there is no tool `nothing`",
    "field": null,
    "help": "`haft tools` lists those that there are",
    "cause": {}
  }
}
"#,
    );
}

#[test]
fn the_list_is_data_for_machines() {
    let (exit, mut said) = answer(&prices("^1"), "tools --json");
    let tools = said["tools"].as_array_mut().unwrap();
    let ids: Vec<&str> = tools.iter().filter_map(|tool| tool["id"].as_str()).collect();
    assert_eq!(
        ids,
        ["fs.list", "fs.read", "fs.write", "http.fetch", "price.lookup", "text.search", "time.now"]
    );
    tools.retain(|tool| tool["drivers"][0]["id"] != "haft-builtin" || tool["id"] == "time.now");
    assert_eq!(exit, 0);
    assert_eq!(
        said,
        json!({
            "tools": [
                {
                    "id": "price.lookup",
                    "key": "price.lookup@1",
                    "version": "1.2.0",
                    "name": "Look up a price",
                    "description": "Says what an article costs today. Each answer is taken off the daily allowance.",
                    "risk_level": 1,
                    "state": "ready",
                    "reason": null,
                    "drivers": [{
                        "id": "prices", "kind": "http", "refused": null,
                        "state": "ready", "reason": null, "mend": null,
                        "known": {
                            "installed": "not_looked", "version": "not_looked",
                            "auth": "not_required", "health": "not_looked",
                        },
                    }]
                },
                {
                    "id": "time.now",
                    "key": "time.now@1",
                    "version": "1.0.0",
                    "name": "What time it is",
                    "description": "Says what time it is, in UTC. Use it whenever today or now matters; do not guess, and do not rely on a time from earlier in the conversation.",
                    "risk_level": 0,
                    "state": "ready",
                    "reason": null,
                    "drivers": [{
                        "id": "haft-builtin", "kind": "builtin", "refused": null,
                        "state": "ready", "reason": null, "mend": null, "known": null,
                    }]
                }
            ]
        })
    );
}

#[test]
fn tools_search_ranks_by_words_and_honours_limit() {
    let folder = Folder::new()
        .file(".tools/mail.send/TOOL.md", tool("mail.send", "1.0.0", READS))
        .file(".tools/mail.read/TOOL.md", tool("mail.read", "1.0.0", READS))
        .file(".tools/fax.send/TOOL.md", tool("fax.send", "1.0.0", READS))
        .file(".drivers/mail/DRIVER.md", driver("mail", &[("mail.send", "1"), ("mail.read", "1")]));
    check(
        &folder,
        "tools sending mails",
        r"
exit 0
TOOL       VERSION  RISK  STATE     DRIVERS  ABOUT
mail.send  1.0.0    0     ready     mail     Does what mail.send says.
fax.send   1.0.0    0     no route  none     no driver claims `fax.send@1`
mail.read  1.0.0    0     ready     mail     Does what mail.read says.
",
    );
    check(
        &folder,
        "tools sending mails --limit 1",
        r"
exit 0
TOOL       VERSION  RISK  STATE  DRIVERS  ABOUT
mail.send  1.0.0    0     ready  mail     Does what mail.send says.
",
    );
    check(
        &folder,
        "tools weather",
        r"
exit 0
no tool matches
",
    );
}

#[test]
fn a_workspace_without_tools_says_how_to_write_one() {
    check(
        &Folder::new().file("haft.toml", ""),
        "tools",
        r"
exit 0
TOOL         VERSION  RISK  STATE  DRIVERS       ABOUT
fs.list      1.0.0    0     ready  haft-builtin  Lists what lies in a folder of the workspace, with kinds and sizes.
fs.read      1.0.0    0     ready  haft-builtin  Reads a file of the workspace, or a part of it.
fs.write     1.0.0    1     ready  haft-builtin  Writes a file of the workspace: the whole of it, a new one, or more at its end.
http.fetch   1.0.0    2     ready  haft-builtin  Fetches what lies at a web address with one GET request.
text.search  1.0.0    0     ready  haft-builtin  Finds every line of a file, or of all files below a folder, that a regular expression matches.
time.now     1.0.0    0     ready  haft-builtin  Says what time it is, in UTC.
! no tools of your own yet: write .tools/<id>/TOOL.md, or run `haft init`
",
    );
}
