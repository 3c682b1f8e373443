//! MCP integration tests over an in-process server: elicitation, resumption, and calls whose client
//! left.

mod asked;
mod flawed;
mod late;
mod long;
mod malformed;
mod replies;
mod sessions;
mod stage;
mod tasks;
mod transcripts;
