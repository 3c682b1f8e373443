//! The rules of haft.toml: which calls a rule is about, and what the rules say of one.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_model::{Actor, EffectClass, Firmness, Glob, Layer, Opinion, Rule, Says, Verdict};
use serde_json::Value;

use crate::targets::{Spellings, address};
use crate::values::{commands, path_patterns, paths, urls};
use crate::{Matter, Rulebook, Targets};

/// What the rules say that are about this call; deny beats ask and ask beats allow when they are
/// weighed.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let mapped = matter.plan.mapped();
    let subject = Subject::of(matter, &mapped);
    let about = rulebook.rules.iter().enumerate().filter(|(_, rule)| matches(rule, &subject));
    about.map(|(index, rule)| opinion(index, rule)).collect()
}

fn opinion(index: usize, rule: &Rule) -> Opinion {
    let (says, word) = match rule.verdict {
        Verdict::Allow => (Says::Allow, "allows"),
        Verdict::Ask => (Says::Ask, "asks"),
        Verdict::Deny => (Says::Deny, "denies"),
    };
    let reason = rule.reason.clone().unwrap_or_else(|| format!("a rule of haft.toml {word}"));
    let opinion = Opinion::new(Layer::Rule, says, reason).by(format!("haft.toml#{index}"));
    match rule.verdict {
        Verdict::Ask => opinion.firm(Firmness::Rememberable),
        Verdict::Allow | Verdict::Deny => opinion,
    }
}

/// A call as rules see it. An example of a rule is one too, with what is known of its tool.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// The tool's id.
    pub tool: &'s str,
    /// The action that it is granted by, where that is known.
    pub action: Option<&'s str>,
    /// Its classes.
    pub classes: &'s BTreeSet<EffectClass>,
    /// Who calls; without anybody, as in an example, the rule's `actor` is not looked at.
    pub actor: Option<&'s Actor>,
    /// The input.
    pub input: &'s Value,
    /// The input as the backend names its fields, where that is different.
    pub mapped: Option<&'s Value>,
    /// What the driver will touch.
    pub targets: &'s Targets,
}

impl<'s> Subject<'s> {
    /// The call of a matter, with its input as the backend names the fields.
    pub(crate) fn of(matter: &Matter<'s>, mapped: &'s Value) -> Subject<'s> {
        let plan = matter.plan;
        Subject {
            tool: plan.tool.id.as_str(),
            action: Some(matter.action.unwrap_or(matter.grant)),
            classes: &plan.effects.classes,
            actor: Some(&plan.actor),
            input: &plan.input,
            mapped: (!plan.renames.is_empty()).then_some(mapped),
            targets: matter.targets,
        }
    }

    /// What the input holds of a kind, under the contract's names and under the backend's.
    fn named<T>(&self, values: fn(&Value) -> Vec<T>) -> Vec<T> {
        let mut found = values(self.input);
        found.extend(self.mapped.map(values).unwrap_or_default());
        found
    }
}

