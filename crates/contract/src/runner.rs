//! Runner: the `runner` block and `RUNNER.md` (AIP-17), the process that a body runs in.

#[cfg(test)]
mod tests;

use crate::block::written_out;
use crate::shape::{check, documents};
use crate::source::{Node, Value};
use crate::{Report, rules};

/// Checks the runner of a driver; a name or a path instead of a map says where it stands.
pub(crate) fn check_runner_of(driver: &Node, report: &mut Report) {
    if let Some(runner @ Node { value: Value::Map(_), .. }) = driver.get("runner") {
        check_runner(runner, report);
    }
}

/// Checks a runner that is written out; one given by `ref` or `file` is not followed.
pub fn check_runner(node: &Node, report: &mut Report) {
    let Some(runner) = written_out(node, &rules::R041, report) else { return };
    check(runner, &documents::runner::RUNNER, "R001", report);
    let engine = runner.get("engine");
    let is_process = |engine: &Node| matches!(engine.text(), Some("subprocess" | "in-process"));
    if let Some(image) = runner.entry("image")
        && engine.is_none_or(is_process)
    {
        report
            .add(
                &rules::R040,
                image.key_span.clone(),
                "only a sandbox starts from an image, so this one is never used",
            )
            .help("say `engine: sandbox`, or leave `image` out");
    }
}
