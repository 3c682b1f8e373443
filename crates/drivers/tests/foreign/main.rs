//! Interoperability tests: the mcp driver with published third-party servers, the sdk driver with
//! published packages.
//!
//! npm and pip install them once, into the target's temporary folder, so these tests need both and
//! a registry or its cache.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod installed;
mod packages;
#[path = "../support/plans.rs"]
mod plans;
mod servers;
#[path = "../it/mcp/stage.rs"]
#[expect(dead_code, reason = "it is shared with the tests of our own server")]
mod stage;
