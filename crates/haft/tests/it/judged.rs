//! Rule enforcement tests: rules on addresses, paths and commands deny exactly what a driver would
//! really reach.

mod fuzzed;
mod moment;
mod opened;
mod stage;
mod table;
