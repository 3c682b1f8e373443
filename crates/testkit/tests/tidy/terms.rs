//! Standard terms: the table of the style guide names the file where each lives.

use crate::none;
use crate::repository::{file, root};

/// The terms that an engineer searches for.
const TERMS: [&str; 25] = [
    "idempotency key",
    "deduplication",
    "lease",
    "fencing token",
    "circuit breaker",
    "rate limit",
    "quota",
    "backoff",
    "retry",
    "timeout",
    "cancellation",
    "graceful shutdown",
    "single-flight",
    "connection pool",
    "group commit",
    "write-ahead log",
    "hash chain",
    "checkpoint",
    "projection",
    "redaction",
    "egress allowlist",
    "sandbox profile",
    "deferred loading",
    "content negotiation",
    "backpressure",
];

/// What is wrong with a table of terms and files; `read` gives the text of a file that exists.
fn breaches(rows: &[Vec<&str>], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let absent = TERMS.iter().filter(|term| !rows.iter().any(|row| row.first() == Some(term)));
    let mut breaches: Vec<_> = absent.map(|term| format!("`{term}` has no row")).collect();
    for row in rows {
        let [term, path] = row[..] else {
            breaches.push(format!("a row is `| term | file |`, not {row:?}"));
            continue;
        };
        let path = path.trim_matches('`');
        match read(path) {
            None => breaches.push(format!("{path} does not exist (`{term}`)")),
            Some(text) if !text.to_lowercase().contains(&term.to_lowercase()) => {
                breaches.push(format!("{path} does not contain `{term}`"));
            }
            Some(_) => {}
        }
    }
    breaches
}

#[test]
fn every_standard_term_occurs_in_its_file() {
    let style = file("docs/style.md");
    let rows = style.table("## Standard terms");
    let read = |path: &str| std::fs::read_to_string(root().join(path)).ok();
    none("docs/style.md names the file of each standard term", breaches(&rows, read));
}

#[test]
fn missing_term_file_or_row_is_reported() {
    let mut rows: Vec<_> = TERMS.iter().map(|term| vec![*term, "`all.rs`"]).collect();
    let read = |path: &str| match path {
        "all.rs" => Some(TERMS.join(" ").to_uppercase()),
        "other.rs" => Some("nothing of it".to_owned()),
        _ => None,
    };
    assert_eq!(breaches(&rows, read), [""; 0]);
    rows.truncate(23);
    rows.extend([vec!["content negotiation", "`gone.rs`"], vec!["lease", "`other.rs`"], vec!["x"]]);
    assert_eq!(
        breaches(&rows, read),
        [
            "`backpressure` has no row",
            "gone.rs does not exist (`content negotiation`)",
            "other.rs does not contain `lease`",
            "a row is `| term | file |`, not [\"x\"]",
        ]
    );
}
