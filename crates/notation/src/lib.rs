//! The small languages inside a manifest: JSON Schema, `${…}` templates, conditions, paths, patterns,
//! version ranges.
//!
//! Owns every engine that reads a language an author may write into a field; each is compiled once,
//! pure and bounded, because its text comes from files we do not trust.
//! Must never know which manifest a text came from. Start with [`Schema`].

mod condition;
mod cost;
mod fault;
pub mod keywords;
mod nulls;
mod path;
mod pattern;
pub mod range;
mod render;
mod schema;
mod template;
mod visible;

pub use condition::Condition;
pub use cost::is_small;
pub use fault::NotationFault;
pub use nulls::without_nulls;
pub use path::Path;
pub use pattern::{Pattern, SearchPattern, ecma_fault, ecma_group};
pub use render::{Argument, Scope, fill};
pub use schema::{Library, Schema, Violation, inspect};
pub use template::{Expression, Filter, Piece, Template};
pub use visible::{internal_fields, model_facing, without_internal};
