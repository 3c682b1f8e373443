//! Surface narrowing: hides tools that the caller's model cannot use or its role must not.

use std::collections::BTreeSet;

use haft_contract::Contract;
use serde::Serialize;
use serde_json::Value as Json;

use super::Surface;
use crate::CatalogEntry;

/// Capabilities of the caller's model (`model_capabilities`); what is unstated counts as supported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelAbilities {
    /// Turns deferred loading off: the model cannot load schemas, so all are sent at once.
    pub needs_all_schemas: bool,
    /// The largest schema of one tool, in bytes.
    pub largest_schema: Option<usize>,
    /// Kinds of tools that it cannot use, by Agent Tool's words.
    pub without_kinds: BTreeSet<String>,
}

/// Constraints of a caller's role or situation (`role_constraints`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoleConstraints {
    /// Only tools that change nothing.
    pub only_reads: bool,
    /// No person is present who could take part.
    pub nobody_there: bool,
}

impl Surface {
    /// The surface without what a model cannot use and a role must not.
    pub fn narrowed(&self, model: &ModelAbilities, role: &RoleConstraints) -> Surface {
        let most = self.defer_above.filter(|_| !model.needs_all_schemas);
        Surface { defer_above: most, model: model.clone(), role: role.clone(), ..self.clone() }
    }
}

impl ModelAbilities {
    pub(super) fn excludes(&self, entry: &CatalogEntry) -> Option<&'static str> {
        let kind = entry.contract.tool.extras.kind.as_ref();
        let unusable = kind.is_some_and(|kind| self.without_kinds.contains(kind));
        let too_large = || self.largest_schema.is_some_and(|most| schema_bytes(entry) > most);
        (unusable || too_large()).then_some("model_unsupported")
    }
}

impl RoleConstraints {
    pub(super) fn excludes(&self, entry: &CatalogEntry) -> Option<&'static str> {
        if self.only_reads && entry.contract.effects.may_mutate() {
            Some("role_not_allowed")
        } else if self.nobody_there && asks_a_person(&entry.contract) {
            Some("interaction_unavailable")
        } else {
            None
        }
    }
}

/// How many bytes of a model's context window the schema of a tool takes.
pub(super) fn schema_bytes(entry: &CatalogEntry) -> usize {
    entry.contract.model_schema().to_string().len()
}

/// Whether the interface that a tool was read with says that a person takes part.
pub(crate) fn asks_a_person(contract: &Contract) -> bool {
    let kept = contract.tool.metadata.get("agent-tool-interface");
    kept.and_then(|kept| kept.get("requires_user_interaction")).and_then(Json::as_bool)
        == Some(true)
}
