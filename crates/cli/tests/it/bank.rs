//! Bank fixture: tools behind a login that take a card number, which only the backend may see.

use std::io::Write as _;
use std::process::{Output, Stdio};

use haft_testkit::{Backend, Folder};
use serde_json::{Value, json};

use crate::hook_program::{hook, program};
use crate::stage::{command, finished, started};

/// The settings of every bank: a hook that is asked about a call leaves a mark.
fn settings() -> String {
    let deny = "[[rule]]\ntool = \"refund\"\nverdict = \"deny\"\nreason = \"no refunds\"\n";
    let allow = "[[rule]]\ntool = \"pay\"\nverdict = \"allow\"\n";
    let hook = hook("pre_tool_use", "pay", ".hooks/heard");
    format!("[workspace]\nname = \"bank\"\n{deny}{allow}{hook}")
}

fn contract(id: &str, approval: &str, host: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Moves money by {id}.\nversion: 1.0.0\n\
         mutates: [\"external:bank\"]\nrisk_level: 2\napproval: {approval}\n\
         requires: {{ network: [\"{host}\"], secrets: [bank/key] }}\n\
         inputs:\n  type: object\n  properties:\n    order: {{ type: string }}\n    \
         card: {{ type: string, maxLength: 40 }}\n  required: [order, card]\n  additionalProperties: false\n\
         outputs: {{ type: object }}\n\
         metadata: {{ haft: {{ data: {{ sensitive: [/card] }}, audit: [/order, /card] }} }}\n---\n"
    )
}

/// A workspace of three tools: one that is allowed, one that asks, and one that is denied.
pub(crate) fn bank(backend: &Backend) -> Folder {
    let host = backend.host();
    let secrets = "---\nsecrets:\n  - slug: bank/key\n    name: Key\n    description: The key of the bank.\n    \
        access: { bind: [{ tool: pay }, { tool: transfer }, { tool: refund }] }\n    \
        exposures: [{ kind: env, name: BANK_KEY, field: value }]\n---\n";
    let entry = |id: &str| {
        format!(
            "  - {{ tool: {id}, version: ^1, metadata: {{ http: {{ method: POST, endpoint: /{id}, \
             headers: {{ Authorization: \"Bearer ${{secrets.BANK_KEY}}\" }} }} }} }}\n"
        )
    };
    let entries: String = ["pay", "transfer", "refund"].map(entry).concat();
    let driver = format!(
        "---\nname: bank\nid: bank\ndescription: A bank.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
         auth: {{ ref: ../../.secrets/SECRETS.md, state: {{ env: [BANK_KEY] }} }}\n\
         implements:\n{entries}---\n"
    );
    let folder = Folder::new()
        .file("haft.toml", settings())
        .file(".secrets/SECRETS.md", secrets)
        .file(".tools/pay/TOOL.md", contract("pay", "auto", &host))
        .file(".tools/transfer/TOOL.md", contract("transfer", "always", &host))
        .file(".tools/refund/TOOL.md", contract("refund", "auto", &host))
        .file(".drivers/bank/DRIVER.md", driver);
    program(folder, ".hooks/heard", "cat > /dev/null\necho '{\"message\": \"heard\"}'\n")
}

/// Runs a command that is told something at its standard input.
pub(crate) fn told(folder: &Folder, line: &str, words: &str) -> Output {
    let mut command = command(folder, line);
    command.env_remove("BANK_KEY").stdin(Stdio::piped());
    let mut child = started(command);
    child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
    finished(child, line)
}

/// An input in a file, as the argument for it.
pub(crate) fn input(folder: &Folder, order: &str, card: &Value) -> String {
    let file = folder.path().join(format!("{order}.json"));
    std::fs::write(&file, json!({"order": order, "card": card}).to_string()).unwrap();
    format!("--input @{}", file.display())
}
