//! What calls see of somebody else's tools, held against `haft.lock`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_catalog::Entry;
use haft_contract::{Lock, Sighted};
use haft_drivers::mcp::{Seen, Sight, Witness};
use haft_model::Digest;

use super::lock::write;
use super::side::LOCK;

/// The tools of servers that stand behind a contract, as the lock names them.
pub(super) fn of(entry: &Entry) -> impl Iterator<Item = String> + '_ {
    entry.bindings.iter().filter_map(|binding| {
        let tool = binding.implements()?.metadata.pointer("/mcp/tool_name")?.as_str()?;
        Some(id(binding.driver.id.as_str(), tool))
    })
}

fn id(driver: &str, tool: &str) -> String {
    format!("{driver}/{tool}")
}

/// Remembers in the lock of a workspace what was accepted of the tools of servers.
pub(crate) fn witness(root: &Path) -> Witness {
    let root = root.to_owned();
    // Where the lock cannot be written, a change is at least noticed for as long as we run.
    let noticed: Mutex<HashMap<String, Digest>> = Mutex::default();
    Arc::new(move |sight: &Sight| {
        let id = id(&sight.driver, &sight.tool);
        let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(known) = LOCK.load(&root, None) else { return Seen::Lost };
        let mut lock = Lock::clone(&known.value);
        let seen = match lock.sight(&id, &sight.digest) {
            Sighted::Known => Seen::Accepted,
            Sighted::Changed => Seen::Changed,
            Sighted::Lost => Seen::Lost,
            Sighted::New => match noticed.get(&id) {
                Some(known) if *known != sight.digest => return Seen::Changed,
                Some(_) | None => Seen::Accepted,
            },
        };
        if seen == Seen::Accepted {
            noticed.insert(id, sight.digest.clone());
        }
        if lock != *known.value {
            let _ = write(&root, &lock);
        }
        seen
    })
}
