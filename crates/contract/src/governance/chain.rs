//! Governance chain: follows `extends` from a file to its root.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Rule;
use crate::governance::GovernanceFile;
use crate::{Diagnostic, Report, beside, rules};

/// How many files a chain has at most, the first included.
pub const LONGEST_CHAIN: usize = 8;

/// The files from one of them up to its root, nearest first.
///
/// A cycle, a missing parent and a chain that is too long end the walk with a warning, and what
/// was found so far holds. `files` are known by their paths from the workspace's root.
pub fn resolve_chain(
    start: &str,
    files: &BTreeMap<String, Arc<GovernanceFile>>,
) -> (Vec<Arc<GovernanceFile>>, Vec<Diagnostic>) {
    let mut chain: Vec<Arc<GovernanceFile>> = Vec::new();
    let mut next = files.get(start).cloned();
    while let Some(file) = next.take() {
        chain.push(file.clone());
        match parent(&file, &chain, files) {
            Ok(found) => next = found,
            Err(problem) => return (chain, problem),
        }
    }
    (chain, Vec::new())
}

type GovernanceFiles = BTreeMap<String, Arc<GovernanceFile>>;

fn parent(
    file: &GovernanceFile,
    chain: &[Arc<GovernanceFile>],
    files: &GovernanceFiles,
) -> Result<Option<Arc<GovernanceFile>>, Vec<Diagnostic>> {
    let Some(extends) = &file.extends else { return Ok(None) };
    let path = beside(file.file(), extends);
    let Some(found) = path.as_ref().and_then(|path| files.get(path)) else {
        return Err(problem(
            file,
            &rules::G152,
            format!("there is no usable `{extends}` to extend"),
        ));
    };
    if chain.iter().any(|earlier| earlier.file() == found.file()) {
        return Err(problem(
            file,
            &rules::G150,
            format!("`{extends}` leads back to `{}`", found.file()),
        ));
    }
    if chain.len() >= LONGEST_CHAIN {
        return Err(problem(
            file,
            &rules::G151,
            format!("`{extends}` would be file {} of the chain", chain.len() + 1),
        ));
    }
    Ok(Some(found.clone()))
}

fn problem(file: &GovernanceFile, rule: &Rule, message: String) -> Vec<Diagnostic> {
    let mut report = Report::new(&file.source);
    report
        .add(rule, file.node.place(&["extends"]), message)
        .help("the chain ends here, and what was found so far holds");
    report.into_diagnostics()
}
