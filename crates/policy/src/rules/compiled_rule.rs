//! Compiled rule: a `[[rule]]` of haft.toml whose globs are compiled once, when a rulebook is built.

use std::sync::Arc;

use haft_model::{EffectClass, Glob, Rule, Verdict};

use crate::targets::{CommandPattern, address};
use crate::values::path_patterns;

/// A rule with its compiled patterns; an absent pattern matches every call.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<String>,
    pub(crate) tool: Option<Glob>,
    pub(crate) action: Option<Glob>,
    pub(crate) class: Option<Glob>,
    pub(crate) actor: Option<Glob>,
    pub(crate) path: Option<TargetPattern>,
    pub(crate) url: Option<TargetPattern>,
    pub(crate) command: Option<Arc<CommandPattern>>,
}

/// Pattern on paths or addresses: the globs of each of its spellings.
#[derive(Clone, Debug)]
pub(crate) struct TargetPattern {
    /// The pattern as the rule states it.
    pub(crate) source: String,
    /// Shared with the target guards of calls.
    pub(crate) globs: Arc<[Glob]>,
}

impl TargetPattern {
    fn new(source: &str, globs: fn(&str) -> Vec<Glob>) -> TargetPattern {
        TargetPattern { source: source.to_owned(), globs: globs(source).into() }
    }
}

impl CompiledRule {
    /// Compiles the patterns of a rule.
    pub fn new(rule: &Rule) -> CompiledRule {
        // Destructured, so that a new condition cannot be forgotten here and widen an allow rule.
        let Rule {
            verdict,
            tool,
            action,
            class,
            path,
            url,
            command,
            actor,
            reason,
            matches: _,
            not_matches: _,
        } = rule;
        let glob = |pattern: &Option<String>| pattern.as_deref().map(Glob::new);
        let target = |pattern: &Option<String>, globs| {
            pattern.as_deref().map(|source| TargetPattern::new(source, globs))
        };
        CompiledRule {
            verdict: *verdict,
            reason: reason.clone(),
            tool: glob(tool),
            action: glob(action),
            class: class.as_deref().map(|class| Glob::new(canonical_class(class))),
            actor: glob(actor),
            path: target(path, path_patterns),
            url: target(url, address::patterns),
            command: command.as_deref().map(|source| Arc::new(CommandPattern::new(source))),
        }
    }
}

/// Canonical name of an effect class; an unknown class stays as it is.
fn canonical_class(class: &str) -> &str {
    EffectClass::parse(class).map_or(class, |class| class.name())
}
