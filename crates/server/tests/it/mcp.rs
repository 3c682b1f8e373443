//! MCP integration tests over an in-process server: elicitation, resumption, and calls whose client
//! left.

mod asked;
mod flawed;
mod long;
mod malformed;
mod sessions;
mod stage;
mod straight;
mod tasks;
