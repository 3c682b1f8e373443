//! Shapes of Agent Tool v0.2.0: a tool's declaration and its interface, as JSON.
//!
//! The standard is open, so fields that are not listed are kept. Only what no tool can be made
//! without is required; `J040` speaks of the rest.

use crate::shape::Strangers::Kept;
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Object, Schema, Text, Word,
};
use crate::shape::documents::haft::IMPORTED;
use crate::shape::form::FILLED;
use crate::shape::{Shape, Takes, maybe, required};

/// The seven states of a declaration.
pub const LIFECYCLE: &[&str] =
    &["draft", "available", "disabled", "requires_setup", "deferred", "deprecated", "retired"];

const TEXTS: Takes = List(0, &Formed(&FILLED));
const ANY_TEXT: Takes = Text(0, usize::MAX);
const FACT: Takes = Either(&[Flag, Formed(&FILLED)]);

/// A declaration: what a tool is.
pub static DECLARATION: Shape = Shape {
    title: "an Agent Tool declaration",
    strangers: Kept,
    fields: &[
        required("tool_id", "J001", Formed(&FILLED), "The tool's stable id, as `id@major`."),
        required("name", "J002", Formed(&FILLED), "What the tool is called inside its namespace."),
        required(
            "description",
            "J003",
            Formed(&FILLED),
            "What the tool does and when to use it, written for a model.",
        ),
        maybe("schema_version", "J004", &Formed(&FILLED), "The version of the standard."),
        maybe("namespace", "J005", &ANY_TEXT, "The dotted names in front of the tool's own."),
        maybe("lifecycle", "J006", &Word(LIFECYCLE), "Where the tool stands."),
        maybe("tool_kind", "J007", &Formed(&FILLED), "What kind of tool it is."),
        maybe("aliases", "J008", &TEXTS, "Other names that older callers use."),
        maybe("search_hint", "J009", &ANY_TEXT, "Three to ten words to find the tool by."),
        maybe("title", "J010", &ANY_TEXT, "A title for people."),
        maybe("input_contract", "J011", &Map(&INPUT), "What goes in."),
        maybe("output_contract", "J012", &Map(&OUTPUT), "What comes out."),
        maybe(
            "annotations",
            "J013",
            &Object,
            "Hints, which may tighten a fact and never loosen it.",
        ),
        maybe("imported", "J014", &Map(&IMPORTED), "Where the record was imported from."),
    ],
    moved: &[],
};

static INPUT: Shape = Shape {
    title: "`input_contract`",
    strangers: Kept,
    fields: &[
        maybe("model_input_schema", "", &Schema, "A JSON Schema for what a model may fill in."),
        maybe("schema", "", &Schema, "The same, as v0.1 called it."),
        maybe("runtime_input_schema", "", &Schema, "A JSON Schema for what the executor is given."),
        maybe("examples", "", &List(0, &Any), "Inputs that fit."),
        maybe("sensitive_fields", "", &TEXTS, "Inputs that appear in no log."),
        maybe("internal_only_fields", "", &TEXTS, "Inputs that no model may fill in."),
    ],
    moved: &[],
};

static OUTPUT: Shape = Shape {
    title: "`output_contract`",
    strangers: Kept,
    fields: &[
        maybe("structured_schema", "", &Schema, "A JSON Schema for what comes out."),
        maybe("max_inline_chars", "", &POSITIVE, "How much is shown to a model."),
    ],
    moved: &[],
};

const POSITIVE: Takes = Integer(1, i64::MAX);

/// An interface: how a tool behaves.
pub static INTERFACE: Shape = Shape {
    title: "an Agent Tool interface",
    strangers: Kept,
    fields: &[
        required("interface_id", "J020", Formed(&FILLED), "The interface's own id."),
        required("tool_id", "J021", Formed(&FILLED), "The id of the tool that it describes."),
        maybe("schema_version", "J004", &Formed(&FILLED), "The version of the standard."),
        maybe("aliases", "J008", &TEXTS, "Other names that older callers use."),
        maybe("search_hint", "J009", &ANY_TEXT, "Three to ten words to find the tool by."),
        maybe("model_input_schema", "J022", &Schema, "A JSON Schema for what a model may fill in."),
        maybe(
            "runtime_input_schema",
            "J023",
            &Schema,
            "A JSON Schema for what the executor is given.",
        ),
        maybe("output_schema", "J024", &Schema, "A JSON Schema for what comes out."),
        maybe("is_enabled", "J025", &FACT, "Whether the tool may be called now."),
        maybe("is_read_only", "J026", &FACT, "Whether it changes nothing."),
        maybe("is_destructive", "J027", &FACT, "Whether it can destroy."),
        maybe("is_open_world", "J028", &FACT, "Whether it can reach unlisted hosts."),
        maybe("is_concurrency_safe", "J029", &FACT, "Whether calls may overlap."),
        maybe("requires_user_interaction", "J030", &Flag, "Whether a person has to take part."),
        maybe("classifier_input", "J031", &Any, "What the classifiers of its facts look at."),
        maybe("requires_setup", "J032", &Flag, "Whether something has to be set up first."),
        maybe("required_credentials", "J033", &TEXTS, "The secrets it uses, by reference."),
        maybe(
            "schema_visibility",
            "J034",
            &Word(&["loaded", "deferred", "internal", "native_ref"]),
            "Whether its schema is shown at once.",
        ),
        maybe("timeout_ms", "J035", &POSITIVE, "The longest a call may take, in milliseconds."),
        maybe(
            "interrupt_behavior",
            "J036",
            &Word(&["cancel", "block"]),
            "What an interruption does.",
        ),
        maybe("max_inline_chars", "J037", &POSITIVE, "How much of a result is shown to a model."),
    ],
    moved: &[],
};
