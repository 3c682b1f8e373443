//! Quota cap: a scope to count, the greatest count and the source that sets it.

use haft_ledger::Use;
use haft_model::{CauseDetail, Code, Glob, Period, RateScope, Stop, ToolKey};

use super::window::{NoRoom, Window};

/// Cap on one scope; `most` is in the unit of the scope.
#[derive(Clone, Debug)]
pub(crate) struct Cap {
    pub(crate) counted: QuotaScope,
    pub(crate) most: u64,
    pub(crate) origin: Origin,
}

/// Scope of a quota: what is counted together. Caps with an equal scope share one counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QuotaScope {
    pub(crate) what: What,
    pub(crate) window: Window,
    pub(crate) of: Of,
    /// Counts only attempts by these drivers; `None` counts all.
    pub(crate) drivers: Option<Glob>,
    pub(crate) whose: Whose,
}

/// Unit of a quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Calls, regardless of retries.
    Calls,
    /// Attempts, including retries.
    Attempts,
    /// Cost, in thousandths of a cent of this currency.
    Money(String),
}

/// Tools that a quota counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// Tools whose id matches the pattern.
    Named(Glob),
    /// Tools whose grant key matches one of these patterns; all tools if there is none.
    Granted(Vec<String>),
    /// Calls that this AIP-7 policy allowed without an approver.
    LetThroughBy(String),
}

/// Filter by actor, tenant, tool and driver; `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Whose {
    pub(crate) actor: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) driver: Option<String>,
}

/// Source that sets a cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An entry of `[limits] rates` in haft.toml.
    Settings(Period, RateScope),
    /// `metadata.haft.limits` of the contract.
    Contract(Period, RateScope),
    /// A limit of a `policy/v1` document, as `id#index`.
    Policy(String),
    /// The budget of an AIP-7 policy, by slug.
    Budget(String),
}

impl Whose {
    /// Filter of a rate scope, for the actor, tenant, tool and driver of this use.
    pub(crate) fn of(scope: RateScope, used: &Use) -> Whose {
        let tenant = Some(used.tenant.clone());
        match scope {
            RateScope::Actor => {
                Whose { actor: Some(used.actor.clone()), tenant, ..Whose::default() }
            }
            RateScope::Tenant => Whose { tenant, ..Whose::default() },
            RateScope::Workspace => Whose::default(),
            RateScope::Tool => Whose { tool: Some(used.tool.clone()), ..Whose::default() },
            RateScope::Driver => {
                Whose { driver: Some(used.driver.to_string()), ..Whose::default() }
            }
        }
    }

    fn includes(&self, used: &Use) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        is(&self.actor, &used.actor)
            && is(&self.tenant, &used.tenant)
            && is(&self.tool, &used.tool)
            && is(&self.driver, used.driver.as_str())
    }
}

impl QuotaScope {
    /// Amount that an attempt uses of this scope; `None` if the scope does not count it.
    pub(crate) fn amount(&self, used: &Use) -> Option<u64> {
        let driven = self.drivers.as_ref().is_none_or(|glob| glob.matches(used.driver.as_str()));
        if !driven || !self.of.includes(used) || !self.whose.includes(used) {
            return None;
        }
        match &self.what {
            What::Attempts => Some(1),
            // A retry is not another call.
            What::Calls => (used.attempt == 1).then_some(1),
            What::Money(currency) => {
                let same = used.attempt == 1 && used.charge.currency.as_ref() == Some(currency);
                used.charge.millicents.filter(|_| same)
            }
        }
    }
}

impl Of {
    fn includes(&self, used: &Use) -> bool {
        let id = ToolKey::split(&used.tool).0;
        match self {
            Of::Named(glob) => glob.matches(id),
            Of::Granted(patterns) if patterns.is_empty() => true,
            Of::Granted(patterns) => {
                let own = || format!("tool:{id}");
                let key = used.charge.action.clone().unwrap_or_else(own);
                patterns.iter().any(|pattern| haft_policy::covers(pattern, &key))
            }
            Of::LetThroughBy(policy) => used.charge.policies.contains(policy),
        }
    }
}

impl Cap {
    /// Refusal of a call that exceeds this cap, with the retry-after time.
    pub(crate) fn refusal(&self, short: NoRoom) -> Stop {
        let NoRoom { used, wait_ms } = short;
        let most = self.most;
        let allowed = match &self.counted.what {
            What::Attempts => in_number(most, "attempt"),
            What::Calls | What::Money(_) => in_number(most, "call"),
        };
        let words = match (&self.origin, &self.counted.of) {
            (Origin::Settings(per, scope), Of::Named(glob)) => {
                let (glob, per, whose) = (glob.source(), per.name(), whose(*scope));
                format!("`{glob}` is limited to {allowed} per {per}{whose}, and {used} ran")
            }
            (Origin::Contract(per, scope), _) => {
                let (per, whose) = (per.name(), whose(*scope));
                format!("its contract allows {allowed} per {per}{whose}, and {used} ran")
            }
            (Origin::Settings(..) | Origin::Policy(_), _) => {
                format!("limit-exceeded: {allowed} may run, and {used} ran")
            }
            (Origin::Budget(slug), _) => format!("the budget of `{slug}` is used up"),
        };
        let place = match &self.origin {
            Origin::Settings(..) => "raise `[limits] rates` in haft.toml".to_owned(),
            Origin::Contract(..) => "raise `metadata.haft.limits` of the contract".to_owned(),
            Origin::Policy(place) => format!("raise the limit `{place}` of its POLICY.md"),
            Origin::Budget(slug) => format!("raise the budget of `{slug}`"),
        };
        waiting(Stop::new(Code::RateLimited, words), wait_ms, &place)
    }
}

/// Adds the retry-after time as help text and as `retry_after_ms`.
pub(crate) fn waiting(stop: Stop, wait_ms: Option<u64>, otherwise: &str) -> Stop {
    match wait_ms {
        Some(wait) => stop
            .help(format!("wait {}, or {otherwise}", in_words(wait)))
            .because(CauseDetail::RetryAfterMs(wait)),
        None => stop.help(otherwise),
    }
}

/// Formats a wait in a readable unit, rounded up so that a retry after it succeeds.
fn in_words(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{ms} ms"),
        10_000..600_000 => format!("{} s", ms.div_ceil(1000)),
        _ => format!("{} min", ms.div_ceil(60_000)),
    }
}

fn in_number(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn whose(scope: RateScope) -> &'static str {
    match scope {
        RateScope::Actor => " for each actor",
        RateScope::Tenant => " for each tenant",
        RateScope::Workspace => "",
        RateScope::Tool => " for each tool",
        RateScope::Driver => " for each driver",
    }
}
