//! Driver lint of `kind: builtin`.

use crate::source::Node;
use crate::{Report, rules};

pub(super) fn check(node: &Node, report: &mut Report) {
    for name in ["install", "auth", "network"] {
        if let Some(entry) = node.entry(name) {
            report
                .add(
                    &rules::B001,
                    entry.key_span.clone(),
                    format!("a builtin driver has no `{name}`"),
                )
                .help("the host carries it out itself");
        }
    }
}
