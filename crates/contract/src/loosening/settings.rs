//! Loosening of settings: lists the ways in which `haft.toml` asks less or lets more.

use std::collections::BTreeSet;

use haft_model::{NonInteractive, Role, Rule, Unsent, Verdict};

use super::{Governing, Loosening};
use crate::settings::{
    Actor, DriverLimit, RateLimit, Sandbox, Settings, SurfaceSettings, Telemetry,
};

/// The name of the settings file.
pub(super) const FILE: &str = "haft.toml";

/// Every way in which the settings ask less or let more.
pub(super) fn loosened(before: &Governing<'_>, after: &Governing<'_>) -> Vec<Loosening> {
    let ways = [
        workspace(before, after),
        kept(before.settings, after.settings),
        actors(before.settings, after.settings),
        rules(&before.settings.rules, &after.settings.rules),
        limits(before.settings, after.settings),
    ];
    ways.into_iter().flatten().map(|what| Loosening::new(FILE, what)).collect()
}

/// Names what differs.
fn differing(checks: &[(&str, bool)]) -> Vec<String> {
    let looser = checks.iter().filter(|(_, looser)| *looser);
    looser.map(|(what, _)| (*what).to_owned()).collect()
}

fn workspace(before: &Governing<'_>, after: &Governing<'_>) -> Vec<String> {
    let (then, now) = (&before.settings.workspace, &after.settings.workspace);
    // An AIP-7 policy may ask because autonomy is above its own, so less is less only without one.
    let ruled = !before.policy_rules.is_empty() || !after.policy_rules.is_empty();
    let autonomy = now.autonomy > then.autonomy || (ruled && now.autonomy != then.autonomy);
    let refuses = (then.non_interactive, now.non_interactive);
    differing(&[
        (
            "`workspace.sandbox` is off now",
            now.sandbox == Sandbox::Off && then.sandbox == Sandbox::On,
        ),
        ("`workspace.autonomy` is another than before", autonomy),
        (
            "`workspace.non_interactive` no longer denies",
            refuses == (NonInteractive::Deny, NonInteractive::Ask),
        ),
        ("`workspace.forms` is another than before", then.forms != now.forms),
        (
            "`workspace.unsent` runs calls now",
            (then.unsent, now.unsent) == (Unsent::Refuse, Unsent::Run),
        ),
        ("`workspace.policy_tags` allows more", !narrower(&then.policy_tags, &now.policy_tags)),
        ("`workspace.denied_tags` denies less", !then.denied_tags.is_subset(&now.denied_tags)),
        ("`workspace.region` allows more", !narrower(&then.region, &now.region)),
        (
            "`workspace.region_global_matches` is true now",
            now.region_global_matches && !then.region_global_matches,
        ),
        (
            "`workspace.default_actor` is another than before",
            then.default_actor != now.default_actor,
        ),
        ("`workspace.name`, the tenant of callers, is another than before", then.name != now.name),
    ])
}

/// Whether a list of what is allowed allows no more; an empty one allows everything.
fn narrower(before: &BTreeSet<String>, after: &BTreeSet<String>) -> bool {
    before.is_empty() || (!after.is_empty() && after.is_subset(before))
}

/// Settings that must stay the same, and settings that may only decrease.
fn kept(then: &Settings, now: &Settings) -> Vec<String> {
    differing(&[
        ("`[store]` is another than before", then.store != now.store),
        ("`server.listen` is another than before", then.server.listen != now.server.listen),
        ("`server.hosts` names more", !now.server.hosts.is_subset(&then.server.hosts)),
        ("`[server.oauth]` is another than before", then.server.oauth != now.server.oauth),
        ("a `[[hook]]` is new, gone or another than before", then.hooks != now.hooks),
        (
            "a `[[surface]]` shows other tools than before",
            !then.surfaces.iter().map(shown).eq(now.surfaces.iter().map(shown)),
        ),
        ("`[telemetry]` sends more, or elsewhere", tells_more(&then.telemetry, &now.telemetry)),
    ])
}

/// The parts of a surface that decide which tools it has; deferred loading is not one of them.
fn shown(surface: &SurfaceSettings) -> impl PartialEq + '_ {
    let SurfaceSettings { scope, tools, only_reads, nobody_there, without_kinds, .. } = surface;
    (scope, tools, only_reads, nobody_there, without_kinds)
}

fn tells_more(then: &Telemetry, now: &Telemetry) -> bool {
    let elsewhere = now.endpoint.is_some() && now.endpoint != then.endpoint;
    elsewhere || (now.content && !then.content) || (now.commands && !then.commands)
}

