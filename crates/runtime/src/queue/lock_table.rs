//! Lock table: shared and exclusive locks by area, with the waiters of each; finds conflicts by
//! prefix instead of a full scan.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

use super::area::Area;

/// Locks that one call requests.
#[derive(Debug, Default)]
pub(super) struct LockRequest {
    pub(super) areas: Vec<Area>,
    /// Shared locks: other shared requests may hold the same areas.
    pub(super) shared: bool,
}

/// All held and awaited areas, ordered by their fixed part: a prefix sorts before what it covers,
/// so overlapping areas are neighbours.
#[derive(Default)]
pub(super) struct Ground(BTreeMap<String, Spot>);

/// Claims on one fixed part: on the exact area, and on the prefix.
#[derive(Default)]
struct Spot {
    closed: Claims,
    open: Claims,
}

#[derive(Default)]
struct Claims {
    sharing: usize,
    alone: usize,
    /// Tickets of all waiters, in order of arrival.
    waiting: BTreeSet<u64>,
    /// Tickets of the waiters for an exclusive lock.
    waiting_alone: BTreeSet<u64>,
}

impl Ground {
    /// Returns true if no holder conflicts with the request and no waiter with an earlier ticket
    /// does.
    pub(super) fn is_free(&self, wish: &LockRequest, ticket: u64) -> bool {
        let clashes = |claims: &Claims| claims.clash(wish.shared, ticket);
        !wish.areas.iter().any(|area| self.around(area, &mut |claims| clashes(claims)))
    }

    /// Acquires every requested lock at once.
    pub(super) fn hold(&mut self, wish: &LockRequest) {
        self.each(wish, |claims| match wish.shared {
            true => claims.sharing += 1,
            false => claims.alone += 1,
        });
    }

    /// Releases the locks.
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

    /// Tickets that the release may unblock: in each overlapping area the first waiter, and the
    /// shared waiters before the first exclusive one.
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

    /// Visits all claims that overlap with an area until `enough` returns true.
    fn around(&self, area: &Area, enough: &mut dyn FnMut(&Claims) -> bool) -> bool {
        self.at_or_above(area, enough) || self.below(area, enough)
    }

    /// Visits the areas whose fixed part is a prefix of this one.
    fn at_or_above(&self, area: &Area, enough: &mut dyn FnMut(&Claims) -> bool) -> bool {
        let mut end = Included(area.fixed());
        while let Some((name, spot)) = self.0.range::<str, _>((Unbounded, end)).next_back() {
            let common = common(name, area.fixed());
            if common.len() < name.len() {
                // No entry between the two is a prefix of the area.
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

    /// Visits the areas whose fixed part extends this one.
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

    /// Removes entries without holders or waiters.
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

/// Common prefix of two names.
fn common<'n>(one: &str, other: &'n str) -> &'n str {
    let differs = one.chars().zip(other.char_indices()).find(|(left, (_, right))| left != right);
    let end = match differs {
        Some((_, (at, _))) => at,
        None => one.len().min(other.len()),
    };
    other.get(..end).unwrap_or_default()
}
