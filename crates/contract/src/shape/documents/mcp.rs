//! `kind: mcp` (AIP-32): the shapes that it adds to a driver and to an entry, and their typed values.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Flag, Formed, Integer, Kinds, List, Map, Names, Text, Word};
use crate::shape::documents::cli::DRIVER_SANDBOX;
use crate::shape::form::{FILLED, JSON_PATH, TEMPLATE, WEB_URL};
use crate::shape::{MovedField, Shape, optional, required};

/// The fields that an MCP driver adds.
pub static MCP: Shape = Shape {
    title: "DRIVER.md of kind mcp",
    strangers: Kept,
    fields: &[
        required(
            "server",
            "M001",
            Kinds("kind", SERVERS),
            "The server: a binary, an npm package, an image or a URL.",
        ),
        required(
            "transport",
            "M002",
            Word(&["stdio", "sse", "http"]),
            "How the server is spoken to.",
        ),
        optional("protocol_version", "M003", Formed(&FILLED), "The protocol version to ask for."),
        optional("prompts", "M004", List(0, &Map(&PROMPT)), "Prompts to integrate.").recorded(),
        optional("resources", "M005", List(0, &Map(&RESOURCE)), "Resources to integrate.")
            .recorded(),
        optional("connection_options", "M006", Map(&CONNECTION), "How to keep the connection."),
        optional("sandbox", "D025", Map(&DRIVER_SANDBOX), "What the sandbox opens for it."),
    ],
    moved: &[
        MovedField { name: "server_ref", code: "M030", help: "AIP-32 calls it `server`" },
        MovedField {
            name: "mcp_tools",
            code: "M030",
            help: "name each tool in `implements[].metadata.mcp.tool_name`",
        },
    ],
};

const SERVERS: &[(&str, &Shape)] =
    &[("binary", &BINARY), ("npm", &NPM), ("docker", &DOCKER), ("remote", &REMOTE)];

static BINARY: Shape = Shape {
    title: "`server` of kind binary",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["binary"]), "A program."),
        required("path", "", Formed(&FILLED), "Where it is."),
        optional("args", "", List(0, &Formed(&TEMPLATE)), "Its arguments."),
        optional("env", "", Names(None, &Formed(&TEMPLATE)), "Its environment."),
    ],
    moved: &[],
};

static NPM: Shape = Shape {
    title: "`server` of kind npm",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["npm"]), "A package."),
        required("package", "", Formed(&FILLED), "Its name."),
        optional("args", "", List(0, &Formed(&TEMPLATE)), "Its arguments."),
        optional("env", "", Names(None, &Formed(&TEMPLATE)), "Its environment."),
    ],
    moved: &[],
};

static DOCKER: Shape = Shape {
    title: "`server` of kind docker",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["docker"]), "An image."),
        required("image", "", Formed(&FILLED), "Its name."),
        optional("args", "", List(0, &Formed(&TEMPLATE)), "Its arguments."),
        optional("env", "", Names(None, &Formed(&TEMPLATE)), "Its environment."),
    ],
    moved: &[],
};

static REMOTE: Shape = Shape {
    title: "`server` of kind remote",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["remote"]), "A server elsewhere."),
        required("url", "", Formed(&WEB_URL), "Its address."),
        optional("headers", "", Names(None, &Formed(&TEMPLATE)), "Headers of every request."),
        optional(
            "auth",
            "",
            Map(&REMOTE_AUTH),
            "How to log in there: `bearer`, a token as a template.",
        ),
    ],
    moved: &[],
};

static REMOTE_AUTH: Shape = Shape {
    title: "`server.auth`",
    strangers: Kept,
    fields: &[
        optional("bearer", "", Formed(&TEMPLATE), "The token, as a template over secrets."),
        optional("client_id", "", Formed(&FILLED), "The registered OAuth client."),
        optional("client_secret", "", Formed(&TEMPLATE), "Its secret, as a template over secrets."),
        optional("client_metadata_url", "", Formed(&FILLED), "The document that describes it."),
        optional("scopes", "", List(0, &Formed(&FILLED)), "The scopes to ask for."),
    ],
    moved: &[],
};

static PROMPT: Shape = Shape {
    title: "a prompt",
    strangers: Refused(""),
    fields: &[
        required("name", "", Formed(&FILLED), "Its name."),
        required("integrate_as", "", Word(&["skill_block", "raw"]), "What becomes of it."),
        optional("description", "", Text(0, 2000), "What it is for."),
        optional("skill_ref", "", Formed(&FILLED), "The skill it belongs to."),
    ],
    moved: &[],
};

