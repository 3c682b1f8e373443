//! Shape of `kind: mcp` (AIP-32).

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Flag, Formed, Integer, Kinds, List, Map, Names, Object, Text, Word};
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
        optional("prompts", "M004", List(0, &Map(&PROMPT)), "Prompts to integrate."),
        optional("resources", "M005", List(0, &Map(&RESOURCE)), "Resources to integrate."),
        optional("connection_options", "M006", Map(&CONNECTION), "How to keep the connection."),
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
        optional("auth", "", Object, "How to log in there: `bearer`, a token as a template."),
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
        optional("max_retries", "", Integer(0, 10), "How often to reconnect."),
        optional("keepalive", "", Flag, "Whether to keep it open."),
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
