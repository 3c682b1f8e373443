//! Tests of the cli driver, with real programs in the real sandbox.

mod crowd;
mod ends;
mod installing;
mod lines;
mod logins;
mod outputs;
mod promises;
mod refused;
mod stage;
mod telling;
mod walls;
