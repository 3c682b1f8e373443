//! Who may have which secret. This is settled before anybody looks for its value.

use haft_driver::SecretRequest;
use haft_model::{Code, Grantee, Stop};

use super::inventory::{self, ListedSecret, ResolvedSecret};

/// Whether a call may have a secret: its contract lists it, and somebody gave it or its caller
/// access. What is not said is no.
pub(super) fn check(
    inventory: &[ListedSecret],
    found: &ResolvedSecret<'_>,
    asked: &SecretRequest<'_>,
) -> Result<(), Stop> {
    let slug = &found.listed.slug;
    let declared = &asked.plan.effects.requires.secrets;
    let means = |name: &String| {
        name == slug
            || inventory::find(inventory, name).is_ok_and(|other| other.listed.slug == *slug)
    };
    if !declared.iter().any(means) {
        let words = format!("`{}` does not list the secret `{slug}`", asked.tool);
        let help = format!("add `{slug}` to `requires.secrets` of the contract");
        return Err(Stop::new(Code::SandboxViolation, words).help(help));
    }
    if found.listed.bind.iter().any(|grantee| is(grantee, asked)) {
        return Ok(());
    }
    let words =
        format!("`{}` may not have the secret `{slug}` for `{}`", asked.actor.id, asked.tool);
    let tool = asked.tool.id.as_str();
    let help = format!("add `tool: {tool}`, or who may use it, to `access.bind` of `{slug}`");
    Err(Stop::new(Code::PermissionDenied, words).help(help))
}

/// Whether somebody who has access is the one who asks.
///
/// A capability and a workflow are nobody, because nothing here says who holds one or runs in one.
fn is(grantee: &Grantee, asked: &SecretRequest<'_>) -> bool {
    match grantee {
        Grantee::Role(role) => asked.actor.holds(role),
        Grantee::User(name) => haft_model::is_user(&asked.actor.id, name),
        Grantee::Tool(tool) => tool == asked.tool.id.as_str() || *tool == asked.tool.to_string(),
        Grantee::Capability(_) | Grantee::Workflow(_) => false,
    }
}
