//! Rules of haft.toml: matches rules to a call and returns their opinions.

mod compiled_rule;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_model::{Actor, EffectClass, Firmness, Glob, Layer, Opinion, Says, Verdict};
use serde_json::Value;

use crate::targets::{CommandPattern, Spellings};
use crate::values::{commands, paths, urls};
use crate::{Matter, Rulebook, Targets};

pub use compiled_rule::CompiledRule;
pub(crate) use compiled_rule::TargetPattern;

/// Opinions of the matching rules; weighing puts deny before ask and ask before allow.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let mapped = matter.plan.mapped();
    let subject = Subject::of(matter, &mapped);
    let about = rulebook.rules.iter().enumerate().filter(|(_, rule)| matches(rule, &subject));
    about.map(|(index, rule)| opinion(index, rule)).collect()
}

fn opinion(index: usize, rule: &CompiledRule) -> Opinion {
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
pub fn matches(rule: &CompiledRule, subject: &Subject<'_>) -> bool {
    matches_apart_from(Aside::Nothing, rule, subject)
}

/// Condition of a rule that a comparison leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    Nothing,
    Path,
    Url,
    Command,
}

/// Returns true if a rule matches a call, whatever the condition that is left out.
pub(crate) fn matches_apart_from<'s>(
    aside: Aside,
    rule: &CompiledRule,
    subject: &Subject<'s>,
) -> bool {
    // Destructured, so that a new condition cannot be forgotten here and widen an allow rule.
    let CompiledRule { verdict, tool, action, class, actor, path, url, command, reason: _ } = rule;
    let reach = Reach::of(*verdict);
    let fits = |pattern: &Option<Glob>, values: &dyn Fn() -> Vec<&'s str>| match pattern {
        Some(glob) => reach.covers(&values(), |value| glob.matches(value)),
        None => true,
    };
    fits(tool, &|| vec![subject.tool])
        && fits(action, &|| subject.action.into_iter().collect())
        && fits(class, &|| classes(subject))
        && (subject.actor.is_none() || fits(actor, &|| callers(subject)))
        && (aside == Aside::Path || path_matches(path.as_ref(), reach, subject))
        && (aside == Aside::Url || url_matches(url.as_ref(), reach, subject))
        && (aside == Aside::Command || command_matches(command.as_deref(), reach, subject))
}

fn path_matches(pattern: Option<&TargetPattern>, reach: Reach, subject: &Subject<'_>) -> bool {
    let Some(TargetPattern { globs, source: _ }) = pattern else { return true };
    let behind = || subject.targets.backend.path_spellings();
    reach.spelled(globs, subject.named(paths), subject.targets.path_spellings().collect())
        || (reach == Reach::Any && behind().any(|path| path.is_held(globs)))
}

fn url_matches(pattern: Option<&TargetPattern>, reach: Reach, subject: &Subject<'_>) -> bool {
    let Some(TargetPattern { globs, source: _ }) = pattern else { return true };
    let behind = || subject.targets.backend.url_spellings();
    reach.spelled(globs, subject.named(urls), subject.targets.url_spellings().collect())
        || (reach == Reach::Any && behind().any(|url| url.is_held(globs)))
}

fn command_matches(pattern: Option<&CommandPattern>, reach: Reach, subject: &Subject<'_>) -> bool {
    let Some(pattern) = pattern else { return true };
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
}

/// Returns true if a rule denies an actor every call of a tool, for any input; ignores
/// `subject.input`.
pub fn denies_always(rules: &[CompiledRule], subject: &Subject<'_>) -> bool {
    let always = |rule: &&CompiledRule| {
        // Destructured, so that a new condition on the input cannot be forgotten here.
        let CompiledRule {
            verdict,
            path,
            url,
            command,
            tool: _,
            action: _,
            class: _,
            actor: _,
            reason: _,
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
    fn of(verdict: Verdict) -> Reach {
        match verdict {
            Verdict::Allow => Reach::All,
            Verdict::Ask | Verdict::Deny => Reach::Any,
        }
    }

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

fn classes<'s>(subject: &Subject<'s>) -> Vec<&'s str> {
    subject.classes.iter().map(|class| class.name()).collect()
}

/// The calling actor, and the person who speaks as it.
fn callers<'s>(subject: &Subject<'s>) -> Vec<&'s str> {
    let callers =
        subject.actor.into_iter().flat_map(|actor| [Some(&actor.id), actor.speaking.as_ref()]);
    callers.flatten().map(|id| id.as_str()).collect()
}
