//! `install`, `version_check` and `requires` of a driver: their shapes, and the typed values that
//! provisioning reads.

use haft_notation::Pattern;
use serde::Deserialize;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Flag, Formed, Integer, List, Word};
use crate::shape::form::{FILLED, INSIDE, RANGE, TextFormat, URL, VERSION_PATTERN};
use crate::shape::{Shape, optional, required};

/// `install` of a driver or a bundle: unknown methods are skipped with a warning, so any is read.
pub static INSTALL: Shape = Shape {
    title: "an `install` entry",
    strangers: Refused(""),
    fields: &[
        required(
            "method",
            "",
            Formed(&FILLED),
            "brew, apt, dnf, pacman, choco, scoop, npm, pip, cargo, go, curl, download or vendored.",
        ),
        optional("package", "", Formed(&FILLED), "The package."),
        optional("global", "", Flag, "npm: install for everybody."),
        optional("user", "", Flag, "pip: install for this user."),
        optional("url", "", Formed(&URL), "curl and download: where from."),
        optional("verify_sha256", "", Formed(&SHA256), "curl and download: what it must hash to."),
        optional("extract_bin", "", Formed(&FILLED), "download: the program inside."),
        optional("path", "", Formed(&INSIDE), "vendored: the program in this workspace."),
        optional("experimental", "", Flag, "Skipped with a warning."),
    ],
    moved: &[],
};

/// `version_check` of a driver or a bundle.
pub static VERSION_CHECK: Shape = Shape {
    title: "`version_check`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that prints the version."),
        required(
            "parse",
            "",
            Formed(&VERSION_PATTERN),
            "A pattern whose first group is the version.",
        ),
        required("range", "", Formed(&RANGE), "The versions that will do, as an npm range."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long the command may take.")
            .or("5000"),
    ],
    moved: &[],
};

/// Requirements on the machine of a driver or a bundle.
pub static MACHINE: Shape = Shape {
    title: "`requires`",
    strangers: Refused(""),
    fields: &[
        optional("os", "", List(0, &Word(&["darwin", "linux", "windows"])), "Operating systems."),
        optional("arch", "", List(0, &Word(&["x64", "arm64", "x86", "arm"])), "Processors."),
        optional("min_disk_mb", "", Integer(0, i64::MAX), "Free disk.").recorded(),
        optional("min_memory_mb", "", Integer(0, i64::MAX), "Memory.").recorded(),
    ],
    moved: &[],
};

static SHA256: TextFormat = TextFormat {
    what: "a SHA-256",
    pattern: Some(Pattern::new(r"^[0-9a-f]{64}$")),
    length: (64, 64),
    also: |_| None,
    help: "write 64 lowercase hexadecimal digits",
};

/// One way to install a program, as it is written.
#[derive(Clone, Debug, Deserialize)]
pub struct InstallEntry {
    /// The installer, or `curl`, `download`, `vendored`.
    pub method: String,
    /// The package of an installer.
    pub package: Option<String>,
    /// npm: whether it is installed for every project; true by default.
    pub global: Option<bool>,
    /// pip: whether it is installed for this user alone.
    #[serde(default)]
    pub user: bool,
    /// The URL of a download.
    pub url: Option<String>,
    /// The digest of a download, in hexadecimal.
    pub verify_sha256: Option<String>,
    /// The program inside a downloaded archive.
    pub extract_bin: Option<String>,
    /// The program in the workspace, for `vendored`.
    pub path: Option<String>,
    /// Whether the entry is skipped.
    #[serde(default)]
    pub experimental: bool,
}

/// How to learn the version of a program.
#[derive(Clone, Debug, Deserialize)]
pub struct VersionCheck {
    /// The command that prints the version.
    pub cmd: String,
    /// The pattern whose first group is the version.
    pub parse: String,
    /// The accepted versions, as an npm range.
    pub range: String,
    /// Timeout of the command in milliseconds; 5000 by default.
    pub timeout_ms: Option<u64>,
}
