//! Holding values against contracts, so that a check that takes long holds no other call up.

use haft_catalog::{Entry, Sender};
use haft_model::Stop;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// The input with its defaults filled in, if it fits what its sender may send.
pub(crate) fn parse(entry: &Entry, input: Value, sender: Sender) -> Result<Value, Stop> {
    match entry.input_takes_long(&input, sender) {
        false => entry.parse(input, sender),
        true => beside(|| entry.parse(input, sender)),
    }
}

/// Whether an output is what the contract promises.
pub(crate) fn check_output(entry: &Entry, output: &Value) -> Result<(), Stop> {
    match entry.output_takes_long(output) {
        false => entry.check_output(output),
        true => beside(|| entry.check_output(output)),
    }
}

/// Does something that takes long while the other tasks of this thread go on elsewhere. Where there is one
/// thread alone, they wait: no check takes more steps than its schema may, which is about a second.
fn beside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}
