//! libFuzzer drives `haft_fuzz::ledger_recovery`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::ledger_recovery(data));
