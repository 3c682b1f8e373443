//! Shape of `ACTION.md` (AIP-39).

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Formed, Integer, List, Map, Object, Text, Word};
use crate::shape::documents::tool::REQUIRES;
use crate::shape::form::{ACTION_ID, APPROVAL, FILLED, MUTATION, VERSION};
use crate::shape::{Shape, optional, required};

/// The fields of an action; only a file of its own has to say its `schema`.
macro_rules! fields {
    ($need:ident schema) => {
        &[
            $need("schema", "A001", Word(&["action/v1"]), "`action/v1`."),
            required("id", "A002", Formed(&ACTION_ID), "The action's id, `<target-kind>:<verb>`."),
            required("description", "A003", Text(1, 2000), "What the action does."),
            optional("version", "A004", Formed(&VERSION), "Its semantic version.").or("\"1.0.0\""),
            optional("category", "A005", Text(0, 200), "Where catalogs put it.").or("\"\""),
            optional(
                "verb",
                "A006",
                Formed(&FILLED),
                "The verb; the part after the colon when absent.",
            ),
            optional(
                "target_kind",
                "A007",
                Formed(&FILLED),
                "What it works on; the part before the colon when absent.",
            ),
            optional(
                "mutates",
                "A008",
                List(0, &Formed(&MUTATION)),
                "What every implementor may change at least.",
            )
            .or("[]"),
            optional("requires", "A009", Map(&REQUIRES), "What every implementor needs at least."),
            optional("approval", "A010", Formed(&APPROVAL), "When a person has to agree at least.")
                .or("\"auto\""),
            optional("risk_level", "A011", Integer(0, 3), "The lowest risk of an implementor.")
                .or("0"),
            optional(
                "fires_events",
                "A012",
                List(0, &Formed(&FILLED)),
                "Events every implementor fires.",
            ),
            optional(
                "implementations",
                "A013",
                List(0, &Map(&IMPLEMENTATION)),
                "A hint who implements it; never a permission.",
            ),
            optional("tags", "A014", List(0, &Formed(&FILLED)), "Words to find it by."),
            optional("examples", "A015", List(0, &Map(&EXAMPLE)), "When it is used."),
            optional("metadata", "A016", Object, "Hints for hosts."),
        ]
    };
}

/// The whole frontmatter.
pub static ACTION: Shape = Shape {
    title: "ACTION.md",
    strangers: Refused("A030"),
    fields: fields!(required schema),
    moved: &[],
};

/// An action that a tool writes out where it could name one.
pub static INLINE: Shape = Shape {
    title: "the inline action",
    strangers: Refused("A030"),
    fields: fields!(optional schema),
    moved: &[],
};

static IMPLEMENTATION: Shape = Shape {
    title: "an implementation",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["tool", "driver", "ui", "lifecycle"]), "What implements it."),
        required("ref", "", Formed(&FILLED), "Which one."),
    ],
    moved: &[],
};

static EXAMPLE: Shape = Shape {
    title: "an example",
    strangers: Refused(""),
    fields: &[
        required("name", "", Formed(&FILLED), "What it shows."),
        required("scenario", "", Formed(&FILLED), "What happens."),
        optional("note", "", Text(0, usize::MAX), "For the reader."),
    ],
    moved: &[],
};
