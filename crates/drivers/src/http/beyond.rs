//! Parts of requests and answers that AIP-31 has no words for: bodies out of some inputs, cookies,
//! and answers that are no objects.

use std::collections::BTreeMap;

use haft_notation::Template;
use serde::Deserialize;
use serde_json::Value;

use crate::declared::Wrap;

/// What `metadata.haft` says of them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Beyond {
    /// What the body is made of; the template or the whole input when absent.
    pub(super) body_inputs: Option<BodyInputs>,
    #[serde(default)]
    cookies: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) wrap: Wrap,
}

/// Which inputs a body is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum BodyInputs {
    /// One input is all of it.
    Whole(String),
    /// Inputs are its fields; none means that there is no body.
    Fields(Vec<String>),
}

impl BodyInputs {
    /// The body of a call; nothing where the input has none.
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
    /// The cookies of a request, by name.
    pub(super) fn cookies(&self) -> Option<Vec<(String, Template)>> {
        let read =
            |(name, text): (&String, &String)| Some((name.clone(), Template::parse(text).ok()?));
        self.cookies.iter().map(read).collect()
    }
}
