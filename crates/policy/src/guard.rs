//! Target guard: checks paths, addresses and commands against the rules at the time of use.
//!
//! A symlink, a folder listing or a redirect can lead to a target that was unknown at
//! authorization. A guard holds the rulebook's restrictions for one call, and the driver checks
//! each such target.

use std::sync::Arc;

use haft_model::{Cause, CauseDetail, Code, Glob, RuleDecision, Stop, Timestamp, Verdict};

use crate::policies::{CompiledPolicyRule, held_paths};
use crate::rules::{Aside, CompiledRule, Subject, TargetPattern, matches, matches_apart_from};
use crate::targets::{
    BackendTargets, CommandLine, CommandPattern, PathTarget, Spellings, Targets, address,
};
use crate::{Matter, Rulebook, grants};

/// Restrictions of one call. It only compares.
#[derive(Clone, Debug, Default)]
pub struct TargetGuard(Option<Arc<Fences>>);

#[derive(Debug, Default)]
struct Fences {
    /// Targets at authorization.
    judged: Targets,
    paths: Vec<Fence<Arc<[Glob]>>>,
    urls: Vec<Fence<Arc<[Glob]>>>,
    commands: Vec<Fence<Arc<CommandPattern>>>,
    /// Scopes of the call's grants; `None` if one of them has no scope.
    scopes: Option<Vec<Glob>>,
}

/// One restricting pattern.
#[derive(Debug)]
struct Fence<P> {
    pattern: P,
    /// The pattern as the rule states it.
    source: String,
    verdict: Verdict,
    code: Code,
    /// The rule, as `haft.toml#index` or policy slug.
    rule: String,
    reason: Option<String>,
}

impl TargetGuard {
    /// Builds the guard of an authorized call from every deny rule, and every ask rule that did not
    /// match at authorization. An approver has answered those that did.
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

    /// Returns true if nothing restricts the call.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Targets at authorization; `None` if nothing restricts the call.
    pub fn judged(&self) -> Option<&Targets> {
        self.0.as_ref().map(|fences| &fences.judged)
    }

    /// Checks a path of the input where it resolves now: it must be the judged one, and allowed.
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

