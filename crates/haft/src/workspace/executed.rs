//! Executed files: those of a workspace that its hooks and drivers start, by the words that name them.

use std::path::Path;

use haft_contract::settings::HookTarget;

use crate::Workspace;

impl Workspace {
    /// The files that hooks of haft.toml execute. A hook decides about calls, so their content governs.
    pub(super) fn hook_files(&self) -> Vec<String> {
        let targets = self.settings().hooks.iter().map(|hook| &hook.target);
        let words = targets.flat_map(|target| match target {
            HookTarget::Run(command) => command.as_slice(),
            HookTarget::Url(_) => &[],
        });
        files(self.root(), words)
    }

    /// The files that hooks and drivers execute: no confined program may write them.
    pub(crate) fn executed_files(&self) -> Vec<String> {
        let drivers = self.drivers();
        let mut executed = self.hook_files();
        executed.extend(files(self.root(), drivers.iter().flat_map(|driver| &driver.executes)));
        executed.sort();
        executed.dedup();
        executed
    }
}

/// Those words that name a file of the workspace, as it is written from the root.
fn files<'a>(root: &Path, words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let inside = words.filter_map(|word| {
        let path = match Path::new(word).strip_prefix(root) {
            Ok(inside) => inside,
            Err(_) => Path::new(word.strip_prefix("./").unwrap_or(word)),
        };
        let is_plain =
            path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let name = path.to_str().filter(|name| is_plain && !name.is_empty())?;
        root.join(path).is_file().then(|| name.to_owned())
    });
    let mut found: Vec<String> = inside.collect();
    found.sort();
    found.dedup();
    found
}
