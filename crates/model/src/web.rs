//! Web addresses, read by one parser for those who judge them, check them and reach them.
//!
//! A second parser would be a second opinion about which host a text means.

pub use url::{Host, Url};
