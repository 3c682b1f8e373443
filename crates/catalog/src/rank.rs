//! Driver ranking (phase five of routing): the contract's own choice, then cost, kind, health and
//! name.

use std::cmp::Ordering;

use haft_model::DriverId;

use crate::Binding;
use crate::state::{DriverStates, Health};

/// How drivers compare in one call.
pub(crate) struct Ranking<'q> {
    preferred: Option<&'q DriverId>,
    states: &'q DriverStates,
    /// Units are opaque: they compare only where all of them are in one currency.
    units_compare: bool,
}

impl<'q> Ranking<'q> {
    /// The ranking among drivers that could serve a call.
    pub(crate) fn among(
        standing: &[&Binding],
        preferred: Option<&'q DriverId>,
        states: &'q DriverStates,
    ) -> Ranking<'q> {
        let mut currencies = standing
            .iter()
            .filter(|binding| binding.units.is_some())
            .filter_map(|binding| binding.currency());
        let first = currencies.next();
        let units_compare = currencies.all(|other| Some(other) == first);
        Ranking { preferred, states, units_compare }
    }

    /// The driver that comes first.
    pub(crate) fn best<'b>(&self, standing: &[&'b Binding]) -> Option<&'b Binding> {
        standing.iter().copied().min_by(|a, b| self.compare(a, b))
    }

    /// Why the first one is first.
    pub(crate) fn why_first(&self, best: &Binding, of: usize) -> &'static str {
        if self.prefers(best) {
            "the contract prefers it"
        } else if of == 1 {
            "it is the only one left"
        } else {
            "it ranks first"
        }
    }

    /// Why another is not.
    pub(crate) fn why_not(&self, best: &Binding, other: &Binding) -> &'static str {
        if self.prefers(best) {
            "the contract prefers another"
        } else if self.compare_cost(best, other) == Ordering::Less {
            "another costs less"
        } else if best.driver.kind < other.driver.kind {
            "another is of a kind that is cheaper to reach"
        } else if self.compare_health(best, other) == Ordering::Less {
            "another was seen to work more recently"
        } else {
            "another comes first by name"
        }
    }

    fn compare(&self, a: &Binding, b: &Binding) -> Ordering {
        self.prefers(b)
            .cmp(&self.prefers(a))
            .then_with(|| self.compare_cost(a, b))
            .then_with(|| a.driver.kind.cmp(&b.driver.kind))
            .then_with(|| self.compare_health(a, b))
            .then_with(|| a.driver.id.cmp(&b.driver.id))
    }

    fn prefers(&self, binding: &Binding) -> bool {
        self.preferred == Some(&binding.driver.id)
    }

    /// Stated units first, then the cost in kind.
    fn compare_cost(&self, a: &Binding, b: &Binding) -> Ordering {
        match (a.units, b.units) {
            (Some(left), Some(right)) if self.units_compare => left.total_cmp(&right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), Some(_)) | (None, None) => a.cost_class.cmp(&b.cost_class),
        }
    }

    /// The one seen to work last comes first.
    fn compare_health(&self, a: &Binding, b: &Binding) -> Ordering {
        let seen = |binding: &Binding| match self
            .states
            .get(&binding.driver.id)
            .map(|state| &state.health)
        {
            Some(Health::Passed(at)) => Some(*at),
            Some(Health::NotLooked | Health::Failed(_)) | None => None,
        };
        seen(b).cmp(&seen(a))
    }
}