/// Whether a rule is about a call: everything that the rule gives has to fit.
///
/// `tool`, `action`, `class` and `actor` are globs. `path`, `url` and `command` are globs on the
/// strings that the input holds, at any depth, in fields whose name ends with one of these words,
/// in singular or plural, as in `path`, `sourcePath` or `output_dirs`:
///
/// - for `path`: `path`, `file`, `filename`, `dir`, `directory`, `folder`;
/// - for `url`: `url`, `uri`, `href`;
/// - for `command`: `command`, `cmd`, `argv`; a list of words is joined with spaces.
///
/// Beside these stands what the driver tells that it will touch: resolved paths, addresses as it will
/// ask for them, and commands as it will start them. A rule with such a pattern is not about a call
/// that has neither. Paths are compared without `.`, `..` and doubled slashes, addresses as the parser
/// of the drivers reads them, commands by each program that their arguments show. What cannot be read
/// or resolved, and a command that runs a text, fits every rule that denies or asks and none that
/// allows.
///
/// Where a call has several such values (or classes), a rule that denies or asks is about it when
/// one of them fits, and a rule that allows only when all of them do and the input names one: copying
/// `docs/a` over `keys/b` is not allowed by a rule about `docs/*`.
pub fn matches(rule: &Rule, subject: &Subject<'_>) -> bool {
    let reach = match rule.verdict {
        Verdict::Allow => Reach::All,
        Verdict::Ask | Verdict::Deny => Reach::Any,
    };
    let fits = |pattern: &Option<String>, values: &dyn Fn() -> Vec<String>| match pattern {
        Some(pattern) => reach.covers(&values(), |value| Glob::new(pattern).matches(value)),
        None => true,
    };
    fits(&rule.tool, &|| vec![subject.tool.to_owned()])
        && fits(&rule.action, &|| subject.action.iter().map(|&action| action.into()).collect())
        && fits(&rule.class.as_deref().map(spelled), &|| classes(subject))
        && (subject.actor.is_none() || fits(&rule.actor, &|| callers(subject)))
        && rule.path.as_deref().is_none_or(|pattern| {
            let told = subject.targets.path_spellings().collect();
            reach.spelled(&path_patterns(pattern), subject.named(paths), told)
        })
        && rule.url.as_deref().is_none_or(|pattern| {
            let (told, patterns) = (subject.targets.url_spellings(), address::patterns(pattern));
            let behind = || subject.targets.backend.url_spellings();
            reach.spelled(&patterns, subject.named(urls), told.collect())
                || (reach == Reach::Any && behind().any(|url| url.is_held(&patterns)))
        })
        && rule.command.as_deref().is_none_or(|pattern| {
            let (named, told) = (subject.named(commands), &subject.targets.commands);
            let behind = &subject.targets.backend.commands;
            match reach {
                Reach::Any => {
                    named.iter().any(|command| command.is_held(pattern))
                        || told.iter().chain(behind).any(|command| command.is_held(pattern))
                }
                Reach::All => {
                    reach.covers(&named, |command| command.is_let_go(pattern))
                        && told.iter().all(|command| command.is_let_go(pattern))
                }
            }
        })
}

/// Whether a rule denies every call of a tool by somebody, whatever the input. `subject.input` is not
/// looked at.
pub fn denies_always(rules: &[Rule], subject: &Subject<'_>) -> bool {
    let always = |rule: &&Rule| {
        rule.verdict == Verdict::Deny
            && rule.path.is_none()
            && rule.url.is_none()
            && rule.command.is_none()
    };
    rules.iter().filter(always).any(|rule| matches(rule, subject))
}

/// How many of several values a rule has to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// One is enough to hold a call back.
    Any,
    /// Letting a call go takes all.
    All,
}

impl Reach {
    fn covers<T>(self, values: &[T], fits: impl Fn(&T) -> bool) -> bool {
        !values.is_empty()
            && match self {
                Reach::Any => values.iter().any(fits),
                Reach::All => values.iter().all(fits),
            }
    }

    /// Whether patterns are about what the input names and what the driver tells. What is only told
    /// lets nothing go.
    fn spelled(self, patterns: &[Glob], named: Vec<Spellings>, told: Vec<Spellings>) -> bool {
        match self {
            Reach::Any => named.iter().chain(&told).any(|value| value.is_held(patterns)),
            Reach::All => {
                self.covers(&named, |value| value.is_let_go(patterns))
                    && told.iter().all(|value| value.is_let_go(patterns))
            }
        }
    }
}

/// A class in the spelling of our own table, where it is one of ours.
fn spelled(class: &str) -> String {
    EffectClass::parse(class).map_or_else(|| class.to_owned(), |class| class.name().to_owned())
}

fn classes(subject: &Subject<'_>) -> Vec<String> {
    subject.classes.iter().map(|class| class.name().to_owned()).collect()
}

/// Whoever calls, and whoever really typed it.
fn callers(subject: &Subject<'_>) -> Vec<String> {
    let callers =
        subject.actor.into_iter().flat_map(|actor| [Some(&actor.id), actor.speaking.as_ref()]);
    callers.flatten().map(|id| id.as_str().to_owned()).collect()
}
