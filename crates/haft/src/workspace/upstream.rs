//! Upstream sightings: compares the tools of MCP servers, as calls see them, with `haft.lock`.
//!
//! A call notes what it saw in `.haft/upstream.lock`, on this machine; only a person's `haft accept`
//! takes it over into `haft.lock`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_catalog::CatalogEntry;
use haft_contract::{Lock, Upstream, UpstreamStanding};
use haft_drivers::mcp::{Sight, ToolStanding, Witness};
use haft_model::Digest;

use super::lock::write_own;
use super::side::{LOCK, SIGHTED};

/// The tools of servers that stand behind a contract, as the lock names them.
fn of(entry: &CatalogEntry) -> impl Iterator<Item = String> + '_ {
    entry.bindings.iter().filter_map(|binding| {
        let tool = binding.implements()?.metadata.pointer("/mcp/tool_name")?.as_str()?;
        Some(id(binding.driver.id.as_str(), tool))
    })
}

fn id(driver: &str, tool: &str) -> String {
    format!("{driver}/{tool}")
}

/// The lock's upstream pins, with the sightings of this machine since.
fn sighted(root: &Path, lock: &Lock) -> Lock {
    let mut sighted = match SIGHTED.load(root, None) {
        Ok(noted) => Lock::clone(&noted.value),
        Err(_) => Lock::unreadable(),
    };
    for (id, accepted) in &lock.upstream {
        let noted = sighted.upstream.remove(id);
        let last = noted.map(|noted| noted.seen.unwrap_or(noted.digest)).or(accepted.seen.clone());
        let seen = last.filter(|last| *last != accepted.digest);
        sighted.upstream.insert(id.clone(), Upstream { digest: accepted.digest.clone(), seen });
    }
    sighted.damaged |= lock.damaged;
    sighted
}

/// Accepts the tools of servers behind a contract as they were last seen here.
pub(super) fn accept(root: &Path, entry: &CatalogEntry, lock: &mut Lock) {
    let mut ids = of(entry).peekable();
    if ids.peek().is_none() {
        return;
    }
    let mut sighted = sighted(root, lock);
    if sighted.damaged {
        // What was seen is lost, and a person who accepts the contract lets it be seen anew.
        let _ = fs::remove_file(SIGHTED.path(root));
    }
    for id in ids {
        sighted.accept_upstream(&id);
        lock.upstream.extend(sighted.upstream.remove_entry(&id));
    }
}

/// Remembers what calls saw of the tools of servers, and says whether that was accepted.
pub(crate) fn witness(root: &Path) -> Witness {
    let root = root.to_owned();
    // Where nothing can be written, a change is at least noticed for as long as we run.
    let noticed: Mutex<HashMap<String, Digest>> = Mutex::default();
    Arc::new(move |sight: &Sight| {
        let id = id(&sight.driver, &sight.tool);
        let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(known) = LOCK.load(&root, None) else { return ToolStanding::Lost };
        let before = sighted(&root, &known.value);
        let mut after = before.clone();
        let seen = match after.sight(&id, &sight.digest) {
            UpstreamStanding::Known => ToolStanding::Accepted,
            UpstreamStanding::Changed => ToolStanding::Changed,
            UpstreamStanding::Lost => ToolStanding::Lost,
            UpstreamStanding::New => match noticed.get(&id) {
                Some(known) if *known != sight.digest => return ToolStanding::Changed,
                Some(_) | None => ToolStanding::Accepted,
            },
        };
        if seen == ToolStanding::Accepted {
            noticed.insert(id, sight.digest.clone());
        }
        if after != before {
            let file = SIGHTED.path(&root);
            let _ = file.parent().map(fs::create_dir_all);
            let _ = write_own(&file, &after);
        }
        seen
    })
}
