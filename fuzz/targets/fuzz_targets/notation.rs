//! libFuzzer drives `haft_fuzz::notation`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::notation(data));
