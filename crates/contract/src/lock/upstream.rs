//! Upstream pins: the accepted digests of the tools of MCP servers.

use std::collections::btree_map::Entry as Slot;
use std::fmt::Write as _;

use haft_model::Digest;

use super::{Lock, quote};
use crate::read::text;
use crate::source::Node;

/// One tool of an upstream server: its accepted and its current digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The accepted digest.
    pub digest: Digest,
    /// The digest seen since, where it differs.
    pub seen: Option<Digest>,
}

/// How a listed tool compares with the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamStanding {
    /// Its digest is the accepted one.
    Known,
    /// Trust on first use: the lock has no record of it and accepts it now.
    New,
    /// Its digest differs from the accepted one.
    Changed,
    /// The lock is damaged, and what was accepted may be lost.
    Lost,
}

impl Lock {
    /// Records a sighting of a tool, `driver/tool`, and compares it with the lock.
    pub fn sight(&mut self, id: &str, digest: &Digest) -> UpstreamStanding {
        if self.damaged {
            return UpstreamStanding::Lost;
        }
        match self.upstream.entry(id.to_owned()) {
            Slot::Vacant(free) => {
                free.insert(Upstream { digest: digest.clone(), seen: None });
                UpstreamStanding::New
            }
            Slot::Occupied(mut known) if known.get().digest == *digest => {
                known.get_mut().seen = None;
                UpstreamStanding::Known
            }
            Slot::Occupied(mut known) => {
                known.get_mut().seen = Some(digest.clone());
                UpstreamStanding::Changed
            }
        }
    }

    /// Accepts a tool as it was last seen.
    pub fn accept_upstream(&mut self, id: &str) {
        if let Some(known) = self.upstream.get_mut(id)
            && let Some(seen) = known.seen.take()
        {
            known.digest = seen;
        }
    }
}

pub(super) fn write(lock: &Lock, out: &mut String) {
    for (id, known) in &lock.upstream {
        let (id, digest) = (quote(id), quote(known.digest.as_str()));
        let _ = writeln!(out, "\n[[upstream]]\nid = {id}\ndigest = {digest}");
        if let Some(seen) = &known.seen {
            let _ = writeln!(out, "seen = {}", quote(seen.as_str()));
        }
    }
}

pub(super) fn read(node: &Node) -> Option<(String, Upstream)> {
    let digest = Digest::from(text(node, "digest")?);
    let seen = text(node, "seen").map(Digest::from);
    Some((text(node, "id")?.to_owned(), Upstream { digest, seen }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn upstream_tool_is_pinned_on_first_use_until_reaccepted() {
        let (first, second) = (Digest::of(&1), Digest::of(&2));
        let again = |lock: &Lock| {
            let (read, found) = Lock::read(&Source::new("haft.lock", lock.write()));
            assert_eq!((&read, found.len()), (lock, 0));
            read
        };
        let mut lock = Lock::default();
        assert_eq!(lock.sight("d/t", &first), UpstreamStanding::New);
        lock = again(&lock);
        assert_eq!(lock.sight("d/t", &first), UpstreamStanding::Known);
        assert_eq!(lock.sight("d/t", &second), UpstreamStanding::Changed);
        lock = again(&lock);
        lock.accept_upstream("d/t");
        lock.accept_upstream("d/other");
        assert_eq!(lock.sight("d/t", &second), UpstreamStanding::Known);
        assert_eq!(again(&lock).sight("d/t", &first), UpstreamStanding::Changed);
        assert_eq!(Lock::unreadable().sight("d/t", &first), UpstreamStanding::Lost);
    }
}
