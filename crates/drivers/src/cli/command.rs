//! Command of one contract: the command line of a manifest entry, and its exit code mapping.

use std::collections::{BTreeMap, BTreeSet};

use haft_contract::driver::manifest::{
    CliFields, DriverManifest, EntryMetadata, OutputFormat, OutputStream,
};
use haft_model::{Code, Stop};
use haft_notation::Template;
use serde_json::Value;

use super::ReadYaml;
use crate::declared::{Wrap, unsupported};

/// The program to run, and how to read its output.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) driver: String,
    pub(super) bin: String,
    pub(super) bin_args: Vec<String>,
    pub(super) argv: Vec<Template>,
    /// Arguments that make the program print JSON, where the entry asks for it.
    pub(super) json_args: Vec<String>,
    pub(super) stdin: Option<Template>,
    pub(super) dash_values: bool,
    pub(super) format: OutputFormat,
    pub(super) stream: OutputStream,
    pub(super) error_stream: OutputStream,
    /// Whether the output is streamed while the program runs.
    pub(super) streaming: bool,
    meanings: BTreeMap<i32, String>,
    not_committed: BTreeSet<i32>,
    pub(super) wrap: Wrap,
    /// Environment variables that hold a credential; each is also the name of its secret.
    pub(super) login: Vec<String>,
    /// The program's own files that hold a credential.
    pub(super) login_paths: Vec<String>,
    /// Environment variables that hold the path of a secret file, and the secret in it.
    pub(super) secret_files: BTreeMap<String, String>,
}

/// The meaning of an exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Fine,
    Wrong(Code),
    /// The program reports that its own timeout expired.
    TimedOut,
    /// An error of the driver's own, by its name.
    Own(String),
}

impl Command {
    /// Compiles the command of an entry.
    pub(super) fn compile(
        manifest: &DriverManifest,
        fields: &CliFields,
        entry: &EntryMetadata,
    ) -> Result<Command, Stop> {
        let id = &manifest.id;
        let (cli, haft) = (entry.cli.clone().unwrap_or_default(), entry.haft.clone());
        let printed = &fields.output;
        let argv = cli.argv.iter().map(|text| template(text, "argv", id));
        let flag =
            printed.json_flag.iter().filter(|_| cli.output_format == Some(OutputFormat::Json));
        let json_args = flag.flat_map(|flag| std::iter::once(flag).chain(&printed.json_flag_args));
        let login = manifest.auth.as_ref().map(|auth| auth.state.clone()).unwrap_or_default();
        Ok(Command {
            driver: id.clone(),
            bin: fields.bin.clone(),
            bin_args: fields.bin_args.clone(),
            argv: argv.collect::<Result<_, Stop>>()?,
            json_args: json_args.cloned().collect(),
            stdin: cli.stdin.map(|text| template(&text, "stdin", id)).transpose()?,
            dash_values: haft.dash_values,
            format: cli.output_format.or(printed.default_format).unwrap_or(OutputFormat::Text),
            stream: printed.stream.unwrap_or(OutputStream::Stdout),
            error_stream: printed.error_stream.unwrap_or(OutputStream::Stderr),
            streaming: cli.streaming,
            meanings: meanings(manifest, fields)?,
            not_committed: haft.not_committed.iter().filter_map(exit_code).collect(),
            wrap: Wrap(haft.wrap),
            login: login.env,
            login_paths: login.paths,
            secret_files: haft.secret_files,
        })
    }

    /// The meaning of an exit code: as the driver declares, else as AIP-29 reserves it.
    pub(super) fn meaning(&self, code: i32) -> Meaning {
        let stated = self.meanings.get(&code).map(String::as_str);
        let reserved = match code {
            0 => "ok",
            2 => "usage_error",
            4 => "auth_required",
            124 => "timeout",
            137 => "killed",
            _ => "error",
        };
        self.meaning_of_word(stated.unwrap_or(reserved))
    }

    /// The meaning of a signal. Shells report it as 128 plus its number.
    pub(super) fn meaning_of_signal(&self, signal: i32) -> Meaning {
        self.meaning_of_word(self.meanings.get(&(128 + signal)).map_or("killed", String::as_str))
    }

    /// The error behind a word of AIP-29, of AIP-14, or of the driver.
    fn meaning_of_word(&self, word: &str) -> Meaning {
        match word {
            "ok" => Meaning::Fine,
            "error" | "upstream_error" | "execution_failed" => {
                Meaning::Wrong(Code::ExecutionFailed)
            }
            "usage_error" => Meaning::Wrong(Code::InputValue),
            "auth_required" => Meaning::Wrong(Code::CredentialMissing),
            "timeout" => Meaning::TimedOut,
            "killed" => Meaning::Wrong(Code::DependencyUnavailable),
            "not_found" => Meaning::Wrong(Code::ResourceNotFound),
            "rate_limited" => Meaning::Wrong(Code::RateLimited),
            "unauthorised" => Meaning::Wrong(Code::PermissionDenied),
            "conflict" => Meaning::Wrong(Code::Conflict),
            own => Meaning::Own(format!("{}:{own}", self.driver)),
        }
    }

    /// Whether the driver vouches that this exit code means no effect.
    pub(super) fn vouches(&self, code: i32) -> bool {
        self.not_committed.contains(&code)
    }

    /// Refuses an output format without a parser.
    pub(super) fn can_be_read(&self, yaml: Option<ReadYaml>) -> Result<(), Stop> {
        match (self.format, yaml) {
            (OutputFormat::Yaml, None) => Err(unsupported(&self.driver, "output in YAML")),
            (
                OutputFormat::Text | OutputFormat::Json | OutputFormat::Binary | OutputFormat::Yaml,
                _,
            ) => Ok(()),
        }
    }
}

/// An exit code of `not_committed`; drivers of kind sdk write exceptions there.
fn exit_code(value: &Value) -> Option<i32> {
    i32::try_from(value.as_i64()?).ok()
}

/// Parses a template. It may not hold a secret: every user of a machine sees process arguments.
fn template(text: &str, field: &str, driver: &str) -> Result<Template, Stop> {
    let refused = |why: &str| {
        let words = format!("driver `{driver}`: `metadata.cli.{field}` {why}");
        Stop::new(Code::SetupRequired, words)
    };
    let template =
        Template::parse(text).map_err(|_| refused("cannot be used").help("run `haft check`"))?;
    let secret = template.expressions().any(|expression| expression.root() == "secrets");
    match secret {
        false => Ok(template),
        true => Err(refused("holds a secret, which others would see")
            .help("list it in `auth.state.env`, or hand it over by `metadata.haft.secret_files`")),
    }
}

/// The exit code mapping; the code of an expired login means that a new login is needed.
fn meanings(manifest: &DriverManifest, fields: &CliFields) -> Result<BTreeMap<i32, String>, Stop> {
    let number = |text: &str| {
        text.parse().map_err(|_| {
            let words = format!("driver `{}`: `{text}` is no exit code", manifest.id);
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        })
    };
    let stated = fields.output.exit_codes.iter();
    let stated = stated.map(|(code, meaning)| Ok((number(code)?, meaning.clone())));
    let mut meanings: BTreeMap<i32, String> = stated.collect::<Result<_, Stop>>()?;
    let expiry = manifest.auth.as_ref().and_then(|auth| auth.expiry.as_ref());
    let sign = expiry.and_then(|expiry| expiry.detect.strip_prefix("exit_code:"));
    if let Some(code) = sign {
        meanings.insert(number(code)?, "auth_required".to_owned());
    }
    Ok(meanings)
}
