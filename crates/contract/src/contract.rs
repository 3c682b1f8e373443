//! A contract once its action was inherited and its effects are known.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Digest, EffectProfile, ToolKey};
use serde_json::Value as Json;

use crate::{Action, ToolManifest, effects};

/// What a tool promises, with everything it inherits and everything that had to be assumed.
#[derive(Clone, Debug)]
pub struct Contract {
    /// What its author wrote.
    pub tool: Arc<ToolManifest>,
    /// The action it implements.
    pub action: Option<Arc<Action>>,
    /// What it may change.
    pub effects: Arc<EffectProfile>,
    /// Inputs that no model may fill in.
    pub internal: BTreeSet<String>,
}

impl Contract {
    /// The contract of a tool under the floor of its action.
    pub fn new(tool: Arc<ToolManifest>, action: Option<Arc<Action>>) -> Contract {
        let effects = Arc::new(effects::derive(&tool, action.as_deref()));
        let internal = haft_notation::internal_fields(&tool.inputs, &tool.extras.internal);
        Contract { tool, action, effects, internal }
    }

    /// Whether both come of one reading of one text.
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

    /// What a grant has to name: the action, or the tool itself where there is none.
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

    /// The digest of what a model is told: description and both schemas.
    pub fn schema_digest(&self) -> Digest {
        Digest::of(&(&self.tool.description, &self.tool.inputs, &self.tool.outputs))
    }

    /// Whether what the contract says of itself is taken at its word.
    pub fn trusted(&self) -> bool {
        self.tool.extras.imported.is_none()
    }
}
