//! HTTP extensions beyond AIP-31: bodies made of selected inputs, cookies, and responses that are
//! no objects.

use std::collections::BTreeMap;

use haft_notation::Template;
use serde::Deserialize;
use serde_json::Value;

use crate::declared::Wrap;

/// The HTTP extensions of `metadata.haft`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Beyond {
    /// The inputs of the body; `None` for the template or the whole input.
    pub(super) body_inputs: Option<BodyInputs>,
    #[serde(default)]
    cookies: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) wrap: Wrap,
}

/// Which inputs make up a body.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum BodyInputs {
    /// One input is the whole body.
    Whole(String),
    /// Inputs are the fields of the body; an empty list means no body.
    Fields(Vec<String>),
}

impl BodyInputs {
    /// The body of a call; `None` where there is none to send.
    pub(super) fn of(&self, input: &Value) -> Option<Value> {
        match self {
            BodyInputs::Whole(name) => input.get(name).cloned(),
            BodyInputs::Fields(names) if names.is_empty() => None,
            BodyInputs::Fields(names) => {
                let given = names.iter().filter_map(|name| Some((name, input.get(name)?)));
                Some(given.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
        }
    }
}

impl Beyond {
    /// The cookies of a request, by name; `None` where a template is invalid.
    pub(super) fn cookies(&self) -> Option<Vec<(String, Template)>> {
        let read =
            |(name, text): (&String, &String)| Some((name.clone(), Template::parse(text).ok()?));
        self.cookies.iter().map(read).collect()
    }
}
