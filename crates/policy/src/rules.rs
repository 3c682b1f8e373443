//! The rules of haft.toml: which calls a rule is about, and what the rules say of one.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_model::{Actor, EffectClass, Firmness, Glob, Layer, Opinion, Rule, Says, Verdict};
use serde_json::Value;

use crate::values::{Command, commands, paths, urls};
use crate::{Matter, Rulebook};

/// What the rules say that are about this call; deny beats ask and ask beats allow when they are
/// weighed.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let plan = matter.plan;
    let subject = Subject {
        tool: plan.tool.id.as_str(),
        action: Some(matter.action.unwrap_or(matter.grant)),
        classes: &plan.effects.classes,
        actor: Some(&plan.actor),
        input: &plan.input,
    };
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
/// A rule with such a pattern is not about a call without such a field. Paths and URLs are
/// compared without `.`, `..` and doubled slashes.
///
/// Where a call has several such values (or classes), a rule that denies or asks is about it when
/// one of them fits, and a rule that allows only when all of them do: copying `docs/a` over
/// `keys/b` is not allowed by a rule about `docs/*`. For the same reason a rule that allows is not
/// about a command line that a shell would take apart, and one that denies or asks looks at each
/// part.
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
        && fits(&rule.path, &|| paths(subject.input))
        && fits(&rule.url, &|| urls(subject.input))
        && rule.command.as_deref().is_none_or(|pattern| {
            let glob = Glob::new(pattern);
            reach.covers(&commands(subject.input), |command| runs(&glob, command, reach))
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

fn runs(glob: &Glob, command: &Command, reach: Reach) -> bool {
    match (command, reach) {
        (Command::Words(words), _) => glob.matches(words),
        (Command::Line(line), Reach::Any) => {
            glob.matches(line) || command.parts().any(|part| glob.matches(part))
        }
        (Command::Line(line), Reach::All) => {
            line == glob.source() || (glob.matches(line) && command.is_plain())
        }
    }
}
