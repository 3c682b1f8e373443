//! What a call must not meet while it runs: the patterns that hold back, for the moment of use.
//!
//! A link may be laid, a folder holds files, an answer points elsewhere: none of that is known when a
//! call is judged. A guard is made of the rulebook for one call and asked about each such thing.

use std::sync::Arc;

use haft_model::{Code, Glob, PolicyRule, Rule, RuleDecision, Stop, Timestamp, Verdict};
use serde_json::json;

use crate::policies::held_paths;
use crate::rules::{Subject, matches};
use crate::targets::{BackendTargets, CommandLine, PathTarget, Spellings, Targets, address};
use crate::values::path_patterns;
use crate::{Matter, Rulebook, grants};

/// What one call must not meet. It compares and does nothing else.
#[derive(Clone, Debug, Default)]
pub struct TargetGuard(Option<Arc<Fences>>);

#[derive(Debug, Default)]
struct Fences {
    /// What the call was judged by.
    judged: Targets,
    paths: Vec<Fence<Vec<Glob>>>,
    urls: Vec<Fence<Vec<Glob>>>,
    commands: Vec<Fence<String>>,
    /// The scopes of the grants that the call runs by, where they all have one.
    scopes: Option<Vec<String>>,
}

/// One pattern that holds back.
#[derive(Debug)]
struct Fence<P> {
    pattern: P,
    /// The pattern as its rule has it.
    source: String,
    verdict: Verdict,
    code: Code,
    /// The rule, by its place or its slug.
    rule: String,
    reason: Option<String>,
}

impl TargetGuard {
    /// The guard of a call that was judged: every rule that denies, and those that would ask and were
    /// not about the call as it was judged. What people were asked about, they answered.
    pub fn of(rulebook: &Rulebook, matter: &Matter<'_>, now: Timestamp) -> TargetGuard {
        let mapped = matter.plan.mapped();
        let subject = Subject::of(matter, &mapped);
        let mut fences = Fences { judged: matter.targets.clone(), ..Fences::default() };
        for (index, rule) in rulebook.rules.iter().enumerate() {
            if rule.verdict == Verdict::Allow
                || (rule.verdict == Verdict::Ask && matches(rule, &subject))
            {
                continue;
            }
            fences.add(index, rule, &subject);
        }
        for rule in held_paths(rulebook, matter) {
            fences.paths.extend(governed(rule));
        }
        fences.scopes = grants::scopes(rulebook, matter, now);
        let nothing = fences.judged.is_empty()
            && fences.scopes.is_none()
            && fences.paths.is_empty()
            && fences.urls.is_empty()
            && fences.commands.is_empty();
        TargetGuard((!nothing).then(|| Arc::new(fences)))
    }

    /// Whether there is nothing to hold anything against.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What the call was judged by.
    pub fn judged(&self) -> Option<&Targets> {
        self.0.as_ref().map(|fences| &fences.judged)
    }

    /// A path that the call names, where it leads now: it is the one that was judged, and may be used.
    pub fn named_path(&self, resolved: &str) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let is_it = |target: &PathTarget| match target {
            PathTarget::Resolved(path) => path == resolved,
            PathTarget::Unresolved => false,
        };
        if !fences.judged.paths.is_empty() && !fences.judged.paths.iter().any(is_it) {
            return Err(elsewhere("a path of the input leads"));
        }
        self.path(resolved)
    }

    /// A path of the input of which nobody can tell where it leads: only where that was so when it was
    /// judged.
    pub fn unresolved_path(&self) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        match fences.judged.paths.contains(&PathTarget::Unresolved) {
            true => Ok(()),
            false => Err(elsewhere("a path of the input leads")),
        }
    }

    /// A path that turned up while the call ran.
    pub fn path(&self, resolved: &str) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let spelled = Spellings::of(resolved.to_owned());
        let held = fences.paths.iter().find(|fence| spelled.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("a path")))?;
        fences.inside(&spelled, "a path")
    }

    /// An address that is about to be asked for.
    pub fn url(&self, url: &str) -> Result<(), Stop> {
        let watches = |fences: &&Arc<Fences>| !fences.urls.is_empty() || fences.scopes.is_some();
        let Some(fences) = self.0.as_ref().filter(watches) else { return Ok(()) };
        let spelled = address::spellings(url);
        let held = fences.urls.iter().find(|fence| spelled.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("an address")))?;
        fences.inside(&spelled, "an address")
    }

    /// A command that is about to be started: it is the one that was judged, and may be.
    pub fn command(&self, command: &CommandLine) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let judged = &fences.judged.commands;
        if !judged.is_empty() && !judged.contains(command) {
            return Err(elsewhere("the program of the call is"));
        }
        let held = fences.commands.iter().find(|fence| command.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("a command")))
    }

    /// The backend that the call is about to go to: it is the one that was judged, and may be used.
    pub fn backend(&self, backend: &BackendTargets) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let judged = &fences.judged.backend;
        let same_urls = judged.urls.is_empty() || judged.urls == backend.urls;
        let same_commands = judged.commands.is_empty() || judged.commands == backend.commands;
        if !same_urls || !same_commands {
            return Err(elsewhere("the backend of the call is"));
        }
        for url in backend.url_spellings() {
            let held = fences.urls.iter().find(|fence| url.is_held(&fence.pattern));
            held.map_or(Ok(()), |fence| Err(fence.refusal("an address")))?;
        }
        for command in &backend.commands {
            let held = fences.commands.iter().find(|fence| command.is_held(&fence.pattern));
            held.map_or(Ok(()), |fence| Err(fence.refusal("a command")))?;
        }
        Ok(())
    }

    /// The files and folders of the workspace that rules hold back as a whole, for those who confine a
    /// program instead of asking about each file.
    pub fn closed_paths(&self) -> Vec<String> {
        let fences = self.0.iter().flat_map(|fences| &fences.paths);
        let whole = fences.filter_map(|fence| {
            let glob = fence.pattern.last()?.source();
            let plain = glob.strip_suffix("/*").or(glob.strip_suffix("/**")).unwrap_or(glob);
            (!plain.is_empty() && !plain.contains('*')).then(|| plain.to_owned())
        });
        whole.collect()
    }

    /// The programs that rules hold back whatever their arguments, as patterns on a path or on the last
    /// part of one, for those who confine a program and cannot see what it starts.
    pub fn closed_programs(&self) -> Vec<Glob> {
        let fences = self.0.iter().flat_map(|fences| &fences.commands);
        fences.filter_map(|fence| whole_program(&fence.pattern)).collect()
    }

    /// Whether rules compare paths, so that those of the input are worth resolving again.
    pub fn watches_paths(&self) -> bool {
        let watches =
            |fences: &Arc<Fences>| !fences.paths.is_empty() || !fences.judged.paths.is_empty();
        self.0.as_ref().is_some_and(watches)
    }
}

