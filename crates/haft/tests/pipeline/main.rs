//! Calls through the whole pipeline, as an embedder makes them.

mod refusals;
mod smoke;
mod stage;
mod story;
