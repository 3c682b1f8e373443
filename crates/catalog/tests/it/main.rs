//! Catalog tests: plans, routes, exports and surfaces of one snapshot.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod accepted;
mod export;
mod plan;
mod route;
mod surface;
mod wire_names;
