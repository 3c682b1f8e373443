//! Grants (AIP-38): which principals may call which actions. A grant is necessary and never
//! sufficient.

mod caps;
mod conditions;
mod principal;

use haft_model::{
    ActionGrant, DefaultDecision, Firmness, Glob, Grant, Layer, Needs, Opinion, Policy, Says,
    Timestamp, parse_timestamp,
};

use crate::targets::Spellings;
use crate::values::{lies_in, paths, urls};
use crate::{Matter, Rulebook};
use conditions::ConditionOutcome;

/// Opinions of grants, limits and requirements; empty where no policy is loaded.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>, now: Timestamp) -> Vec<Opinion> {
    if rulebook.policies.is_empty() {
        return Vec::new();
    }
    let mut opinions = granted(rulebook, matter, now);
    opinions.extend(caps::limits(rulebook, matter));
    opinions.extend(caps::requirements(rulebook, matter, now));
    opinions
}

/// Returns true if an action pattern covers a key: exactly, by `prefix:*`, or by `*`.
pub fn covers(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) if prefix.is_empty() || prefix.ends_with(':') => key.starts_with(prefix),
        Some(_) | None => pattern == key,
    }
}

/// A grant with its policy and index.
struct PlacedGrant<'r> {
    policy: &'r Policy,
    index: usize,
    grant: &'r Grant,
}

impl PlacedGrant<'_> {
    fn place(&self) -> String {
        format!("{}#{}", self.policy.id, self.index)
    }
}

/// State of a grant that names the caller and the action, from least to most specific as a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GrantStanding {
    /// The scope does not cover this call.
    Outside(String),
    /// A condition does not hold.
    Unmet(String),
    /// The grant has expired, or has not begun.
    Expired(String),
    /// The grant was revoked.
    Revoked,
    /// The grant holds once these people approve.
    Pending(Vec<Needs>),
    /// The grant holds.
    Live,
}

