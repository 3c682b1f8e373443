//! Action index: resolves the action that a tool implements.

use std::collections::HashMap;
use std::sync::Arc;

use haft_contract::{
    Action, ActionRef, Finding, ToolManifest, did_you_mean, rules, standard_actions,
};

use crate::reference;

/// The actions of a workspace, under every name they can be called by.
pub(crate) struct Actions {
    by_name: HashMap<String, Arc<Action>>,
}

impl Actions {
    /// Indexes a workspace's actions in front of the standard ones.
    pub(crate) fn new(own: &[Arc<Action>]) -> Actions {
        let mut by_name = HashMap::new();
        for action in standard_actions().iter().chain(own) {
            let slug = action.id.as_str().replace(':', "-");
            for name in [
                action.id.to_string(),
                format!("@agentik/actions/standard/{slug}"),
                format!("@agentik/actions-standard/{slug}"),
                action.file.to_string(),
                slug,
            ] {
                by_name.insert(name, action.clone());
            }
        }
        Actions { by_name }
    }

    /// The action of a tool, or what is wrong with its reference.
    pub(crate) fn of(&self, tool: &ToolManifest) -> Result<Option<Arc<Action>>, Box<Finding>> {
        let name = match &tool.implements {
            None => return Ok(None),
            Some(ActionRef::Inline(action)) => return Ok(Some(action.clone())),
            Some(ActionRef::Named(name)) => name,
        };
        let found = if reference::is_path(name) {
            let paths = reference::paths(name, &tool.file, "ACTION.md");
            paths.iter().find_map(|path| self.by_name.get(path))
        } else {
            self.by_name.get(name.as_str())
        };
        found.map(|action| Some(action.clone())).ok_or_else(|| {
            let finding = Finding::new(
                rules::T054,
                &tool.file,
                "/implements",
                format!("there is no action `{name}` (action_ref_unresolvable)"),
            );
            let ids = self.by_name.keys().map(String::as_str).filter(|name| !name.contains('/'));
            Box::new(match did_you_mean(name, ids) {
                Some(near) => finding.help(format!("did you mean `{near}`?")),
                None => finding.help("write `.actions/<id>/ACTION.md`, or leave `implements` out"),
            })
        })
    }
}
