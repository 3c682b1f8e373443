//! Shape of the file maps of an IO block (AIP-16).

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Formed, Map, Names, Text, Word};
use crate::shape::form::INSIDE;
use crate::shape::{Shape, optional, required};

/// The two maps, inside whatever document imports them.
pub static FILES: Shape = Shape {
    title: "the IO block",
    strangers: Kept,
    fields: &[
        optional(
            "inputsFiles",
            "I001",
            Names(Some(&INSIDE), &Map(&FILE)),
            "Files to stage before a run, by their place in its folder.",
        )
        .or("{}"),
        optional(
            "outputsFiles",
            "I002",
            Names(Some(&INSIDE), &Map(&FILE)),
            "Files to take back after a run, by their place in its folder.",
        )
        .or("{}"),
    ],
    moved: &[],
};

static FILE: Shape = Shape {
    title: "a file",
    strangers: Refused(""),
    fields: &[
        required("path", "", Formed(&INSIDE), "The file in the workspace."),
        optional("mode", "", Word(&["ro", "rw"]), "Whether it is meant to change."),
        optional("contentType", "", Text(0, usize::MAX), "What it holds."),
    ],
    moved: &[],
};