fn granted(rulebook: &Rulebook, matter: &Matter<'_>, now: Timestamp) -> Vec<Opinion> {
    let all: Vec<PlacedGrant<'_>> =
        rulebook.policies.iter().flat_map(|policy| placed(policy)).collect();
    let states: Vec<(&PlacedGrant<'_>, GrantStanding)> = all
        .iter()
        .enumerate()
        .filter(|(_, placed)| concerns(placed.grant, matter))
        .map(|(at, placed)| (placed, state(placed.grant, all.get(at + 1..), matter, now)))
        .collect();
    let found = |wanted: fn(&GrantStanding) -> bool| states.iter().find(|(_, state)| wanted(state));
    let key = matter.grant;
    if let Some((grant, _)) = found(|state| *state == GrantStanding::Live) {
        let reason = format!("matched-grant: `{key}` for `{}`", principal::name(grant.grant));
        return vec![Opinion::new(Layer::Grant, Says::Allow, reason).by(grant.place())];
    }
    if let Some((grant, GrantStanding::Pending(needs))) =
        found(|state| matches!(state, GrantStanding::Pending(_)))
    {
        return needs.iter().map(|needs| pending(grant, needs, key)).collect();
    }
    let revoked = found(|state| *state == GrantStanding::Revoked).is_some();
    let open = rulebook.policies.iter().all(|policy| policy.default == DefaultDecision::Allow);
    if open && !revoked {
        let reason = format!("no-grant: nothing speaks of `{key}`, and every default is `allow`");
        return vec![Opinion::new(Layer::Grant, Says::Allow, reason)];
    }
    vec![denied(&states, matter)]
}

/// Scopes that the call has to stay in while it runs; `None` where a valid grant has no scope, or
/// no grant is needed.
pub(crate) fn scopes(
    rulebook: &Rulebook,
    matter: &Matter<'_>,
    now: Timestamp,
) -> Option<Vec<Glob>> {
    let all: Vec<PlacedGrant<'_>> =
        rulebook.policies.iter().flat_map(|policy| placed(policy)).collect();
    let mut scopes = Vec::new();
    for (at, placed) in all.iter().enumerate() {
        let holds = concerns(placed.grant, matter)
            && matches!(
                state(placed.grant, all.get(at + 1..), matter, now),
                GrantStanding::Live | GrantStanding::Pending(_)
            );
        if !holds {
            continue;
        }
        let naming = placed.grant.actions.iter();
        for action in naming.filter(|action| covers(&action.action, matter.grant)) {
            let Ok(()) = scope(action, matter) else { continue };
            let bound = action.scope.as_ref()?;
            if bound.matches(matter.plan.tool.id.as_str()) {
                return None;
            }
            scopes.push(bound.clone());
        }
    }
    (!scopes.is_empty()).then_some(scopes)
}

/// Returns true if a target lies in a scope under each of its canonical names.
pub(crate) fn is_inside(place: &Spellings, scope: &Glob) -> bool {
    let inside = |place: &String| scope.matches(place) || lies_in(place, scope.source());
    place.known && place.canonical.iter().all(inside)
}

/// The deny with the most specific reason; the later grant wins a tie.
fn denied(states: &[(&PlacedGrant<'_>, GrantStanding)], matter: &Matter<'_>) -> Opinion {
    let (key, caller) = (matter.grant, matter.plan.actor.principal());
    let deny = |reason| Opinion::new(Layer::Grant, Says::Deny, reason);
    let Some((grant, state)) = states.iter().max_by_key(|(_, state)| rank(state)) else {
        return deny(format!("no-grant: nothing grants `{key}` to `{caller}`"));
    };
    let reason = match state {
        GrantStanding::Outside(why) => format!("no-grant: {why}"),
        GrantStanding::Unmet(why) => format!("condition-failed: {why}"),
        GrantStanding::Expired(why) => format!("ttl-expired: {why}"),
        GrantStanding::Revoked => {
            format!("explicit-revoke: `{key}` was taken back from `{caller}`")
        }
        GrantStanding::Pending(_) | GrantStanding::Live => {
            format!("no-grant: `{key}` is granted otherwise")
        }
    };
    deny(reason).by(grant.place())
}

fn placed(policy: &Policy) -> impl Iterator<Item = PlacedGrant<'_>> {
    policy.grants.iter().enumerate().map(move |(index, grant)| PlacedGrant { policy, index, grant })
}

fn concerns(grant: &Grant, matter: &Matter<'_>) -> bool {
    let named = grant.actions.iter().any(|action| covers(&action.action, matter.grant));
    named && principal::is(&grant.principal, matter)
}

fn pending(grant: &PlacedGrant<'_>, needs: &Needs, key: &str) -> Opinion {
    let who = crate::settle::in_words(needs);
    let reason = format!("matched-grant: `{key}`, once approved by {who}");
    let ask = Opinion::new(Layer::Grant, Says::Ask, reason).by(grant.place());
    ask.firm(Firmness::Always).needing(needs.clone())
}

/// Order of the states as reasons for a deny.
fn rank(state: &GrantStanding) -> u8 {
    match state {
        GrantStanding::Outside(_) => 0,
        GrantStanding::Unmet(_) => 1,
        GrantStanding::Expired(_) => 2,
        GrantStanding::Revoked => 3,
        GrantStanding::Pending(_) | GrantStanding::Live => 4,
    }
}

/// State of a grant, given the grants after it.
fn state(
    grant: &Grant,
    later: Option<&[PlacedGrant<'_>]>,
    matter: &Matter<'_>,
    now: Timestamp,
) -> GrantStanding {
    let naming = || grant.actions.iter().filter(|action| covers(&action.action, matter.grant));
    if grant.revoked || naming().all(|action| taken_back(grant, action, later)) {
        return GrantStanding::Revoked;
    }
    if let Some(why) = expiry(grant, now) {
        return GrantStanding::Expired(why);
    }
    let standing = naming().filter(|action| !taken_back(grant, action, later));
    let mut outside = None;
    for action in standing {
        match scope(action, matter) {
            Ok(()) => return condition(grant, matter, now),
            Err(why) => outside = Some(why),
        }
    }
    GrantStanding::Outside(outside.unwrap_or_default())
}

/// Returns true if a later grant revokes the same action of the same principal.
fn taken_back(grant: &Grant, action: &ActionGrant, later: Option<&[PlacedGrant<'_>]>) -> bool {
    let later = later.unwrap_or_default().iter().map(|placed| placed.grant);
    let mut revoking = later.filter(|later| later.revoked && later.principal == grant.principal);
    revoking.any(|later| later.actions.contains(action))
}

/// Reason why a grant is not valid now; `None` if it is.
fn expiry(grant: &Grant, now: Timestamp) -> Option<String> {
    let began = grant.granted_at.as_deref().map(parse_timestamp);
    if began.flatten().is_some_and(|began| began > now) {
        return Some("the grant has not begun".to_owned());
    }
    let lasts = grant.ttl_seconds?;
    let Some(began) = began.flatten() else {
        return Some("nothing says when the grant began".to_owned());
    };
    let age = u64::try_from(now.duration_since(began).as_secs()).unwrap_or(u64::MAX);
    (age >= lasts).then(|| format!("the grant lasted {lasts} seconds"))
}

/// Checks the scope of a grant against the tool's id, or every path and address of the input.
fn scope(action: &ActionGrant, matter: &Matter<'_>) -> Result<(), String> {
    let Some(scope) = &action.scope else { return Ok(()) };
    if scope.matches(matter.plan.tool.id.as_str()) {
        return Ok(());
    }
    let mut places = paths(&matter.plan.input);
    places.extend(urls(&matter.plan.input));
    if places.is_empty() {
        return Err(format!("scope `{}` cannot be evaluated for this call", scope.source()));
    }
    // The driver's targets can only leave a scope.
    places.extend(matter.targets.path_spellings());
    places.extend(matter.targets.url_spellings());
    if places.iter().all(|place| is_inside(place, scope)) {
        return Ok(());
    }
    Err(format!("the call reaches beyond scope `{}`", scope.source()))
}

/// Combines the conditions of a grant.
fn condition(grant: &Grant, matter: &Matter<'_>, now: Timestamp) -> GrantStanding {
    let mut needs = Vec::new();
    for condition in &grant.conditions {
        match conditions::judge(&condition.kind, &condition.parameters, matter.circumstances, now) {
            ConditionOutcome::Yes => {}
            ConditionOutcome::Once(people) => needs.push(people),
            ConditionOutcome::No(why) => return GrantStanding::Unmet(why),
        }
    }
    if needs.is_empty() { GrantStanding::Live } else { GrantStanding::Pending(needs) }
}
