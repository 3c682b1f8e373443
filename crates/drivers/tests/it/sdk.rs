//! Tests of the sdk driver, with local packages for both runtimes.

mod calls;
mod endings;
mod failures;
mod judged;
mod packages;
mod promises;
mod reaching;
mod secrets;
mod stage;
