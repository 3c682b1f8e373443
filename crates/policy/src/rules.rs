//! Rules of haft.toml: matches rules to a call and returns their opinions.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_model::{Actor, EffectClass, Firmness, Glob, Layer, Opinion, Rule, Says, Verdict};
use serde_json::Value;

use crate::targets::{Spellings, address};
use crate::values::{commands, path_patterns, paths, urls};
use crate::{Matter, Rulebook, Targets};

/// Opinions of the matching rules; weighing puts deny before ask and ask before allow.
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

/// A call as rules match it; an example of a rule is one too.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// Id of the tool.
    pub tool: &'s str,
    /// Action of the tool, or its grant key; `None` if unknown.
    pub action: Option<&'s str>,
    /// Effect classes of the tool.
    pub classes: &'s BTreeSet<EffectClass>,
    /// Calling actor; `None`, as in an example, ignores the rule's `actor`.
    pub actor: Option<&'s Actor>,
    /// Input of the call.
    pub input: &'s Value,
    /// Input with the backend's field names; `None` if they are the same.
    pub mapped: Option<&'s Value>,
    /// Targets that the driver will touch.
    pub targets: &'s Targets,
}

impl<'s> Subject<'s> {
    /// Subject of an authorization request.
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

    /// Values of a kind in the input, under the contract's and the backend's field names.
    fn named<T>(&self, values: fn(&Value) -> Vec<T>) -> Vec<T> {
        let mut found = values(self.input);
        found.extend(self.mapped.map(values).unwrap_or_default());
        found
    }
}

/// Returns true if a rule matches a call: everything that the rule states has to match.
///
/// `tool`, `action`, `class` and `actor` are globs. `path`, `url` and `command` are globs on the
/// strings of the input, at any depth, in fields whose name ends with one of these words, in
/// singular or plural, as in `path`, `sourcePath` or `output_dirs`:
///
/// - for `path`: `path`, `file`, `filename`, `dir`, `directory`, `folder`;
/// - for `url`: `url`, `uri`, `href`;
/// - for `command`: `command`, `cmd`, `argv`; a list of words is joined with spaces.
///
/// The driver's targets are compared as well: resolved paths, requested addresses and started
/// commands; and for a deny or an ask its backend's address and command, and the paths that its
/// manifest opens for writing. A rule with such a pattern does not match a call that has neither. Paths are compared
/// without `.`, `..` and doubled slashes, addresses in the spelling of the drivers' parser,
/// commands by each program that their arguments show. A target that cannot be read or resolved,
/// and a command that runs program text, matches every deny and ask rule and no allow rule.
///
/// Of several such values (or classes), a deny or ask rule needs one match; an allow rule needs all
/// to match, and the input to name one: a rule about `docs/*` does not allow copying `docs/a` over
/// `keys/b`.
pub fn matches(rule: &Rule, subject: &Subject<'_>) -> bool {
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
        reason: _,
        matches: _,
        not_matches: _,
    } = rule;
    let reach = match verdict {
        Verdict::Allow => Reach::All,
        Verdict::Ask | Verdict::Deny => Reach::Any,
    };
    let fits = |pattern: &Option<String>, values: &dyn Fn() -> Vec<String>| match pattern {
        Some(pattern) => reach.covers(&values(), |value| Glob::new(pattern).matches(value)),
        None => true,
    };
    fits(tool, &|| vec![subject.tool.to_owned()])
        && fits(action, &|| subject.action.iter().map(|&action| action.into()).collect())
        && fits(&class.as_deref().map(spelled), &|| classes(subject))
        && (subject.actor.is_none() || fits(actor, &|| callers(subject)))
        && path.as_deref().is_none_or(|pattern| {
            let (told, patterns) = (subject.targets.path_spellings(), path_patterns(pattern));
            let behind = || subject.targets.backend.path_spellings();
            reach.spelled(&patterns, subject.named(paths), told.collect())
                || (reach == Reach::Any && behind().any(|path| path.is_held(&patterns)))
        })
        && url.as_deref().is_none_or(|pattern| {
            let (told, patterns) = (subject.targets.url_spellings(), address::patterns(pattern));
            let behind = || subject.targets.backend.url_spellings();
            reach.spelled(&patterns, subject.named(urls), told.collect())
                || (reach == Reach::Any && behind().any(|url| url.is_held(&patterns)))
        })
        && command.as_deref().is_none_or(|pattern| {
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

/// Returns true if a rule denies an actor every call of a tool, for any input; ignores
/// `subject.input`.
pub fn denies_always(rules: &[Rule], subject: &Subject<'_>) -> bool {
    let always = |rule: &&Rule| {
        // Destructured, so that a new condition on the input cannot be forgotten here.
        let Rule {
            verdict,
            path,
            url,
            command,
            tool: _,
            action: _,
            class: _,
            actor: _,
            reason: _,
            matches: _,
            not_matches: _,
        } = rule;
        *verdict == Verdict::Deny && path.is_none() && url.is_none() && command.is_none()
    };
    rules.iter().filter(always).any(|rule| matches(rule, subject))
}

/// How many of several values a rule has to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// A deny or an ask matches if one value does.
    Any,
    /// An allow matches only if all values do.
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

    /// Returns true if the patterns match the input's values and the driver's targets; targets
    /// alone allow nothing.
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

/// Canonical name of an effect class; an unknown class stays as it is.
fn spelled(class: &str) -> String {
    EffectClass::parse(class).map_or_else(|| class.to_owned(), |class| class.name().to_owned())
}

fn classes(subject: &Subject<'_>) -> Vec<String> {
    subject.classes.iter().map(|class| class.name().to_owned()).collect()
}

/// The calling actor, and the person who speaks as it.
fn callers(subject: &Subject<'_>) -> Vec<String> {
    let callers =
        subject.actor.into_iter().flat_map(|actor| [Some(&actor.id), actor.speaking.as_ref()]);
    callers.flatten().map(|id| id.as_str().to_owned()).collect()
}
