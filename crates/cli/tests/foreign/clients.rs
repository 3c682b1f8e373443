//! Interoperability tests: third-party clients and agents against `haft serve` over HTTP and stdio;
//! each reads, asks a person, writes once and hears of progress.
//!
//! They come as packages of npm and PyPI of fixed versions, which are installed once into the target
//! folder. Without npm and pip the tests fail: what was not tried is not known to work.

mod agents;
mod deferred;
mod inspector;
mod installed;
mod libraries;
mod notes;
mod script;
