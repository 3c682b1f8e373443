//! libFuzzer drives `haft_fuzz::json_rpc`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::json_rpc(data));