    /// Checks a path of the input that cannot be resolved: allowed only if it could not be resolved
    /// at authorization.
    pub fn unresolved_path(&self) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        match fences.judged.paths.contains(&PathTarget::Unresolved) {
            true => Ok(()),
            false => Err(elsewhere("a path of the input leads")),
        }
    }

    /// Checks a path that the driver found while running.
    pub fn path(&self, resolved: &str) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let spelled = Spellings::of(resolved.to_owned());
        let held = fences.paths.iter().find(|fence| spelled.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("a path")))?;
        fences.inside(&spelled, "a path")
    }

    /// Checks an address before the request.
    pub fn url(&self, url: &str) -> Result<(), Stop> {
        let watches = |fences: &&Arc<Fences>| !fences.urls.is_empty() || fences.scopes.is_some();
        let Some(fences) = self.0.as_ref().filter(watches) else { return Ok(()) };
        let spelled = address::spellings(url);
        let held = fences.urls.iter().find(|fence| spelled.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("an address")))?;
        fences.inside(&spelled, "an address")
    }

    /// Checks a command before it starts: it must be the judged one, and allowed.
    pub fn command(&self, command: &CommandLine) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let judged = &fences.judged.commands;
        if !judged.is_empty() && !judged.contains(command) {
            return Err(elsewhere("the program of the call is"));
        }
        let held = fences.commands.iter().find(|fence| command.is_held(&fence.pattern));
        held.map_or(Ok(()), |fence| Err(fence.refusal("a command")))
    }

    /// Checks the backend before the call goes to it: it must be the judged one, and allowed.
    pub fn backend(&self, backend: &BackendTargets) -> Result<(), Stop> {
        let Some(fences) = &self.0 else { return Ok(()) };
        let judged = &fences.judged.backend;
        let same_urls = judged.urls.is_empty() || judged.urls == backend.urls;
        let same_commands = judged.commands.is_empty() || judged.commands == backend.commands;
        if !same_urls || !same_commands {
            return Err(elsewhere("the backend of the call is"));
        }
        if !judged.paths.is_empty() && judged.paths != backend.paths {
            return Err(elsewhere("a path that the driver writes leads"));
        }
        for path in backend.path_spellings() {
            let held = fences.paths.iter().find(|fence| path.is_held(&fence.pattern));
            held.map_or(Ok(()), |fence| Err(fence.refusal("a path")))?;
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

    /// Paths that rules restrict as a whole, for a sandbox profile that cannot check each file.
    pub fn closed_paths(&self) -> Vec<String> {
        let fences = self.0.iter().flat_map(|fences| &fences.paths);
        let whole = fences.filter_map(|fence| {
            let glob = fence.pattern.last()?.source();
            let plain = glob.strip_suffix("/*").or(glob.strip_suffix("/**")).unwrap_or(glob);
            (!plain.is_empty() && !plain.contains('*')).then(|| plain.to_owned())
        });
        whole.collect()
    }

    /// Programs that rules restrict with any arguments, as patterns on a path or its last part, for
    /// a sandbox that cannot see what a program starts.
    pub fn closed_programs(&self) -> Vec<Glob> {
        let fences = self.0.iter().flat_map(|fences| &fences.commands);
        fences.filter_map(|fence| fence.pattern.program().cloned()).collect()
    }

    /// Returns true if rules compare paths, so that the paths of the input have to be resolved
    /// again.
    pub fn watches_paths(&self) -> bool {
        let watches = |fences: &Arc<Fences>| {
            let Targets { paths, backend, .. } = &fences.judged;
            !fences.paths.is_empty() || !paths.is_empty() || !backend.paths.is_empty()
        };
        self.0.as_ref().is_some_and(watches)
    }
}

impl Fences {
    /// Checks that a target lies in a scope of the call's grants.
    fn inside(&self, met: &Spellings, what: &str) -> Result<(), Stop> {
        match &self.scopes {
            Some(scopes) if !scopes.iter().any(|scope| grants::is_inside(met, scope)) => {
                let words = format!("the call came upon {what} beyond the scope of its grant");
                let scopes = scopes.iter().map(|scope| scope.source().to_owned()).collect();
                let cause = Cause::running().with(CauseDetail::Scopes(scopes));
                Err(Stop::new(Code::PermissionDenied, words).because(cause))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Adds the patterns of a rule whose other conditions match the call.
    fn add(&mut self, index: usize, rule: &CompiledRule, subject: &Subject<'_>) {
        // Destructured, so that a new kind of target cannot be forgotten here.
        let CompiledRule {
            verdict,
            reason,
            path,
            url,
            command,
            tool: _,
            action: _,
            class: _,
            actor: _,
        } = rule;
        let place = RulePlace { verdict: *verdict, rule: format!("haft.toml#{index}"), reason };
        if let Some(TargetPattern { source, globs }) = path
            && matches_apart_from(Aside::Path, rule, subject)
        {
            self.paths.push(place.fence(globs.clone(), source));
        }
        if let Some(TargetPattern { source, globs }) = url
            && matches_apart_from(Aside::Url, rule, subject)
        {
            self.urls.push(place.fence(globs.clone(), source));
        }
        if let Some(pattern) = command
            && matches_apart_from(Aside::Command, rule, subject)
        {
            self.commands.push(place.fence(pattern.clone(), pattern.written().source()));
        }
    }
}

/// The rule that restricts a call, without its patterns.
struct RulePlace<'r> {
    verdict: Verdict,
    rule: String,
    reason: &'r Option<String>,
}

impl RulePlace<'_> {
    fn fence<P>(&self, pattern: P, source: &str) -> Fence<P> {
        Fence {
            pattern,
            source: source.to_owned(),
            verdict: self.verdict,
            code: Code::PermissionDenied,
            rule: self.rule.clone(),
            reason: self.reason.clone(),
        }
    }
}

/// Restriction of an AIP-7 policy about paths.
fn governed(rule: &CompiledPolicyRule) -> Option<Fence<Arc<[Glob]>>> {
    let CompiledPolicyRule { rule, subject } = rule;
    Some(Fence {
        pattern: subject.as_ref()?.path_globs()?.clone(),
        source: rule.subject.clone()?,
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
        let cause = Cause::running()
            .with(CauseDetail::Rule(Some(rule.clone())))
            .with(CauseDetail::Pattern(source.clone()));
        Stop::new(self.code, words)
            .because(cause)
            .help("name what is meant itself, so that it is judged")
    }
}

/// Refusal of a target that changed since authorization.
fn elsewhere(what: &str) -> Stop {
    let words = format!("{what} elsewhere now than when it was judged");
    Stop::new(Code::InputMutation, words)
        .because(Cause::running())
        .help("call again, so that what is there now is judged")
}

#[cfg(test)]
mod tests;
