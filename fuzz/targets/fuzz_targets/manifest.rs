//! libFuzzer drives `haft_fuzz::manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::manifest(data));
