//! Calls through the whole pipeline, as an embedder makes them.

mod approval;
mod broken;
mod cancel;
mod ends;
mod inputs;
mod progress;
mod refusals;
mod results;
mod secrets;
mod smoke;
mod stage;
mod story;
mod weighing;
