//! libFuzzer drives `haft_fuzz::numbers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::numbers(data));
