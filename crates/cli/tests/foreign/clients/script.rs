//! Client script: drives a third-party client, and reports what it hears line by line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::clients::installed::{Python, node, npm};
use crate::clients::notes::Shown;
use crate::stage::{done, unvaried};
use crate::wire::Server;

/// Which wire a client is told to speak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    /// What the client knew in June 2025, and knows nothing else.
    June,
    Legacy,
    Auto,
    Modern,
}

impl Era {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Era::June | Era::Legacy => "legacy",
            Era::Auto => "auto",
            Era::Modern => "modern",
        }
    }

    /// The version that is spoken then.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Era::June => "2025-06-18",
            Era::Legacy => "2025-11-25",
            Era::Auto | Era::Modern => "2026-07-28",
        }
    }
}

/// How a client reaches the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Over {
    Http,
    Stdio,
}

/// The server of a workspace, if it is not the client that starts it.
pub(crate) struct Reached {
    _server: Option<Server>,
    /// What a script has to know to reach it.
    pub(crate) told: Value,
}

impl Over {
    pub(crate) fn reach(self, folder: &Folder, era: Era, shown: Shown) -> Reached {
        let mut told = json!({ "era": era.name(), "shown": shown.name() });
        let server = match self {
            Over::Http => {
                let server = Server::of(folder);
                told["url"] = json!(format!("http://{}/mcp", server.address));
                Some(server)
            }
            Over::Stdio => {
                // The client starts the server by itself, in a workspace that people accepted before.
                done(folder, "accept --all");
                told["command"] =
                    json!([env!("CARGO_BIN_EXE_haft"), "-C", folder.path(), "serve", "--stdio"]);
                told["env"] = json!({ "XDG_CONFIG_HOME": folder.path().join(".config") });
                None
            }
        };
        Reached { _server: server, told }
    }
}

/// A script that runs until it is dropped.
pub(crate) struct Script {
    name: &'static str,
    child: Child,
    said: BufReader<ChildStdout>,
}

/// A value without the ids that differ from run to run.
pub(crate) fn without_ids(value: &Value) -> Value {
    serde_json::from_str(&unvaried(&value.to_string())).unwrap()
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/clients/scripts").join(name)
}

impl Script {
    /// A script in Python.
    pub(crate) fn python(name: &'static str, python: &Python, told: &Value) -> Script {
        let mut command = Command::new(python.interpreter());
        // Nothing is left beside the scripts.
        command.arg("-B").arg(place(name)).arg(told.to_string());
        Script::started(name, command)
    }

    /// A script in JavaScript, with the line of the packages that it is to use.
    pub(crate) fn node(name: &'static str, line: &str, told: &Value) -> Script {
        let mut told = told.clone();
        (told["packages"], told["line"]) = (json!(npm()), json!(line));
        let mut command = Command::new(node());
        command.arg(place(name)).arg(told.to_string());
        Script::started(name, command)
    }

    fn started(name: &'static str, mut command: Command) -> Script {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Script { name, child, said }
    }

    /// The next that it tells, which goes by a name, as it came.
    #[track_caller]
    pub(crate) fn raw(&mut self, name: &str) -> Value {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        let mut told: Value = serde_json::from_str(&line).unwrap_or_default();
        let found = told.get_mut(name).map(Value::take);
        found.unwrap_or_else(|| panic!("{} does not tell `{name}` but {line}", self.name))
    }

    /// The same without the ids that differ from run to run.
    #[track_caller]
    pub(crate) fn next(&mut self, name: &str) -> Value {
        without_ids(&self.raw(name))
    }

    /// Lets it go on, after a person did something.
    pub(crate) fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// It has to end well.
    #[track_caller]
    pub(crate) fn end(mut self) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(ended.success() && rest.is_empty(), "{}: {ended} {rest}", self.name);
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
