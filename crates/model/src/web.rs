//! URLs: one parser for the stages that judge, check and reach them.
//!
//! A second parser would be a second opinion about which host a text means.

pub use url::{Host, Url};
