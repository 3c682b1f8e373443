//! Principal matching: checks whether a grant's principal includes the caller.

use haft_model::{Glob, Grant, Principal};

use crate::Matter;

/// Returns true if a principal includes the caller.
///
/// `user://x` and `bot://x` match the caller's id, and `*` stands for any run of characters in it.
/// `role://owner`, `role://editor` and `role://viewer` match holders of the roles `admin`,
/// `approver` and `auditor`. `group://x` and `@owner/name` match members of `groups` in the
/// circumstances, which no edge fills in yet (P047). Any other scheme matches no caller.
pub(super) fn is(principal: &Principal, matter: &Matter<'_>) -> bool {
    let actor = &matter.plan.actor;
    let plays = |role: &Option<String>| role.as_deref().is_none_or(|role| actor.holds(role));
    match principal {
        Principal::Scheme(scheme) => is_scheme(scheme, matter),
        Principal::Reference { to, role } => is_scheme(to, matter) && plays(role),
        // A person is identified by e-mail address, because names are not unique.
        Principal::Person { email, role, .. } => {
            actor.principal() == format!("user://{email}") && plays(role)
        }
    }
}

fn is_scheme(pattern: &Glob, matter: &Matter<'_>) -> bool {
    let actor = &matter.plan.actor;
    let scheme = pattern.source();
    match scheme.split_once("://") {
        Some(("user" | "bot", _)) => pattern.matches(&actor.principal()),
        Some(("role", role)) => actor.holds(role),
        Some(("group", group)) => belongs(matter, group) || belongs(matter, scheme),
        Some(_) => false,
        None => scheme == "*" || (scheme.starts_with('@') && belongs(matter, scheme)),
    }
}

/// Returns true if the edge lists the caller in a group.
fn belongs(matter: &Matter<'_>, group: &str) -> bool {
    let groups = matter.circumstances.other.get("groups").and_then(|groups| groups.as_array());
    groups.is_some_and(|groups| groups.iter().any(|one| one.as_str() == Some(group)))
}

/// Principal of a grant, for the reason text.
pub(super) fn name(grant: &Grant) -> String {
    match &grant.principal {
        Principal::Scheme(scheme) => scheme.source().to_owned(),
        Principal::Reference { to, role: Some(role) } => format!("{} as {role}", to.source()),
        Principal::Reference { to, role: None } => to.source().to_owned(),
        Principal::Person { email, .. } => email.clone(),
    }
}
