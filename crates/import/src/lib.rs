//! Importers: manifests from OpenAPI documents, MCP servers, CLI help texts and client settings.
//!
//! Owns how their words become contracts and drivers, what is guessed on the way, and how a second
//! run keeps what people changed since. Must never touch a disk, a socket or a process: texts go
//! in, files and guesses come out. Sources are untrusted: descriptions are data, and effects are
//! assumed, not believed. Start with [`Import`] and [`openapi::import`].

pub mod cli;
pub mod client;
mod import;
mod manifest;
pub mod mcp;
mod merge;
pub mod openapi;
mod schema;
mod secret;
mod text;
mod yaml;

pub use import::{Error, File, Guess, Import, SchemaLoss, SkippedPart};
pub use manifest::read_document;
pub use merge::{Base, Conflict, Disk, KeptFile, MergePlan, Prune, merge};
pub use secret::{Secret, SecretForm as SecretKind};
