//! `kind: cli` (AIP-29): the shapes that it adds to a driver and to an entry, and their typed
//! values.

use std::collections::BTreeMap;

use haft_notation::Pattern;
use serde::Deserialize;

use super::BIN;
use super::sandbox::KIND_SANDBOX;
use super::setup::{STEPS, SetupEntry};
use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Either, Flag, Formed, Kinds, List, Map, Names, Object, Text, Word};
use crate::shape::form::{FILLED, TEMPLATE, TextFormat};
use crate::shape::{Shape, optional, required};

/// What a DRIVER.md of kind cli adds: the bundle's fields, without those that `implements` replaces.
pub static KIND: Shape = Shape {
    title: "DRIVER.md of kind cli",
    strangers: Kept,
    fields: &[
        required("bin", "C005", Formed(&BIN), "The program."),
        optional("bin_args", "C006", List(0, &Text(0, usize::MAX)), "Arguments before all others."),
        optional(
            "setup",
            "C010",
            List(0, &Kinds("kind", STEPS)),
            "What to do once after installing.",
        ),
        optional("sandbox", "C011", Map(&KIND_SANDBOX), "What it may touch."),
        optional("output", "C012", Map(&OUTPUT), "How its output is read."),
        optional(
            "commands",
            "C013",
            Names(None, &Either(&[Formed(&FILLED), Object])),
            "Subcommands.",
        ),
    ],
    moved: &[],
};

pub(super) static OUTPUT: Shape = Shape {
    title: "`output`",
    strangers: Refused(""),
    fields: &[
        optional("default_format", "", Word(FORMATS), "What it prints."),
        optional("json_flag", "", Formed(&FILLED), "The flag that makes it print JSON."),
        optional("json_flag_args", "", List(0, &Text(0, usize::MAX)), "What follows that flag."),
        optional(
            "exit_codes",
            "",
            Names(Some(&EXIT_CODE), &Formed(&MEANING)),
            "What its exit codes mean.",
        ),
        optional("stream", "", Word(STREAMS), "Where its output is."),
        optional("error_stream", "", Word(STREAMS), "Where its errors are."),
    ],
    moved: &[],
};

/// `metadata.cli` of an `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.cli`",
    strangers: Refused("C050"),
    fields: &[
        optional(
            "argv",
            "C040",
            List(0, &Formed(&TEMPLATE)),
            "The arguments, one template each; no shell reads them.",
        ),
        optional("stdin", "C041", Formed(&TEMPLATE), "What is written to its standard input."),
        optional("output_format", "C042", Word(FORMATS), "What this command prints."),
        optional("streaming", "C043", Flag, "Whether its output is progress."),
    ],
    moved: &[],
};

static EXIT_CODE: TextFormat = TextFormat {
    what: "an exit code",
    pattern: Some(Pattern::new(r"^\d+$")),
    length: (1, 10),
    also: |_| None,
    help: "write a number",
};

static MEANING: TextFormat = TextFormat {
    what: "a meaning",
    pattern: Some(Pattern::new(r"^[a-z][a-z0-9_]+$")),
    length: (2, usize::MAX),
    also: |_| None,
    help: "use lowercase letters, digits and underscores, as in `auth_required`",
};

const FORMATS: &[&str] = &["text", "json", "yaml", "binary"];
const STREAMS: &[&str] = &["stdout", "stderr", "mixed"];

/// The fields that a driver of kind cli adds.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CliFields {
    /// The program: a name or a path.
    pub bin: String,
    /// Arguments before all others.
    #[serde(default)]
    pub bin_args: Vec<String>,
    /// The set-up steps.
    #[serde(default)]
    pub setup: Vec<SetupEntry>,
    /// How the output of the program is parsed.
    #[serde(default)]
    pub output: CliOutput,
}

/// How the output of a program is parsed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CliOutput {
    /// The format where an entry names none; text by default.
    pub default_format: Option<OutputFormat>,
    /// The flag that makes the program print JSON.
    pub json_flag: Option<String>,
    /// The arguments that follow that flag.
    pub json_flag_args: Vec<String>,
    /// The meaning of each exit code.
    pub exit_codes: BTreeMap<String, String>,
    /// The stream that carries the output; stdout by default.
    pub stream: Option<OutputStream>,
    /// The stream that carries errors; stderr by default.
    pub error_stream: Option<OutputStream>,
}

/// The output format of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Plain text.
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Bytes.
    Binary,
}

/// The stream that carries the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Both, interleaved.
    Mixed,
}

/// `metadata.cli` of an entry: a command line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CliEntry {
    /// The arguments, a template each.
    pub argv: Vec<String>,
    /// The template of the standard input.
    pub stdin: Option<String>,
    /// The output format of this command; the driver's where absent.
    pub output_format: Option<OutputFormat>,
    /// Whether the output is streamed while the program runs.
    pub streaming: bool,
}