/// Actors that are new, of another tenant, or in other roles. Revoking the roles by which people
/// answer and rule is tighter, and so is removing an actor, who is unknown from then on.
fn actors(then: &Settings, now: &Settings) -> Vec<String> {
    let mut ways = Vec::new();
    let find =
        |all: &[Actor], actor: &Actor| all.iter().find(|other| other.id == actor.id).cloned();
    for actor in &now.actors {
        let id = &actor.id;
        match find(&then.actors, actor) {
            None => ways.push(format!("the actor `{id}` is new")),
            Some(known) => {
                let others = known.roles.symmetric_difference(&actor.roles).copied();
                let less = |role: Role| {
                    matches!(role, Role::Admin | Role::Approver) && known.roles.contains(&role)
                };
                if known.tenant != actor.tenant || !others.into_iter().all(less) {
                    ways.push(format!("the actor `{id}` has another tenant or other roles"));
                }
            }
        }
    }
    for actor in then.actors.iter().filter(|actor| find(&now.actors, actor).is_none()) {
        let id = &actor.id;
        let unknown = !id.as_str().starts_with("agent:") || actor.roles.contains(&Role::Agent);
        if actor.tenant.is_some() || !unknown {
            ways.push(format!("the actor `{id}` is no longer known"));
        }
    }
    let repeated = |all: &[Actor]| {
        all.iter().map(|actor| &actor.id).collect::<BTreeSet<_>>().len() < all.len()
    };
    if then.actors != now.actors && (repeated(&then.actors) || repeated(&now.actors)) {
        ways.push("an actor is named twice".to_owned());
    }
    ways
}

/// Rules that hold back and are gone, and rules that allow and are new. Their order says nothing, since
/// deny beats ask and ask beats allow wherever they stand.
fn rules(then: &[Rule], now: &[Rule]) -> Vec<String> {
    let gone = then.iter().filter(|rule| {
        rule.verdict != Verdict::Allow
            && !now
                .iter()
                .any(|other| other.verdict >= rule.verdict && is_about_the_same(rule, other))
    });
    let gone = gone.map(|rule| format!("the {} is gone or narrower", words(rule)));
    let new = now.iter().filter(|rule| {
        rule.verdict == Verdict::Allow
            && !then
                .iter()
                .any(|other| other.verdict == Verdict::Allow && is_about_the_same(rule, other))
    });
    gone.chain(new.map(|rule| format!("the {} is new", words(rule)))).collect()
}

/// Whether two rules are about the same calls, as far as that shows: their patterns are the same.
fn is_about_the_same(one: &Rule, other: &Rule) -> bool {
    let patterns = |rule: &Rule| {
        let Rule { tool, action, class, path, url, command, actor, .. } = rule.clone();
        [tool, action, class, path, url, command, actor]
    };
    patterns(one) == patterns(other)
}

/// A rule by its verdict and its patterns.
fn words(rule: &Rule) -> String {
    let Rule {
        verdict,
        tool,
        action,
        class,
        path,
        url,
        command,
        actor,
        reason: _,
        matches: _,
        not_matches: _,
    } = rule;
    let verdict = match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    let patterns = [
        ("tool", tool),
        ("action", action),
        ("class", class),
        ("path", path),
        ("url", url),
        ("command", command),
        ("actor", actor),
    ];
    let patterns = patterns.into_iter().filter_map(|(name, pattern)| {
        pattern.as_ref().map(|pattern| format!("{name} = \"{pattern}\""))
    });
    let patterns: Vec<String> = patterns.collect();
    format!("rule `verdict = \"{verdict}\"` with {}", patterns.join(", "))
}

/// Limits that are higher, or gone.
fn limits(then: &Settings, now: &Settings) -> Vec<String> {
    let (then, now) = (&then.limits, &now.limits);
    let same_rate = |one: &RateLimit, other: &RateLimit| {
        (&one.tool, &one.driver, one.per, one.scope)
            == (&other.tool, &other.driver, other.per, other.scope)
    };
    let rate_holds = |rate: &RateLimit| {
        now.rates.iter().any(|other| same_rate(rate, other) && other.value <= rate.value)
    };
    let cap_holds = |cap: &DriverLimit| {
        let same = |other: &&DriverLimit| other.driver == cap.driver;
        now.drivers.iter().filter(same).any(|other| other.max_parallel <= cap.max_parallel)
    };
    differing(&[
        ("`limits.max_parallel` is higher", now.max_parallel > then.max_parallel),
        ("`limits.rates` allows more", !then.rates.iter().all(rate_holds)),
        ("`limits.drivers` allows more", !then.drivers.iter().all(cap_holds)),
        ("`limits.rest` is another than before", then.rest != now.rest),
        ("`limits.form_ms` is another than before", then.form_ms != now.form_ms),
    ])
}
