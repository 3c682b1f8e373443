//! What is in a catalog without a file: contracts and drivers that come with the program.

use std::collections::HashSet;
use std::sync::Arc;

use haft_catalog::Parts;
use haft_contract::{Driver, Implements, Tool};
use haft_model::ToolKey;

use crate::builtin;

/// Adds the builtin contracts that the workspace has not its own of, and their driver.
pub(super) fn add_builtin(parts: &mut Parts) {
    let own: HashSet<ToolKey> = parts.tools.iter().map(|tool| tool.key.clone()).collect();
    // One that its author got wrong may be stricter than ours, which must not take its place.
    let free = |tool: &&Arc<Tool>| {
        !own.contains(&tool.key) && !parts.unusable.contains_key(tool.key.id.as_str())
    };
    let tools: Vec<Arc<Tool>> = builtin::tools().filter(free).cloned().collect();
    if let Some(driver) = builtin::driver() {
        // Its id is taken before any file can take it.
        parts.drivers.insert(0, serving(driver, &tools, &parts.tools));
    }
    parts.given.extend(tools.iter().map(|tool| tool.key.clone()));
    parts.tools.extend(tools);
}

/// The builtin driver with the entries that hold here: those for builtin contracts, and those for
/// contracts of the workspace that ask for it by name. Others of the same id may mean something else.
fn serving(driver: &Arc<Driver>, builtin: &[Arc<Tool>], own: &[Arc<Tool>]) -> Arc<Driver> {
    let holds = |entry: &Implements| {
        let mut meant = own.iter().filter(|tool| {
            tool.key.id.as_str() == entry.tool && entry.range.contains(&tool.version)
        });
        match meant.next() {
            Some(first) => std::iter::once(first)
                .chain(meant)
                .all(|tool| tool.default_implementation.as_ref() == Some(&driver.id)),
            None => builtin.iter().any(|tool| tool.key.id.as_str() == entry.tool),
        }
    };
    if driver.implements.iter().all(holds) {
        return driver.clone();
    }
    let mut fewer = Driver::clone(driver);
    fewer.implements.retain(holds);
    Arc::new(fewer)
}
