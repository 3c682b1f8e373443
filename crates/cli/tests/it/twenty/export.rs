//! Record export: every exported record has the published form.

use std::path::PathBuf;
use std::sync::LazyLock;

use haft_notation::Schema;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::stage::{json as answer, run};

/// The records of one call, each with its kind.
pub(crate) struct Export(Vec<(String, Value)>);

impl Export {
    /// The records of one kind, in their order.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|(known, _)| known == kind).map(|(_, record)| record).collect()
    }
}

/// What `haft trace --records` gives, with digests and all, and the result beside it.
#[track_caller]
pub(crate) fn exported(folder: &Folder, id: &str) -> Export {
    let printed = |line: &str| -> Value {
        let ran = run(folder, line);
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("haft {line}\n{ran:?}"))
    };
    let records = printed(&format!("trace {id} --records"));
    let mut all: Vec<(String, Value)> = records
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["kind"].as_str().unwrap().to_owned(), it["record"].clone()))
        .collect();
    let result = printed(&format!("trace {id} --json"))["result"].take();
    if !result.is_null() {
        all.push(("result".to_owned(), result));
    }
    Export(all)
}

/// Checks every record of every call of a workspace against the published schemas, where those are
/// beside the repository, and that the log is whole.
#[track_caller]
pub(crate) fn all_fit(folder: &Folder) {
    let (exit, verified) = answer(folder, "audit verify --json");
    assert_eq!(exit, 0, "{verified}");
    if !SCHEMAS.exists() {
        println!("skipped: the published schemas are not beside the repository");
        return;
    }
    let (_, runs) = answer(folder, "runs --limit 1000 --json");
    assert_ne!(runs, json!([]), "there is nothing to check");
    for id in crate::twenty::each(&runs, "/invocation_id") {
        for (kind, record) in exported(folder, &crate::twenty::word(&id)).0 {
            assert_eq!(schema(&kind).violations(&record), [], "{kind}: {record:#}");
        }
    }
}

static SCHEMAS: LazyLock<PathBuf> = LazyLock::new(|| {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-tool")
});

fn schema(kind: &str) -> Schema {
    let file = SCHEMAS.join(format!("agenttool-{kind}.schema.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {file:?}"));
    Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap()
}
