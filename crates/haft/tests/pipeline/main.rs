//! Calls through the whole pipeline, as an embedder makes them.

mod approval;
mod broken;
mod cancel;
mod ends;
mod faults;
mod inputs;
mod permits;
mod progress;
mod properties;
mod rebuild;
mod refusals;
mod results;
mod secrets;
mod smoke;
mod stage;
mod story;
mod weighing;
