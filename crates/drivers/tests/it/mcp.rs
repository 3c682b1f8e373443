//! Tests of the mcp driver, with a confined local server.

mod answers;
mod elsewhere;
mod eras;
mod judged;
mod keeping;
mod login;
mod losses;
mod promises;
mod refusals;
mod remote;
mod secrets;
mod stage;
mod tasks;
mod transcripts;
mod trust;
