//! Compiled policy rule: an AIP-7 policy whose subject is compiled once, when a rulebook is built.

use std::sync::Arc;

use haft_model::{Glob, PolicyRule};

use crate::values::path_patterns;

/// An AIP-7 policy with its compiled subject.
#[derive(Clone, Debug)]
pub struct CompiledPolicyRule {
    /// The policy as read.
    pub rule: Arc<PolicyRule>,
    pub(crate) subject: Option<SubjectPattern>,
}

/// Pattern on the subject of a call.
#[derive(Clone, Debug)]
pub(crate) enum SubjectPattern {
    /// The tool's id.
    Tool(Glob),
    /// Paths of the input, from `/`.
    Rooted(Arc<[Glob]>),
    /// Paths of the input and of the contract's mutations, from the workspace root.
    Inside(Arc<[Glob]>),
}

impl CompiledPolicyRule {
    /// Compiles the subject of a policy.
    pub fn new(rule: Arc<PolicyRule>) -> CompiledPolicyRule {
        let subject = rule.subject.as_deref().map(SubjectPattern::new);
        CompiledPolicyRule { rule, subject }
    }
}

impl SubjectPattern {
    /// A subject about paths begins with `/` or `workspace:`; any other is about tools.
    fn new(source: &str) -> SubjectPattern {
        match source.strip_prefix("workspace:") {
            Some(inside) => {
                SubjectPattern::Inside(path_patterns(inside.trim_start_matches('/')).into())
            }
            None if source.starts_with('/') => SubjectPattern::Rooted(path_patterns(source).into()),
            None => SubjectPattern::Tool(Glob::new(source)),
        }
    }

    /// Globs of a subject about paths.
    pub(crate) fn path_globs(&self) -> Option<&Arc<[Glob]>> {
        match self {
            SubjectPattern::Rooted(globs) | SubjectPattern::Inside(globs) => Some(globs),
            SubjectPattern::Tool(_) => None,
        }
    }
}
