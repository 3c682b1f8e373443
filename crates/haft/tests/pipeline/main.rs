//! Calls through the whole pipeline, as an embedder makes them.

mod smoke;
mod stage;
