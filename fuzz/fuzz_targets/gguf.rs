#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memscape_fuzz::gguf(bytes));
