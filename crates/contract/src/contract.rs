//! Contract: a tool manifest with its action inherited and its effects derived.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Digest, EffectProfile, ToolKey};
use serde_json::Value as Json;

use crate::{Action, ToolManifest, effects};

/// The promise of a tool: its manifest, everything it inherits, and everything that was inferred.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The manifest as its author wrote it.
    pub tool: Arc<ToolManifest>,
    /// The action that the tool implements.
    pub action: Option<Arc<Action>>,
    /// The effects of a call, stated or inferred.
    pub effects: Arc<EffectProfile>,
    /// Inputs that the host fills in and that no model may set.
    pub internal: BTreeSet<String>,
}

impl Contract {
    /// The contract of a tool under the floor of its action.
    pub fn new(tool: Arc<ToolManifest>, action: Option<Arc<Action>>) -> Contract {
        let effects = Arc::new(effects::derive(&tool, action.as_deref()));
        let internal = haft_notation::internal_fields(&tool.inputs, &tool.extras.internal);
        Contract { tool, action, effects, internal }
    }

    /// Whether both contracts come from one reading of one text.
    pub fn is_read_from_the_same(&self, other: &Contract) -> bool {
        let action = |contract: &Contract| contract.action.as_ref().map(Arc::as_ptr);
        Arc::ptr_eq(&self.tool, &other.tool) && action(self) == action(other)
    }

    /// Its id and major.
    pub fn key(&self) -> &ToolKey {
        &self.tool.key
    }

    /// The schema a model is shown.
    pub fn model_schema(&self) -> Json {
        haft_notation::model_facing(&self.tool.inputs, &self.internal)
    }

    /// The key that a grant names: the action, or the tool itself where there is none.
    pub fn grant_key(&self) -> String {
        match &self.action {
            Some(action) => action.id.to_string(),
            None => format!("tool:{}", self.key().id),
        }
    }

    /// The title for people.
    pub fn title(&self) -> &str {
        self.tool.extras.title.as_deref().unwrap_or(&self.tool.name)
    }

    /// The digest of what the model sees: description and both schemas.
    pub fn schema_digest(&self) -> Digest {
        Digest::of(&(&self.tool.description, &self.tool.inputs, &self.tool.outputs))
    }

    /// Whether the host takes the contract's own claims about its effects at their word.
    pub fn trusted(&self) -> bool {
        self.tool.extras.imported.is_none()
    }
}
