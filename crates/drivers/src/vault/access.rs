//! Secret access control: decides which call may open which secret, before its value is looked up.

use haft_driver::SecretRequest;
use haft_model::{Code, Grantee, Stop};

use super::inventory::{self, ListedSecret, ResolvedSecret};

/// Grants access where the contract lists the secret and an access binding names the tool or the
/// caller. Denies by default.
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

/// Whether a grantee matches the request.
///
/// Capabilities and workflows never match, because the request does not say which the caller holds
/// or runs in.
fn is(grantee: &Grantee, asked: &SecretRequest<'_>) -> bool {
    match grantee {
        Grantee::Role(role) => asked.actor.holds(role),
        Grantee::User(name) => haft_model::is_user(&asked.actor.id, name),
        Grantee::Tool(tool) => tool == asked.tool.id.as_str() || *tool == asked.tool.to_string(),
        Grantee::Capability(_) | Grantee::Workflow(_) => false,
    }
}
