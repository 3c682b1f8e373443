//! Contract lifecycle: the state between draft and retired, derived from dates.

use serde::{Deserialize, Serialize};

use crate::Date;

/// The seven states of Agent Tool v0.2.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Not yet introduced.
    Draft,
    /// Callable.
    #[default]
    Available,
    /// Switched off by its owner.
    Disabled,
    /// Needs a person to set something up first.
    RequiresSetup,
    /// Its producer wants its schema loaded on demand.
    Deferred,
    /// Callable by callers that know it, not offered to others.
    Deprecated,
    /// Kept for history only; not callable.
    Retired,
}

impl Lifecycle {
    /// Every state, in the order of the standard.
    pub const ALL: [Lifecycle; 7] = [
        Lifecycle::Draft,
        Lifecycle::Available,
        Lifecycle::Disabled,
        Lifecycle::RequiresSetup,
        Lifecycle::Deferred,
        Lifecycle::Deprecated,
        Lifecycle::Retired,
    ];

    /// The standard's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Lifecycle::Draft => "draft",
            Lifecycle::Available => "available",
            Lifecycle::Disabled => "disabled",
            Lifecycle::RequiresSetup => "requires_setup",
            Lifecycle::Deferred => "deferred",
            Lifecycle::Deprecated => "deprecated",
            Lifecycle::Retired => "retired",
        }
    }

    /// Reads the standard's spelling.
    pub fn parse(text: &str) -> Option<Lifecycle> {
        Lifecycle::ALL.into_iter().find(|state| state.name() == text)
    }

    /// Whether a call may run in this state.
    pub fn callable(self) -> bool {
        match self {
            Lifecycle::Available | Lifecycle::Deprecated | Lifecycle::Deferred => true,
            Lifecycle::Draft
            | Lifecycle::Disabled
            | Lifecycle::RequiresSetup
            | Lifecycle::Retired => false,
        }
    }
}

/// Dates of introduction, deprecation and removal, and the replacement; all days are UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifecycleDates {
    /// The author's state for the time between the dates.
    pub state: Lifecycle,
    /// First day it may be called.
    pub introduced: Option<Date>,
    /// First day it is no longer offered.
    pub deprecated: Option<Date>,
    /// First day it is gone.
    pub removal: Option<Date>,
    /// The tool to call instead.
    pub replacement: Option<String>,
}

impl LifecycleDates {
    /// The state on a day. A past date overrides the stated state.
    pub fn on(&self, today: Date) -> Lifecycle {
        let reached = |date: Option<Date>| date.is_some_and(|date| today >= date);
        if self.state == Lifecycle::Retired || reached(self.removal) {
            Lifecycle::Retired
        } else if self.introduced.is_some_and(|date| today < date) {
            Lifecycle::Draft
        } else if self.state == Lifecycle::Available && reached(self.deprecated) {
            Lifecycle::Deprecated
        } else {
            self.state
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_date;

    #[test]
    fn dates_decide_and_the_later_one_wins() {
        let dates = LifecycleDates {
            introduced: parse_date("2026-01-01"),
            deprecated: parse_date("2026-06-01"),
            removal: parse_date("2026-12-01"),
            ..Default::default()
        };
        let on = |day| dates.on(parse_date(day).unwrap()).name();
        assert_eq!(
            ["2025-12-31", "2026-01-01", "2026-06-01", "2026-12-01"].map(on),
            ["draft", "available", "deprecated", "retired"]
        );
    }

    #[test]
    fn a_disabled_tool_stays_disabled_until_it_is_removed() {
        let dates = LifecycleDates {
            state: Lifecycle::Disabled,
            deprecated: parse_date("2026-06-01"),
            removal: parse_date("2026-12-01"),
            ..Default::default()
        };
        assert_eq!(dates.on(parse_date("2026-07-01").unwrap()), Lifecycle::Disabled);
        assert_eq!(dates.on(parse_date("2026-12-02").unwrap()), Lifecycle::Retired);
    }
}
