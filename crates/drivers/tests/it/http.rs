//! Tests of the http driver, with a local backend.

mod answers;
mod bodies;
mod connections;
mod losses;
mod pacing;
mod paging;
mod promises;
mod reaching;
mod requests;
mod secrets;
mod stage;
mod streams;
mod unsupported;