impl Fences {
    /// Whether the grants of the call reach as far as something that it met.
    fn inside(&self, met: &Spellings, what: &str) -> Result<(), Stop> {
        match &self.scopes {
            Some(scopes) if !scopes.iter().any(|scope| grants::is_inside(met, scope)) => {
                let words = format!("the call came upon {what} beyond the scope of its grant");
                let cause = json!({"phase": "run", "scopes": scopes});
                Err(Stop::new(Code::PermissionDenied, words).because(cause))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Takes up the patterns of a rule for which everything else that the rule says fits the call.
    fn add(&mut self, index: usize, rule: &Rule, subject: &Subject<'_>) {
        let place = format!("haft.toml#{index}");
        let fence = |source: &str| Fence {
            pattern: Vec::new(),
            source: source.to_owned(),
            verdict: rule.verdict,
            code: Code::PermissionDenied,
            rule: place.clone(),
            reason: rule.reason.clone(),
        };
        if let Some(source) = &rule.path
            && matches(&Rule { path: None, ..rule.clone() }, subject)
        {
            self.paths.push(Fence { pattern: path_patterns(source), ..fence(source) });
        }
        if let Some(source) = &rule.url
            && matches(&Rule { url: None, ..rule.clone() }, subject)
        {
            self.urls.push(Fence { pattern: address::patterns(source), ..fence(source) });
        }
        if let Some(source) = &rule.command
            && matches(&Rule { command: None, ..rule.clone() }, subject)
        {
            let Fence { source, verdict, code, rule, reason, .. } = fence(source);
            let pattern = source.clone();
            self.commands.push(Fence { pattern, source, verdict, code, rule, reason });
        }
    }
}

/// The program of a pattern that is about it with any arguments: `rm *`, but not `git push *`.
fn whole_program(pattern: &str) -> Option<Glob> {
    let plain = pattern.trim();
    let program = plain.strip_suffix('*')?;
    let name = program.trim_end();
    let whole = !name.trim_matches('*').is_empty() && !name.contains(char::is_whitespace);
    // `rm*` is about `rmdir` as well.
    let source = if name.len() < program.len() { name } else { plain };
    whole.then(|| Glob::new(source.strip_prefix("./").unwrap_or(source)))
}

/// The fence of an AIP-7 policy about paths.
fn governed(rule: &PolicyRule) -> Option<Fence<Vec<Glob>>> {
    let source = rule.subject.clone()?;
    Some(Fence {
        pattern: crate::policies::path_subject(&source)?,
        source,
        verdict: match rule.decision {
            RuleDecision::Allow => return None,
            RuleDecision::RequireApproval | RuleDecision::Escalate => Verdict::Ask,
            RuleDecision::Deny => Verdict::Deny,
        },
        code: Code::PolicyBlocked,
        rule: rule.slug.clone(),
        reason: None,
    })
}

impl<P> Fence<P> {
    fn refusal(&self, what: &str) -> Stop {
        let Fence { source, rule, .. } = self;
        let words = match self.verdict {
            Verdict::Allow | Verdict::Deny => {
                format!("the call came upon {what} that `{rule}` denies (`{source}`)")
            }
            Verdict::Ask => format!(
                "the call came upon {what} that `{rule}` asks about (`{source}`), and a call that \
                 runs cannot be asked about"
            ),
        };
        let words = match &self.reason {
            Some(reason) => format!("{words}: {reason}"),
            None => words,
        };
        let cause = json!({"phase": "run", "rule": rule, "pattern": source});
        Stop::new(self.code, words)
            .because(cause)
            .help("name what is meant itself, so that it is judged")
    }
}

/// The refusal of something that is not what was judged.
fn elsewhere(what: &str) -> Stop {
    let words = format!("{what} elsewhere now than when it was judged");
    Stop::new(Code::InputMutation, words)
        .because(json!({"phase": "run"}))
        .help("call again, so that what is there now is judged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_with_any_arguments_closes_its_program() {
        for (pattern, expected) in [
            ("rm *", Some("rm")),
            ("/usr/bin/rm *", Some("/usr/bin/rm")),
            ("./tools/rm *", Some("tools/rm")),
            ("rm*", Some("rm*")),
            ("rm", None),
            ("rm x", None),
            ("git push *", None),
            ("*", None),
            ("* *", None),
        ] {
            let closed = whole_program(pattern);
            assert_eq!(closed.as_ref().map(Glob::source), expected, "{pattern}");
        }
    }
}
