//! Policy lint: rules across the grants, limits and requirements of one policy.

use std::net::IpAddr;

use crate::diagnostic::{Rule, suggestion};
use crate::read::{flag, items, text};
use crate::source::Node;
use crate::{Report, rules};

/// A kind, and the parameters it cannot do without.
type ConditionKind = (&'static str, &'static [&'static str]);

const CONDITIONS: &[ConditionKind] = &[
    ("during-business-hours", &["timezone"]),
    ("ip-range", &["cidr"]),
    ("mfa-recent", &["within_seconds"]),
    ("approval-from", &["role", "count"]),
    ("signed-by", &["role"]),
];

const REQUIREMENTS: &[ConditionKind] = &[
    ("mfa-recent", &["within_seconds"]),
    ("approval-from", &["role", "count"]),
    ("signed-by", &["role"]),
];

/// Conditions whose facts reach no call yet, each with the reason.
const UNSUPPLIED: &[(&str, &str)] = &[
    ("ip-range", "no edge hands the caller's address to a call"),
    ("mfa-recent", "no edge hands the time of a second factor to a call"),
];

/// Schemes of principals that a caller's identity can match; `user://current` depends on a
/// resource that no call names.
const CALLERS: &[&str] = &["user", "bot", "role"];

const LIMITS: &[ConditionKind] = &[
    ("max-concurrent-sandboxes", &[]),
    ("rate-tool-calls", &["per"]),
    ("max-egress-bytes-per-day", &[]),
];

/// Checks a policy's fields against each other.
pub(super) fn check(node: &Node, report: &mut Report) {
    if text(node, "default") == Some("allow") {
        report
            .add(
                &rules::P040,
                node.place(&["default"]),
                "everything is allowed that no grant speaks of",
            )
            .help("say `default: deny` and grant what is needed");
    }
    if node.get("id").is_none() {
        report
            .add(&rules::P041, node.place(&["schema"]), "the policy does not say its `id`")
            .help("add `id: \"@owner/name\"`, so that decisions can name it");
    }
    for grant in items(node, "grants") {
        lifetime(grant, report);
        principal(grant, report);
        kinds(
            items(grant, "conditions"),
            CONDITIONS,
            &rules::P043,
            "the grant never applies",
            report,
        );
    }
    kinds(items(node, "limits"), LIMITS, &rules::P044, "what it applies to is denied", report);
    let requirements = items(node, "requirements");
    kinds(requirements, REQUIREMENTS, &rules::P045, "what it applies to is denied", report);
}

fn lifetime(grant: &Node, report: &mut Report) {
    if grant.get("ttl_seconds").is_some() && grant.get("granted_at").is_none() {
        report
            .add(
                &rules::P042,
                grant.place(&["ttl_seconds"]),
                "nothing says when the grant began, so it has expired",
            )
            .help("add `granted_at`");
    }
}

/// Reports a grant whose principal is no caller, unless the grant only takes another one back.
fn principal(grant: &Node, report: &mut Report) {
    let Some(stated) = grant.get("principal").filter(|_| flag(grant, "revoked") != Some(true))
    else {
        return;
    };
    // A text of another form is no principal at all, which P005 reports.
    let scheme = stated.text().filter(|text| text.contains("://") || text.starts_with('@'));
    let named = scheme.or_else(|| text(stated, "ref")).or_else(|| text(stated, "file"));
    let Some(named) = named.filter(|named| !is_caller(named)) else { return };
    let message = format!("no caller is known to be `{named}`, so the grant never applies");
    report.add(&rules::P047, stated.span.clone(), message).help(
        "name `user://ID`, `bot://NAME` or `role://owner`, or a person by `name` and `email`",
    );
}

fn is_caller(principal: &str) -> bool {
    match principal.split_once("://") {
        Some((scheme, rest)) => CALLERS.contains(&scheme) && (scheme, rest) != ("user", "current"),
        None => principal == "*",
    }
}

fn kinds(nodes: &[Node], known: &[ConditionKind], rule: &Rule, so: &str, report: &mut Report) {
    for node in nodes {
        let Some(stated) = node.get("kind") else { continue };
        let Some(kind) = stated.text() else { continue };
        match known.iter().find(|(name, _)| *name == kind) {
            Some((_, needs)) => {
                parameters(node, kind, needs, report);
                if let Some((_, why)) = UNSUPPLIED.iter().find(|(name, _)| *name == kind) {
                    report
                        .add(rule, stated.span.clone(), format!("`{kind}` never holds, so {so}"))
                        .help(format!("remove it: {why}"));
                }
            }
            None => {
                report
                    .add(rule, stated.span.clone(), format!("unknown kind `{kind}`, so {so}"))
                    .maybe_help(suggestion(kind, known.iter().map(|(name, _)| *name)));
            }
        }
    }
}

fn parameters(node: &Node, kind: &str, needs: &[&str], report: &mut Report) {
    for need in needs.iter().filter(|need| node.get(need).is_none()) {
        report.add(&rules::P046, node.place(&["kind"]), format!("`{kind}` does not say `{need}`"));
    }
    let range = node.get("cidr").filter(|_| kind == "ip-range");
    if let Some(range) = range.filter(|range| !range.text().is_some_and(is_range)) {
        report
            .add(&rules::P046, range.span.clone(), "`cidr` is not a range of addresses")
            .help("write `10.0.0.0/8` or `fd00::/8`");
    }
}

/// An address with the number of its bits that count.
fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}
