//! As many open files as the system lets this process have: every connection is one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// What the ledger, calls and programs may open beside connections, and the least that these get.
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
