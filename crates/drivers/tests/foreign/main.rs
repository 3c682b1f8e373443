//! Drivers of kind mcp against servers of other people, as they are published.
//!
//! They are installed by npm and pip once, into the folder for what tests leave behind, so these tests
//! need both and a registry, or what they kept of one.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod installed;
#[path = "../support/plans.rs"]
mod plans;
mod servers;
#[path = "../mcp/stage.rs"]
#[expect(dead_code, reason = "it is shared with the tests of our own server")]
mod stage;
