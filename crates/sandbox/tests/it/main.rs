//! Sandbox tests: confined programs, the table of escapes, and what a hundred runs leave behind.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod confined;
mod escapes;
mod many;
