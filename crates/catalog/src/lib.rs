//! stub

pub mod export;
