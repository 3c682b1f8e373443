//! File map tests: inside a driver and inside any document.

use crate::source::{Syntax, parse};
use crate::trial::check;
use crate::{Report, Source, check_io};

const DRIVER: &str = "name: Status\nid: status\ndescription: Status.\nversion: 1.0.0\nkind: cli\nbin: git\nimplements: [{ tool: status, version: \"^1.0.0\", metadata: { cli: { argv: [status] } } }]";

#[test]
fn the_file_maps_of_a_driver_are_checked() {
    let driver = |rest: &str| format!("{DRIVER}\n{rest}");
    let fine = driver(
        "inputsFiles: { in.csv: { path: data/in.csv, mode: ro, contentType: text/csv } }\noutputsFiles: { out.csv: { path: \"out/<runId>/<toolId>-<isoDate>.csv\" } }",
    );
    let no_maps = driver("inputsFiles: in.csv\noutputsFiles: []");
    let bad = driver(
        "inputsFiles:\n  ../in: { path: /etc/passwd, mode: x }\noutputsFiles:\n  out: { path: \"a/<user>/<runId\" }\n  other: { to: b }",
    );
    check(
        "status/DRIVER.md",
        &[
            (&fine, &[]),
            (
                &no_maps,
                &[
                    "D026 9 `inputsFiles` must be a map, not text",
                    "D027 10 `outputsFiles` must be a map, not a list",
                ],
            ),
            (
                &bad,
                &[
                    "I001 10 `inputsFiles`: `../in` leaves the workspace",
                    "I001 10 `path`: `/etc/passwd` leaves the workspace",
                    "I001 10 `mode` cannot be `x`",
                    "I040 12 `<user>` stays as it is: nothing is filled in for it",
                    "I002 13 `path` is missing from a file",
                    "I002 13 a file has no field `to`",
                ],
            ),
        ],
    );
}

#[test]
fn the_folder_of_a_run_is_declared_as_text() {
    for (kind, files, expected) in [
        ("string", "{ a: { path: a } }", &[][..]),
        ("object", "{}", &[]),
        ("object", "{ a: { path: a } }", &["`_workflowFsRoot` is the path of a folder"]),
    ] {
        let source = Source::new(
            "WORKFLOW.md",
            format!(
                "---\ninputs: {{ properties: {{ _workflowFsRoot: {{ type: {kind} }} }} }}\ninputsFiles: {files}\n---\n"
            ),
        );
        let mut report = Report::new(&source);
        let node = parse(&source, Syntax::Markdown, &mut report).unwrap();
        check_io(&node, &mut report);
        let found: Vec<_> = report.into_diagnostics().into_iter().map(|one| one.message).collect();
        assert_eq!(found, expected, "{kind} {files}");
    }
}
