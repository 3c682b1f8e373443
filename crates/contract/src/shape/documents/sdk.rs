//! `kind: sdk` (AIP-33): the shapes that it adds to a driver and to an entry, and their typed values.

use serde::Deserialize;
use serde_json::Value;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Formed, Map, Object, Text, Word};
use crate::shape::documents::cli::DRIVER_SANDBOX;
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
        optional("sandbox", "D025", Map(&DRIVER_SANDBOX), "What the sandbox opens for it."),
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

/// The fields that a driver of kind sdk adds.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SdkFields {
    /// The package.
    pub package: String,
    /// The package manager that it comes from, or `local`.
    pub package_manager: String,
    /// The supported versions, as a range of npm or pip.
    pub package_version: Option<String>,
    /// The module to load, if it is not the package itself.
    pub entrypoint: Option<String>,
    /// How the module is loaded.
    pub import_style: Option<String>,
    /// How its functions stream.
    pub streaming: Option<SdkStreaming>,
    /// Options for the client that its functions belong to.
    pub client_options: Option<Value>,
}

/// How a function streams.
#[derive(Clone, Debug, Deserialize)]
pub struct SdkStreaming {
    /// How values arrive.
    pub mode: Option<String>,
}

/// `metadata.sdk` of an entry: a function.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SdkEntry {
    /// The function, with dots.
    pub function_ref: String,
    /// The templates of its arguments.
    pub args_template: Option<Value>,
    /// The part of the return value that is the output; `$` by default.
    pub result_extract: Option<String>,
    /// How this function streams; as the driver says where absent.
    pub streaming: Option<SdkStreaming>,
}
