//! Secret usage: which contracts and drivers use which secrets.

use std::collections::{BTreeMap, BTreeSet};

use haft_drivers::Keeper;
use haft_notation::Template;
use serde_json::Value;

use crate::Workspace;

/// The tools and drivers that use a secret, by its slug.
#[derive(Default)]
pub(super) struct Uses {
    pub(super) tools: BTreeMap<String, BTreeSet<String>>,
    pub(super) drivers: BTreeMap<String, BTreeSet<String>>,
}

impl Uses {
    /// Collects the usage in a workspace. A name without a secret behind it is left out.
    pub(super) fn of(workspace: &Workspace, keeper: &Keeper) -> Uses {
        let mut uses = Uses::default();
        let slug = |name: &str| keeper.listed(name).ok().map(|listed| listed.slug.clone());
        for entry in workspace.snapshot().entries() {
            let tool = entry.contract.key().id.as_str();
            for name in &entry.contract.effects.requires.secrets {
                let found = slug(name).into_iter();
                found.for_each(|slug| note(&mut uses.tools, slug, tool));
            }
            for binding in &entry.bindings {
                let driver = &binding.driver;
                let named = named(&driver.raw());
                let variables = driver.auth.iter().flat_map(|auth| auth.env.iter().cloned());
                for slug in named.into_iter().chain(variables).filter_map(|name| slug(&name)) {
                    note(&mut uses.drivers, slug, driver.id.as_str());
                }
            }
        }
        uses
    }
}

fn note(uses: &mut BTreeMap<String, BTreeSet<String>>, slug: String, user: &str) {
    uses.entry(slug).or_default().insert(user.to_owned());
}

/// The names behind `${secrets.…}` anywhere in a value.
pub(super) fn named(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(value, &mut found);
    found
}

/// The names behind `${secrets.…}` in a template.
pub(super) fn in_text(text: &str) -> BTreeSet<String> {
    let template = Template::parse(text).ok();
    let expressions = template.iter().flat_map(Template::expressions);
    let secrets = expressions.filter(|expression| expression.root() == "secrets");
    secrets.filter_map(|expression| expression.field()).map(str::to_owned).collect()
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => found.extend(in_text(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
