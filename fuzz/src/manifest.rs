//! Fuzz target for manifests: any bytes are parsed to an end, and every diagnostic points into the
//! text.

use haft_contract::{Report, Source, read, settings};

/// Every document is read as each of these.
const NAMES: [&str; 11] = [
    "TOOL.md",
    "DRIVER.md",
    "CLI.md",
    "ACTION.md",
    "POLICY.md",
    "GOVERNANCE.md",
    "SECRETS.md",
    "AUTH.md",
    "RUNNER.md",
    "SANDBOX.md",
    "x.tool.json",
];

const LARGEST: u64 = 1 << 20;

/// Reads the bytes as every kind of manifest and as haft.toml.
pub fn manifest(data: &[u8]) {
    for name in NAMES {
        let (source, report) = Source::from_bytes(name, data.to_vec(), LARGEST);
        let reading = read(&source, report);
        let outside = reading.diagnostics.iter().find(|found| found.span.end > data.len());
        assert!(outside.is_none(), "{name}: {outside:?}");
    }
    let (source, report) = Source::from_bytes("haft.toml", data.to_vec(), LARGEST);
    if !Report::has_errors(&report) {
        settings::read(&source);
    }
}
