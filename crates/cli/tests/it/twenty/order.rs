//! Concurrency tests (§23, test 10): the input decides what overlaps, the request decides the
//! order.

use std::io::{BufRead as _, BufReader, Read as _};

use haft_testkit::{ALLOW, Act, Backend, Folder, Keys, Served, Then};
use serde_json::{Value, json};

use crate::stage::{command, started};
use crate::twenty::export::all_fit;
use crate::twenty::{each, hook, program, trace, word};

const SHELL: &str = "mutates: [\"external:files\"]\nrisk_level: 2\napproval: auto\n\
    metadata: { haft: { concurrency: { safe: 'input.verb == \"cat\"' } } }\n";

const CALLS: &str = r#"[
    {"id": "a", "tool": "shell.run", "input": {"verb": "cat", "file": "a"}},
    {"id": "b", "tool": "shell.run", "input": {"verb": "cat", "file": "b"}},
    {"id": "rm", "tool": "shell.run", "input": {"verb": "rm", "file": "c"}},
    {"id": "d", "tool": "shell.run", "input": {"verb": "cat", "file": "d"}}
]"#;

/// A machine whose commands are run by a backend, and a hook that tells when one is done.
fn machine(backend: &Backend) -> Folder {
    let settings = format!("{ALLOW}{}", hook("post_tool_use", "shell.run", ".hooks/tell"));
    let folder = Served::by(backend)
        .at("shell.run", SHELL, "POST", "/${input.verb}/${input.file}")
        .with(&settings)
        .file("calls.json", CALLS);
    let script =
        "cat > /dev/null\necho '{\"progress\": {\"message\": \"read\", \"percent\": 90}}'\n";
    program(folder, ".hooks/tell", script)
}

/// Four commands of one tool, of which three only read. Those that read run side by side, the one
/// that does not waits for all before it, and those behind wait for it. The first takes longest:
/// how far the second is can be seen meanwhile, and results come in the order of the request.
#[test]
fn test_10_concurrency_by_input_order_by_request() {
    let backend = Backend::new(Keys::Ignored);
    backend.will_at("/cat/a", Act::commits(Then::Id).held());
    let folder = machine(&backend);
    let file = folder.path().join("calls.json");
    let line = format!("batch {} --progress --json", file.display());
    let mut child = started(command(&folder, &line));
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut lines: Vec<Value> = Vec::new();
    // The first is let go once the second is seen, which is not there before it ran.
    for line in printed.by_ref() {
        let line: Value = serde_json::from_str(&line).unwrap();
        let seen = line["id"] == "b" && line.get("progress").is_some();
        lines.push(line);
        if seen {
            assert_eq!(backend.heard().len(), 2, "only those that read are under way");
            backend.let_go();
            break;
        }
    }
    lines.extend(printed.map(|line| serde_json::from_str::<Value>(&line).unwrap()));
    let mut remarks = String::new();
    child.stderr.take().unwrap().read_to_string(&mut remarks).unwrap();
    assert!(child.wait().unwrap().success(), "{remarks}\n{lines:#?}");

    let place = |kind: &str, id: &str| {
        let found = lines.iter().position(|line| line["id"] == id && line.get(kind).is_some());
        found.unwrap_or_else(|| panic!("no {kind} of {id} in {lines:#?}"))
    };
    assert!(place("progress", "b") < place("result", "a"));
    let results: Vec<&Value> = lines.iter().filter(|line| line.get("result").is_some()).collect();
    let order: Vec<_> = results.iter().map(|line| &line["id"]).collect();
    assert_eq!(order, ["a", "b", "rm", "d"]);

    let paths: Vec<String> = backend.heard().into_iter().map(|heard| heard.path).collect();
    let mut side_by_side = paths[..2].to_vec();
    side_by_side.sort();
    assert_eq!(
        (side_by_side, &paths[2..]),
        (
            vec!["/cat/a".to_owned(), "/cat/b".to_owned()],
            &["/rm/c".to_owned(), "/cat/d".to_owned()][..]
        )
    );

    let traces: Vec<Value> = results
        .iter()
        .map(|line| trace(&folder, &word(&line["result"]["invocation_id"])))
        .collect();
    let moments = |name: &str| -> Vec<String> {
        traces.iter().map(|told| word(&told["attempts"][0][name])).collect()
    };
    let (began, ended) = (moments("started_at"), moments("ended_at"));
    let [a, b, rm, d] = [0, 1, 2, 3];
    assert!(began[b] < ended[a] && began[a] < ended[b], "a and b overlap: {began:?} {ended:?}");
    assert!(ended[b] < ended[a], "a is the slow one");
    assert!(began[rm] >= ended[a] && began[rm] >= ended[b], "{began:?} {ended:?}");
    assert!(began[d] >= ended[rm], "{began:?} {ended:?}");
    let safe = Value::from(traces.clone());
    let safe = each(&safe, "/scheduling/queued/is_concurrency_safe");
    assert_eq!(safe, [json!(true), json!(true), json!(false), json!(true)]);
    all_fit(&folder);
}
