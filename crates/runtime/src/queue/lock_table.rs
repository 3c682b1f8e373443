//! Who holds what and who waits for what, found by name without looking at everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

use super::area::Area;

/// What one call wants to touch.
#[derive(Debug, Default)]
pub(super) struct LockRequest {
    pub(super) areas: Vec<Area>,
    /// Whether others may have the same areas in the same way.
    pub(super) shared: bool,
}

/// All areas that somebody holds or waits for, by their fixed part: a prefix stands before what it
/// covers, so that whatever overlaps is found next to each other.
#[derive(Default)]
pub(super) struct Ground(BTreeMap<String, Spot>);

/// What is known of one fixed part: of the area itself, and of everything that begins like it.
#[derive(Default)]
struct Spot {
    closed: Claims,
    open: Claims,
}

#[derive(Default)]
struct Claims {
    sharing: usize,
    alone: usize,
    /// Who waits, in the order in which they came.
    waiting: BTreeSet<u64>,
    /// Those of them who want to be alone.
    waiting_alone: BTreeSet<u64>,
}

impl Ground {
    /// Whether nobody holds what is wished, and nobody waits for it who came before this ticket.
    pub(super) fn is_free(&self, wish: &LockRequest, ticket: u64) -> bool {
        let clashes = |claims: &Claims| claims.clash(wish.shared, ticket);
        !wish.areas.iter().any(|area| self.around(area, &mut |claims| clashes(claims)))
    }

    /// Takes everything that is wished, at once.
    pub(super) fn hold(&mut self, wish: &LockRequest) {
        self.each(wish, |claims| match wish.shared {
            true => claims.sharing += 1,
            false => claims.alone += 1,
        });
    }

    /// Gives it back.
    pub(super) fn let_go(&mut self, wish: &LockRequest) {
        self.each(wish, |claims| match wish.shared {
            true => claims.sharing = claims.sharing.saturating_sub(1),
            false => claims.alone = claims.alone.saturating_sub(1),
        });
        self.sweep(wish);
    }

    pub(super) fn wait(&mut self, wish: &LockRequest, ticket: u64) {
        self.each(wish, |claims| {
            claims.waiting.insert(ticket);
            if !wish.shared {
                claims.waiting_alone.insert(ticket);
            }
        });
    }

    pub(super) fn wait_no_more(&mut self, wish: &LockRequest, ticket: u64) {
        self.each(wish, |claims| {
            claims.waiting.remove(&ticket);
            claims.waiting_alone.remove(&ticket);
        });
        self.sweep(wish);
    }

    /// Who may be able to go on now that this was given back: at each place the first who waits, and
    /// those who share up to the first who does not.
    pub(super) fn first_around(&self, wish: &LockRequest) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for area in &wish.areas {
            self.around(area, &mut |claims| {
                let alone = claims.waiting_alone.first().copied().unwrap_or(u64::MAX);
                found.extend(claims.waiting.range(..alone));
                found.extend(claims.waiting.first().filter(|first| **first == alone));
                false
            });
        }
        found
    }

    /// Looks at all that overlaps with an area, until one look is enough.
    fn around(&self, area: &Area, enough: &mut dyn FnMut(&Claims) -> bool) -> bool {
        self.at_or_above(area, enough) || self.below(area, enough)
    }

    /// Everything whose fixed part this one begins with.
    fn at_or_above(&self, area: &Area, enough: &mut dyn FnMut(&Claims) -> bool) -> bool {
        let mut end = Included(area.fixed());
        while let Some((name, spot)) = self.0.range::<str, _>((Unbounded, end)).next_back() {
            let common = common(name, area.fixed());
            if common.len() < name.len() {
                // Nothing between the two is a beginning of the area.
                end = Included(common);
                continue;
            }
            if spot.overlapping(name, area).any(&mut *enough) {
                return true;
            }
            end = Excluded(common);
        }
        false
    }

    /// Everything whose fixed part goes on where this one ends.
    fn below(&self, area: &Area, enough: &mut dyn FnMut(&Claims) -> bool) -> bool {
        let step = if area.is_open() { "" } else { "/" };
        let start = format!("{}{step}", area.fixed());
        let from = if step.is_empty() { Excluded(start.as_str()) } else { Included(&*start) };
        let following = self.0.range::<str, _>((from, Unbounded));
        let following = following.take_while(|(name, _)| name.starts_with(&start));
        following.into_iter().any(|(name, spot)| spot.overlapping(name, area).any(&mut *enough))
    }

    fn each(&mut self, wish: &LockRequest, mut change: impl FnMut(&mut Claims)) {
        for area in &wish.areas {
            if !self.0.contains_key(area.fixed()) {
                self.0.insert(area.fixed().to_owned(), Spot::default());
            }
            if let Some(spot) = self.0.get_mut(area.fixed()) {
                change(if area.is_open() { &mut spot.open } else { &mut spot.closed });
            }
        }
    }

    /// Forgets names that nobody uses any more.
    fn sweep(&mut self, wish: &LockRequest) {
        for area in &wish.areas {
            if self.0.get(area.fixed()).is_some_and(Spot::is_idle) {
                self.0.remove(area.fixed());
            }
        }
    }
}

impl Spot {
    fn overlapping<'s>(
        &'s self,
        name: &str,
        area: &Area,
    ) -> impl Iterator<Item = &'s Claims> + use<'s> {
        let closed = area.overlaps(name, false).then_some(&self.closed);
        let open = area.overlaps(name, true).then_some(&self.open);
        closed.into_iter().chain(open)
    }

    fn is_idle(&self) -> bool {
        self.closed.is_idle() && self.open.is_idle()
    }
}

impl Claims {
    fn clash(&self, shared: bool, ticket: u64) -> bool {
        let earlier = if shared { &self.waiting_alone } else { &self.waiting };
        self.alone > 0
            || !shared && self.sharing > 0
            || earlier.first().is_some_and(|first| *first < ticket)
    }

    fn is_idle(&self) -> bool {
        self.sharing == 0 && self.alone == 0 && self.waiting.is_empty()
    }
}

/// What two names begin with in common.
fn common<'n>(one: &str, other: &'n str) -> &'n str {
    let differs = one.chars().zip(other.char_indices()).find(|(left, (_, right))| left != right);
    let end = match differs {
        Some((_, (at, _))) => at,
        None => one.len().min(other.len()),
    };
    other.get(..end).unwrap_or_default()
}
