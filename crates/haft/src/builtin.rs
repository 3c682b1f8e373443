//! Builtin tools: the contracts that are in every catalog without a file, and their driver.

use std::sync::{Arc, LazyLock};

use haft_contract::{Driver, ManifestKind, ParsedManifest, Reading, Source, ToolManifest, read_as};

/// The driver's id.
pub const BUILTIN_DRIVER: &str = "haft-builtin";

macro_rules! texts {
    ($($kind:ident $id:literal $path:literal)*) => {
        [$((ManifestKind::$kind, concat!("builtin:", $id), include_str!(concat!("../builtin/", $path)))),*]
    };
}

/// The id of the driver that reaches the prompts and resources of backends.
pub(crate) const UPSTREAM_DRIVER: &str = "haft-upstream";

/// The contract and the driver that are there only where some driver has such a backend.
const UPSTREAM: [(ManifestKind, &str, &str); 2] = texts! {
    Tool "upstream.request" "tools/upstream.request/TOOL.md"
    Driver "haft-upstream" "drivers/haft-upstream/DRIVER.md"
};

static UPSTREAM_READINGS: LazyLock<Vec<Reading>> = LazyLock::new(|| read(UPSTREAM));

/// The contract and the driver by which prompts and resources are requested.
pub(crate) fn upstream() -> Option<(&'static Arc<ToolManifest>, &'static Arc<Driver>)> {
    match &UPSTREAM_READINGS[..] {
        [
            Reading { manifest: Some(ParsedManifest::Tool(tool)), .. },
            Reading { manifest: Some(ParsedManifest::Driver(driver)), .. },
        ] => Some((tool, driver)),
        _ => None,
    }
}

fn read<const N: usize>(texts: [(ManifestKind, &'static str, &'static str); N]) -> Vec<Reading> {
    let reading = |(kind, file, text)| read_as(kind, &Source::new(file, text));
    texts.into_iter().map(reading).collect()
}

/// The texts, with the names that stand in for those of files.
const TEXTS: [(ManifestKind, &str, &str); 7] = texts! {
    Tool "fs.list" "tools/fs.list/TOOL.md"
    Tool "fs.read" "tools/fs.read/TOOL.md"
    Tool "fs.write" "tools/fs.write/TOOL.md"
    Tool "http.fetch" "tools/http.fetch/TOOL.md"
    Tool "text.search" "tools/text.search/TOOL.md"
    Tool "time.now" "tools/time.now/TOOL.md"
    Driver "haft-builtin" "drivers/haft-builtin/DRIVER.md"
};

/// Read once: every workspace of the process has the same ones.
static READINGS: LazyLock<Vec<Reading>> = LazyLock::new(|| read(TEXTS));

/// The contracts.
pub(crate) fn tools() -> impl Iterator<Item = &'static Arc<ToolManifest>> {
    READINGS.iter().filter_map(|reading| match &reading.manifest {
        Some(ParsedManifest::Tool(tool)) => Some(tool),
        _ => None,
    })
}

/// The driver that serves them.
pub(crate) fn driver() -> Option<&'static Arc<Driver>> {
    READINGS.iter().find_map(|reading| match &reading.manifest {
        Some(ParsedManifest::Driver(driver)) => Some(driver),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wrong_with_a_builtin_contract() {
        for reading in READINGS.iter().chain(UPSTREAM_READINGS.iter()) {
            assert_eq!(reading.diagnostics, [], "{}", reading.source.file());
            assert!(reading.manifest.is_some(), "{}", reading.source.file());
        }
    }

    #[test]
    fn what_reaches_backends_is_a_contract_and_a_driver() {
        assert!(upstream().is_some());
    }

    #[test]
    fn builtin_driver_implements_exactly_the_builtin_contracts() {
        let driver = driver().unwrap();
        assert_eq!((driver.id.as_str(), driver.host_id.as_deref()), (BUILTIN_DRIVER, Some("haft")));
        let mut served: Vec<&str> =
            driver.implements.iter().map(|entry| entry.tool.as_str()).collect();
        served.sort_unstable();
        let promised: Vec<&str> = tools().map(|tool| tool.key.id.as_str()).collect();
        assert_eq!(served, promised);
    }
}
