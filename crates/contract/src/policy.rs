//! Policy manifest: `POLICY.md` of schema `policy/v1` (AIP-38), grants, limits and requirements.

mod lint;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_model::{
    ActionGrant, Condition, DefaultDecision, Glob, Grant, Limit, Policy, Principal, Requirement,
};
use serde_json::Value as Json;

use crate::read::{each, flag, list, owned, text, whole};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source};

/// Reads a POLICY.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<Policy>> {
    check(node, &documents::policy::POLICY, "P001", report);
    lint::check(node, report);
    Some(Arc::new(from_node(source.file(), node)))
}

/// A policy out of a tree that was checked.
fn from_node(file: &str, node: &Node) -> Policy {
    Policy {
        id: owned(node, "id").unwrap_or_else(|| file.to_owned()),
        default: match text(node, "default") {
            Some("allow") => DefaultDecision::Allow,
            _ => DefaultDecision::Deny,
        },
        grants: each(node, "grants", grant),
        limits: each(node, "limits", limit),
        requirements: each(node, "requirements", requirement),
    }
}

fn grant(node: &Node) -> Option<Grant> {
    Some(Grant {
        principal: node.get("principal").and_then(principal)?,
        actions: each(node, "actions", |action| {
            Some(ActionGrant {
                action: owned(action, "action")?,
                scope: text(action, "scope").map(Glob::new),
            })
        }),
        conditions: each(node, "conditions", |condition| {
            Some(Condition {
                kind: owned(condition, "kind")?,
                parameters: parameters(condition, &["kind"]),
            })
        }),
        ttl_seconds: whole(node, "ttl_seconds"),
        granted_at: owned(node, "granted_at"),
        granted_by: node.get("granted_by").and_then(principal),
        revoked: flag(node, "revoked").unwrap_or(false),
    })
}

fn principal(node: &Node) -> Option<Principal> {
    if let Some(scheme) = node.text() {
        return Some(Principal::Scheme(Glob::new(scheme)));
    }
    let role = owned(node, "role");
    match text(node, "ref").or_else(|| text(node, "file")) {
        Some(to) => Some(Principal::Reference { to: Glob::new(to), role }),
        None => Some(Principal::Person {
            name: owned(node, "name")?,
            email: owned(node, "email")?,
            role,
        }),
    }
}

fn limit(node: &Node) -> Option<Limit> {
    Some(Limit {
        kind: owned(node, "kind")?,
        value: node.get("value").and_then(Node::number)?,
        scope: owned(node, "scope"),
        per: owned(node, "per"),
        applies_to: list(node, "applies_to"),
    })
}

fn requirement(node: &Node) -> Option<Requirement> {
    Some(Requirement {
        kind: owned(node, "kind")?,
        applies_to: list(node, "applies_to"),
        parameters: parameters(node, &["kind", "applies_to"]),
    })
}

/// Everything beside the fields that have a name of their own.
fn parameters(node: &Node, named: &[&str]) -> Json {
    let mut json = node.to_json();
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|name, _| !named.contains(&name.as_str()));
    }
    json
}
