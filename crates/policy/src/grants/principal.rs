//! Whom a grant is for, and whether that is who calls.

use haft_model::{Glob, Grant, Principal};

use crate::Matter;

/// Whether the caller of a matter is among those that a principal names.
///
/// `user://x` and `bot://x` are the caller's id and `*` stands for any run of characters in it;
/// `role://owner`, `role://editor` and `role://viewer` are whoever holds the role `admin`,
/// `approver` and `auditor`; `group://x` and `@owner/name` are whoever the edge says belongs there
/// (`groups` of the circumstances). Any other scheme is nobody.
pub(super) fn is(principal: &Principal, matter: &Matter<'_>) -> bool {
    let actor = &matter.plan.actor;
    let plays = |role: &Option<String>| role.as_deref().is_none_or(|role| actor.holds(role));
    match principal {
        Principal::Scheme(scheme) => is_scheme(scheme, matter),
        Principal::Reference { to, role } => is_scheme(to, matter) && plays(role),
        // Somebody who is written out is known by the address, because names are not unique.
        Principal::Person { email, role, .. } => {
            actor.principal() == format!("user://{email}") && plays(role)
        }
    }
}

fn is_scheme(scheme: &str, matter: &Matter<'_>) -> bool {
    let actor = &matter.plan.actor;
    match scheme.split_once("://") {
        Some(("user" | "bot", _)) => Glob::new(scheme).matches(&actor.principal()),
        Some(("role", role)) => actor.holds(role),
        Some(("group", group)) => belongs(matter, group) || belongs(matter, scheme),
        Some(_) => false,
        None => scheme == "*" || (scheme.starts_with('@') && belongs(matter, scheme)),
    }
}

/// Whether the edge says that the caller belongs to a group.
fn belongs(matter: &Matter<'_>, group: &str) -> bool {
    let groups = matter.circumstances.other.get("groups").and_then(|groups| groups.as_array());
    groups.is_some_and(|groups| groups.iter().any(|one| one.as_str() == Some(group)))
}

/// A grant's principal, for its reason.
pub(super) fn name(grant: &Grant) -> String {
    match &grant.principal {
        Principal::Scheme(scheme) => scheme.clone(),
        Principal::Reference { to, role: Some(role) } => format!("{to} as {role}"),
        Principal::Reference { to, role: None } => to.clone(),
        Principal::Person { email, .. } => email.clone(),
    }
}
