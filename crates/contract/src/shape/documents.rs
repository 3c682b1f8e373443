//! The tables of every document Haft reads.

pub mod action;
pub mod agent_tool;
pub mod aruntime;
pub mod cli;
pub mod driver;
pub mod haft;
pub mod http;
pub mod mcp;
pub mod sdk;
pub mod tool;
