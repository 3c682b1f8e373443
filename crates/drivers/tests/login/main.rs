//! Tests of logins against a local authorization server, with every outcome.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod callback;
mod device;
