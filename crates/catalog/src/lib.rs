//! Catalog: an immutable snapshot of contracts and drivers, and the resolver that plans calls over
//! it.
//!
//! Owns which driver claims which contract, how one is chosen and why the others were not. Must
//! never do anything: no disk, no clock, no socket; health and logins are data that the caller
//! passes in. Start with [`Snapshot::build`] and [`Snapshot::plan`].

mod actions;
mod bind;
mod claims;
mod entry;
pub mod export;
mod made;
mod plan;
mod rank;
mod reference;
mod route;
mod search;
mod snapshot;
mod state;
mod surface;
mod told;
mod wire_names;

pub use bind::Binding;
pub use entry::{Block, CatalogEntry};
pub use haft_contract::StatusQuery;
pub use haft_model::AuthState;
pub use plan::{Explanation, Sender};
pub use route::AvoidedDriver;
pub use search::{Hit, Index, Match, SearchResult, Text, WordIndex};
pub use snapshot::{Parts, RoutingPolicy, Snapshot};
pub use state::{
    Circuit, DriverHost, DriverState, DriverStates, Health, Mend, OpenBreaker, Outlook, Probe,
};
pub use surface::{
    Loading, ModelAbilities, Moment, Provider, Revision, RoleConstraints, Surface, View, ViewRow,
    Viewer, Visibility,
};
pub use told::DriverSummary;
pub use wire_names::{LONGEST_NAME, TOOL_LOAD, TOOL_SEARCH, WireNames, is_wire_name};
