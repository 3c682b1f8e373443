//! Code-defined manifests: contracts and drivers written in Rust, checked by the reader of files.

mod body;
mod code_driver;
mod definition;
mod driver;
mod schema;
mod tool;

use std::sync::Arc;

use haft_contract::{Diagnostic, ManifestKind, Reading, Severity, Source, read_as};
use serde_json::{Map, Value};

pub use body::{Args, ToolFailure};
pub use definition::{ToolDefinition, define_tool};
pub use driver::{DriverBuilder, DriverHandle, define_driver};
pub use tool::{Tool, ToolBuilder, ToolHandle};

/// Why something cannot be defined.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DefineError {
    /// The reader refuses it, as it would refuse a file that says the same.
    #[error("`{file}` cannot be defined: {}", first(.diagnostics))]
    Refused {
        /// The name that stands in for a file's.
        file: Arc<str>,
        /// Everything that is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// A driver says that it implements a tool, and has no body for it.
    #[error("driver `{driver}` implements `{tool}` and has no body for it")]
    NoBody {
        /// The driver's id.
        driver: String,
        /// The tool's id.
        tool: String,
    },
    /// A driver has a body for a tool that it does not say it implements.
    #[error("driver `{driver}` has a body for `{tool}` and does not say that it implements it")]
    NotImplemented {
        /// The driver's id.
        driver: String,
        /// The tool's id.
        tool: String,
    },
    /// A driver says of a body what only holds once there is one.
    #[error("driver `{driver}` says that a body reports its submission, before it has a body")]
    NothingToReport {
        /// The driver's id.
        driver: String,
    },
}

fn first(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let message = errors.next().map(|error| error.message.clone()).unwrap_or_default();
    match errors.count() {
        0 => message,
        more => format!("{message}, and {more} more"),
    }
}

/// Contracts and drivers that a program defines, to be added to a workspace.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    pub(crate) tools: Vec<DefinedManifest<haft_contract::ToolManifest>>,
    pub(crate) drivers: Vec<DriverHandle>,
}

impl Definitions {
    /// An empty set of definitions.
    pub fn new() -> Definitions {
        Definitions::default()
    }

    /// Adds a contract.
    pub fn tool<In, Out, Ctx>(mut self, handle: &ToolHandle<In, Out, Ctx>) -> Definitions {
        self.tools.push(handle.defined.clone());
        self
    }

    /// Adds a driver.
    pub fn driver(mut self, handle: &DriverHandle) -> Definitions {
        self.drivers.push(handle.clone());
        self
    }

    /// The text that stands in for a file's.
    pub(crate) fn source(&self, file: &str) -> Option<&Source> {
        let tools = self.tools.iter().map(|tool| &tool.source);
        let drivers = self.drivers.iter().map(|driver| &driver.defined.source);
        tools.chain(drivers).find(|source| &**source.file() == file)
    }

    /// The diagnostics of definitions that the reader accepted.
    pub(crate) fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let tools = self.tools.iter().flat_map(|tool| &tool.diagnostics);
        tools.chain(self.drivers.iter().flat_map(|driver| &driver.defined.diagnostics))
    }
}

/// Something that was defined, with the text it was read from.
#[derive(Debug)]
pub(crate) struct DefinedManifest<T> {
    pub(crate) value: Arc<T>,
    pub(crate) source: Source,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<T> Clone for DefinedManifest<T> {
    fn clone(&self) -> DefinedManifest<T> {
        DefinedManifest {
            value: self.value.clone(),
            source: self.source.clone(),
            diagnostics: self.diagnostics.clone(),
        }
    }
}

/// Writes a manifest down and reads it again, so that code is held to the rules of files.
fn read_written<T>(
    kind: ManifestKind,
    file: &str,
    manifest: Map<String, Value>,
    take: impl Fn(Reading) -> Option<Arc<T>>,
) -> Result<DefinedManifest<T>, DefineError> {
    // JSON is YAML, and one value a line gives each its place.
    let text = format!("---\n{:#}\n---\n", Value::Object(manifest));
    let source = Source::new(file, text);
    let reading = read_as(kind, &source);
    let diagnostics = reading.diagnostics.clone();
    match take(reading) {
        Some(value) => Ok(DefinedManifest { value, source, diagnostics }),
        None => Err(DefineError::Refused { file: file.into(), diagnostics }),
    }
}