static RESOURCE: Shape = Shape {
    title: "a resource",
    strangers: Refused(""),
    fields: &[
        required("uri_template", "", Formed(&FILLED), "Its address."),
        required("integrate_as", "", Word(&["ref_kind", "raw"]), "What becomes of it."),
        optional("description", "", Text(0, 2000), "What it is."),
        optional("ref_kind_id", "", Formed(&FILLED), "The kind of reference it becomes."),
    ],
    moved: &[],
};

static CONNECTION: Shape = Shape {
    title: "`connection_options`",
    strangers: Refused(""),
    fields: &[
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long to wait."),
        optional("max_retries", "", Integer(0, 10), "How often to reconnect.").recorded(),
        optional("keepalive", "", Flag, "Whether to keep it open.").recorded(),
    ],
    moved: &[],
};

/// `metadata.mcp` of an `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.mcp`",
    strangers: Refused("M020"),
    fields: &[
        required("tool_name", "M010", Formed(&FILLED), "What the server calls the tool."),
        optional(
            "argument_mapping",
            "M011",
            Names(None, &Formed(&FILLED)),
            "The server's names for the contract's inputs.",
        ),
        optional(
            "result_extract",
            "M012",
            Formed(&JSON_PATH),
            "Which part of the answer is the output.",
        )
        .or("\"$\""),
    ],
    moved: &[MovedField {
        name: "mcp_tool_name",
        code: "M030",
        help: "AIP-32 calls it `tool_name`",
    }],
};

/// The fields that a driver of kind mcp adds.
#[derive(Clone, Debug, Deserialize)]
pub struct McpFields {
    /// Where the server is.
    pub server: ServerLocation,
    /// The transport to the server.
    pub transport: McpTransport,
    /// The protocol version to request.
    pub protocol_version: Option<String>,
    /// The limits of the connection.
    #[serde(default)]
    pub connection_options: ConnectionOptions,
}

/// Where a server is: a local program, or a URL.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ServerLocation {
    /// A program.
    Binary {
        /// Its path.
        path: String,
        /// Its arguments and environment.
        #[serde(flatten)]
        given: ProgramInputs,
    },
    /// A package of npm.
    Npm {
        /// Its name.
        package: String,
        /// Its arguments and environment.
        #[serde(flatten)]
        given: ProgramInputs,
    },
    /// A container image, which this version cannot run.
    Docker {
        /// Its name.
        image: String,
    },
    /// A server elsewhere.
    Remote {
        /// Its URL.
        url: String,
        /// Headers of every request, as templates.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The login there.
        auth: Option<RemoteLogin>,
    },
}

impl ServerLocation {
    /// The URL of a server elsewhere.
    pub fn url(&self) -> Option<&str> {
        match self {
            ServerLocation::Remote { url, .. } => Some(url),
            ServerLocation::Binary { .. }
            | ServerLocation::Npm { .. }
            | ServerLocation::Docker { .. } => None,
        }
    }

    /// The login at a server elsewhere.
    pub fn login(&self) -> Option<&RemoteLogin> {
        match self {
            ServerLocation::Remote { auth, .. } => auth.as_ref(),
            ServerLocation::Binary { .. }
            | ServerLocation::Npm { .. }
            | ServerLocation::Docker { .. } => None,
        }
    }

    /// The program, package, image or URL.
    pub fn name(&self) -> &str {
        match self {
            ServerLocation::Binary { path: name, .. }
            | ServerLocation::Npm { package: name, .. }
            | ServerLocation::Docker { image: name }
            | ServerLocation::Remote { url: name, .. } => name,
        }
    }
}

/// Arguments and environment of a server program, as templates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProgramInputs {
    /// The arguments.
    pub args: Vec<String>,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

/// Authentication to a remote server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RemoteLogin {
    /// The bearer token, as a template over secrets.
    pub bearer: Option<String>,
    /// The OAuth client that is registered there.
    pub client_id: Option<String>,
    /// The secret of that client, as a template over secrets.
    pub client_secret: Option<String>,
    /// The URL of a client id metadata document.
    pub client_metadata_url: Option<String>,
    /// The scopes to request.
    pub scopes: Vec<String>,
}

/// The transport to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// Standard input and output of a program.
    Stdio,
    /// HTTP with server-sent events, which this version cannot speak.
    Sse,
    /// Streamable HTTP.
    Http,
}

impl McpTransport {
    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            McpTransport::Stdio => "stdio",
            McpTransport::Sse => "sse",
            McpTransport::Http => "http",
        }
    }
}

/// The limits of a connection.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConnectionOptions {
    /// Connect timeout in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// `metadata.mcp` of an entry: a tool of the server.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct McpEntry {
    /// The tool's name at the server.
    pub tool_name: String,
    /// The server's names for the contract's inputs.
    #[serde(default)]
    pub argument_mapping: BTreeMap<String, String>,
    /// The part of the result that is the output; `$` by default.
    pub result_extract: Option<String>,
}
