//! libFuzzer drives `haft_fuzz::sandbox_profile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::sandbox_profile(data));
