//! Loosening detection: compares what governs a workspace before and after a change.
//!
//! What cannot be shown to be equal or tighter counts as looser.

mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use haft_model::{DefaultDecision, Digest, Governance, Grant, Policy, PolicyRule};

use crate::ManifestKind;
use crate::settings::Settings;

/// Everything that says what calls may do, as one reading has it.
#[derive(Clone, Debug)]
pub struct Governing<'g> {
    /// `haft.toml`.
    pub settings: &'g Settings,
    /// AIP-38 grants, in the order of their files.
    pub policies: &'g [Arc<Policy>],
    /// AIP-7 rules, in the order of their files.
    pub policy_rules: &'g [Arc<PolicyRule>],
    /// The governance with its parents merged in.
    pub governance: &'g Governance,
    /// Whether all of it could be read. Where it could not, every call is denied.
    pub complete: bool,
    /// The digest of each governing file, by its path from the workspace's root.
    pub files: BTreeMap<String, Digest>,
}

/// One way in which a change asks less or lets more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loosening {
    /// The file that changed.
    pub file: String,
    /// The loosening, as a sentence about the file.
    pub what: String,
}

impl Loosening {
    fn new(file: &str, what: impl Into<String>) -> Loosening {
        Loosening { file: file.to_owned(), what: what.into() }
    }
}

impl fmt::Display for Loosening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// Every way in which what governs is looser after a change than before it. None means that each call
/// is judged at least as strictly as before, by the same people, in the same sandbox.
pub fn loosened(before: &Governing<'_>, after: &Governing<'_>) -> Vec<Loosening> {
    let mut found = settings::loosened(before, after);
    if !before.complete && after.complete {
        found.push(Loosening::new(
            settings::FILE,
            "every call was denied because a governing document could not be read",
        ));
    }
    let changed = changed(before, after);
    let of_kind = |wanted: &[ManifestKind]| {
        let files = changed
            .iter()
            .filter(|(file, _)| ManifestKind::of(file).is_some_and(|k| wanted.contains(&k)));
        files.map(|(file, change)| (*file, *change)).collect::<Vec<_>>()
    };
    let policies = of_kind(&[ManifestKind::Policy]);
    if let Some(what) = grants(before.policies, after.policies) {
        found.extend(named(&policies, what));
    }
    if before.policy_rules != after.policy_rules {
        found.extend(named(&policies, "the policies of AIP-7 are others than before"));
    }
    if before.governance != after.governance {
        found.extend(named(
            &of_kind(&[ManifestKind::Governance]),
            "the governance is another than before",
        ));
    }
    for (file, change) in &changed {
        let harmless = match ManifestKind::of(file) {
            // These were compared by what they say.
            Some(ManifestKind::Policy | ManifestKind::Governance) => true,
            // Beside the settings only programs of hooks have no kind.
            None => *file == settings::FILE,
            // A contract that gains or loses its action is held against what was accepted of it.
            Some(ManifestKind::Action) => *change != FileChange::Other,
            Some(
                ManifestKind::Tool
                | ManifestKind::Driver
                | ManifestKind::Cli
                | ManifestKind::Json
                | ManifestKind::Secrets
                | ManifestKind::Auth
                | ManifestKind::Runner
                | ManifestKind::Sandbox,
            ) => false,
        };
        if !harmless {
            found.push(Loosening::new(file, change.words()));
        }
    }
    found
}

/// How a governing file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileChange {
    Added,
    Removed,
    Other,
}

impl FileChange {
    fn words(self) -> &'static str {
        match self {
            FileChange::Added => "it is new",
            FileChange::Removed => "it is gone",
            FileChange::Other => "it says something else than before",
        }
    }
}

/// The files that came, went or say something else.
fn changed<'g>(before: &'g Governing<'_>, after: &'g Governing<'_>) -> Vec<(&'g str, FileChange)> {
    let files: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let change = |file: &'g String| match (before.files.get(file), after.files.get(file)) {
        (Some(then), Some(now)) if then == now => None,
        (Some(_), Some(_)) => Some((file.as_str(), FileChange::Other)),
        (None, _) => Some((file.as_str(), FileChange::Added)),
        (Some(_), None) => Some((file.as_str(), FileChange::Removed)),
    };
    files.into_iter().filter_map(change).collect()
}

/// The same finding for each file that may be the cause, and for the settings where none changed.
fn named(files: &[(&str, FileChange)], what: &str) -> Vec<Loosening> {
    if files.is_empty() {
        return vec![Loosening::new(settings::FILE, what)];
    }
    files.iter().map(|(file, _)| Loosening::new(file, what)).collect()
}

/// Why grants may let more than before. Without any policy there is no grant layer, so the first one
/// only takes away; after that, only grants that are gone do.
fn grants(before: &[Arc<Policy>], after: &[Arc<Policy>]) -> Option<&'static str> {
    if before == after || before.is_empty() {
        return None;
    }
    let same = |before: &Policy, after: &Policy| {
        before.id == after.id
            && before.default == after.default
            && before.limits == after.limits
            && before.requirements == after.requirements
            && fewer(&before.grants, &after.grants)
    };
    let fewer = before.len() == after.len()
        && before.iter().zip(after).all(|(before, after)| same(before, after));
    // Where every policy allows by default, a call that lost its grant may go.
    let closed = after.iter().any(|policy| policy.default == DefaultDecision::Deny);
    (!fewer || !closed).then_some("its grants, limits or requirements are others than before")
}

/// Whether grants are those of before without some; one that takes another back has to stay.
fn fewer(before: &[Grant], after: &[Grant]) -> bool {
    let mut left = after.iter().peekable();
    for grant in before {
        if left.next_if(|next| *next == grant).is_none() && grant.revoked {
            return false;
        }
    }
    left.next().is_none()
}
