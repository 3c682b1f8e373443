//! Calls through the whole pipeline, as an embedder makes them.

mod approval;
mod cancel;
mod inputs;
mod progress;
mod refusals;
mod smoke;
mod stage;
mod story;
mod weighing;
