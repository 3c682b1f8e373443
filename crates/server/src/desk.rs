//! What every wire stands at.

use std::io;
use std::sync::Arc;

use haft_runtime::{Runtime, World};

use crate::mcp::{Listings, Suspended};

/// What every wire stands at: the runtime, and what wires keep between requests.
pub struct Desk {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) suspended: Suspended,
    pub(crate) listings: Listings,
}

impl Desk {
    /// A desk before a runtime.
    pub fn new(runtime: Arc<Runtime>) -> io::Result<Desk> {
        let (suspended, listings) = (Suspended::new()?, Listings::default());
        Ok(Desk { runtime, suspended, listings })
    }

    pub(crate) fn world(&self) -> Arc<World> {
        self.runtime.world()
    }
}
