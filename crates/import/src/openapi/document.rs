//! OpenAPI document: the parsed source with its references.

use std::ops::Deref;

use serde_json::{Map, Value};

use crate::import::Error;
use crate::schema::{Dialect, Root};

/// An OpenAPI document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'d> {
    root: Root<'d>,
}

impl<'d> Document<'d> {
    pub(super) fn read(root: &'d Value) -> Result<Document<'d>, Error> {
        let wanted = "an OpenAPI document of version 3, nor one of Swagger 2.0";
        if let Some(version) = root.get("swagger").and_then(Value::as_str) {
            let found = format!("it is Swagger {version}; convert it to OpenAPI 3 first");
            return Err(Error::NotThis { wanted, found });
        }
        let version = match root.get("openapi") {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => {
                let found = "it does not say `openapi: 3.…`".to_owned();
                return Err(Error::NotThis { wanted, found });
            }
        };
        if !version.starts_with("3.") {
            let found = format!("it says `openapi: {version}`");
            return Err(Error::NotThis { wanted, found });
        }
        let dialect = if version.starts_with("3.0") { Dialect::Old } else { Dialect::New };
        Ok(Document { root: Root { value: root, dialect } })
    }

    pub(super) fn title(&self) -> Option<&'d str> {
        self.root.value.pointer("/info/title").and_then(Value::as_str)
    }

    pub(super) fn description(&self) -> Option<&'d str> {
        self.root.value.pointer("/info/description").and_then(Value::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'d Value> {
        self.root.value.get(name)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = (&'d String, &'d Value)> + use<'d> {
        self.root.value.get("paths").and_then(Value::as_object).into_iter().flatten()
    }

    pub(super) fn has_operations(&self) -> bool {
        self.paths().next().is_some()
    }

    pub(super) fn component(&self, kind: &str) -> Option<&'d Map<String, Value>> {
        self.root.value.get("components")?.get(kind)?.as_object()
    }
}

impl<'d> Deref for Document<'d> {
    type Target = Root<'d>;

    fn deref(&self) -> &Root<'d> {
        &self.root
    }
}
