//! File descriptor limit: raises it as far as the system allows, since every connection takes one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Descriptors reserved for the ledger, calls and programs, and the least that connections get.
const OTHERS: u64 = 256;
const LEAST: u64 = 16;

/// Takes the room that there is, and says how many connections fit of those wanted.
pub(super) fn for_connections(wanted: usize) -> usize {
    let mut room = getrlimit(Resource::Nofile);
    room.current = room.maximum;
    // Where it may not grow, what there was has to do.
    let _ = setrlimit(Resource::Nofile, room);
    let files = getrlimit(Resource::Nofile).current;
    let left = files.map(|files| files.saturating_sub(OTHERS).max(LEAST));
    left.and_then(|left| usize::try_from(left).ok()).map_or(wanted, |left| wanted.min(left))
}
