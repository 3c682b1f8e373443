//! Pipeline tests: calls through the whole pipeline, as an embedder makes them.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a stage that cannot be set, or a story that is not there, fails the test"
)]

mod approval;
mod at_most_once;
mod attempts;
mod auditor;
mod batch;
mod batches;
mod broken;
mod cancel;
mod context;
mod deadlines;
mod ends;
mod fallback;
mod faults;
mod forms;
mod inputs;
mod intents;
mod keys;
mod lapses;
mod limits;
#[path = "../support/meddled.rs"]
mod meddled;
mod numbers;
#[path = "../../../drivers/tests/support/office.rs"]
mod office;
mod outage;
mod overtaken;
mod permits;
mod progress;
mod properties;
mod readiness;
mod rebuild;
mod recovery;
mod refusals;
mod results;
mod schemas;
mod secrets;
mod server_login;
mod smoke;
mod stage;
mod stopping;
mod story;
mod turns;
mod undo;
mod vault;
mod weighing;
mod wishes;
