//! One limit that a call is under: what is counted together, how much of it there may be, and who
//! says so.

use haft_ledger::Use;
use haft_model::{Code, Glob, Period, RateScope, Stop, ToolKey};
use serde_json::json;

use super::window::{NoRoom, Window};

/// One limit.
#[derive(Clone, Debug)]
pub(crate) struct Cap {
    pub(crate) counted: QuotaScope,
    pub(crate) most: u64,
    pub(crate) origin: Origin,
}

/// What is counted together. Limits over the same share one tally.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QuotaScope {
    pub(crate) what: What,
    pub(crate) window: Window,
    pub(crate) of: Of,
    /// Only what these drivers carry out.
    pub(crate) drivers: Option<Glob>,
    pub(crate) whose: Whose,
}

/// In which unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Calls, however many attempts each took.
    Calls,
    /// Attempts.
    Attempts,
    /// Thousandths of a cent of this currency.
    Money(String),
}

/// Of which tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// Those whose ids match.
    Named(Glob),
    /// Those that are granted by one of these patterns; all, if there is none.
    Granted(Vec<String>),
    /// Whatever this AIP-7 policy let through by itself.
    LetThroughBy(String),
}

/// By and for whom; what is not given is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Whose {
    pub(crate) actor: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) driver: Option<String>,
}

/// Who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An entry of `[limits] rates`.
    Settings(Period, RateScope),
    /// The contract.
    Contract(Period, RateScope),
    /// A limit of a `policy/v1`, at its place.
    Policy(String),
    /// The budget of an AIP-7 policy.
    Budget(String),
}

impl Whose {
    /// Those whom a scope counts together with this one.
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
    /// How much of it an attempt uses; none where it does not count here.
    pub(crate) fn amount(&self, used: &Use) -> Option<u64> {
        let driven = self.drivers.as_ref().is_none_or(|glob| glob.matches(used.driver.as_str()));
        if !driven || !self.of.includes(used) || !self.whose.includes(used) {
            return None;
        }
        match &self.what {
            What::Attempts => Some(1),
            // Another attempt is not another call.
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
    /// The refusal of a call for which there is no room.
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

/// Says how long to wait, for people and for machines.
pub(crate) fn waiting(stop: Stop, wait_ms: Option<u64>, otherwise: &str) -> Stop {
    match wait_ms {
        Some(wait) => stop
            .help(format!("wait {}, or {otherwise}", in_words(wait)))
            .because(json!({ "retry_after_ms": wait })),
        None => stop.help(otherwise),
    }
}

/// A time that nobody comes back before: rounded up to what people read.
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
