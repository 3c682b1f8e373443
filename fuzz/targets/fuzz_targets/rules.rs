//! libFuzzer drives `haft_fuzz::rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::rules(data));
