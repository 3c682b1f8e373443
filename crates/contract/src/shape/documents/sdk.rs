//! Shape of `kind: sdk` (AIP-33).

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Formed, Map, Object, Text, Word};
use crate::shape::form::{FILLED, JSON_PATH, PACKAGE_RANGE};
use crate::shape::{MovedField, Shape, optional, required};

/// The fields that an SDK driver adds.
pub static SDK: Shape = Shape {
    title: "DRIVER.md of kind sdk",
    strangers: Kept,
    fields: &[
        required("package", "K001", Text(1, usize::MAX), "The package."),
        required("package_manager", "K002", Word(MANAGERS), "Where it comes from."),
        optional(
            "package_version",
            "K003",
            Formed(&PACKAGE_RANGE),
            "Its versions, as a range of npm or pip.",
        ),
        optional("entrypoint", "K004", Formed(&FILLED), "The module to load."),
        optional(
            "import_style",
            "K005",
            Word(&["esm", "cjs", "python", "rust-crate", "go-module"]),
            "How it is loaded.",
        )
        .or("\"esm\""),
        optional("streaming", "K006", Map(&STREAMING), "How it streams."),
        optional("client_options", "K007", Object, "Options for the client it makes."),
    ],
    moved: &[],
};

/// Package managers.
const MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "pip", "poetry", "cargo", "go", "local"];

static STREAMING: Shape = Shape {
    title: "`streaming`",
    strangers: Refused(""),
    fields: &[optional("mode", "", Word(&["async-iterator", "callback"]), "How values arrive.")],
    moved: &[],
};

/// `metadata.sdk` of an `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.sdk`",
    strangers: Refused("K020"),
    fields: &[
        required("function_ref", "K010", Formed(&FILLED), "The function, with dots."),
        optional("args_template", "K011", Object, "Its argument; `_0` to `_4` are positions."),
        optional(
            "result_extract",
            "K012",
            Formed(&JSON_PATH),
            "Which part of what it returns is the output.",
        ),
        optional("streaming", "K013", Map(&STREAMING), "How this function streams."),
    ],
    moved: &[MovedField {
        name: "package",
        code: "K030",
        help: "AIP-33 puts `package` at the top of DRIVER.md",
    }],
};
