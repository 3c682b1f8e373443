//! Canary values that only the backend may see, and how to find them.

use std::path::Path;

pub(crate) const KEY: &str = "canary-key-5e1f90b7c3";
pub(crate) const CARD: &str = "canary-card-4929118870";

/// Both as base64 has them, without the last letters, which depend on what follows.
const ENCODED: [&str; 2] = ["Y2FuYXJ5LWtleS01ZTFmOTBiN2", "Y2FuYXJ5LWNhcmQtNDkyOTExODg3"];

/// The canary that bytes hold, in plain text or in base64.
pub(crate) fn canary_in(bytes: &[u8]) -> Option<String> {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let plain = [KEY, CARD].map(str::to_owned);
    let mut forms = plain.into_iter().chain([KEY, CARD].map(hex)).chain(ENCODED.map(str::to_owned));
    forms.find(|form| bytes.windows(form.len()).any(|part| part == form.as_bytes()))
}

/// No file below a folder holds a canary.
#[track_caller]
pub(crate) fn nothing_below(folder: &Path) -> usize {
    let mut looked_at = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            looked_at += nothing_below(&path);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(canary_in(&bytes), None, "{}", path.display());
            looked_at += 1;
        }
    }
    looked_at
}
