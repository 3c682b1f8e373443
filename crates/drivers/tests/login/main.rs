//! Logins against a server of the test's own: every way in which one ends.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod callback;
mod device;
