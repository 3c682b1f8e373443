//! File watching: signals changes of a workspace's files, debounced.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::files::{FOLDERS, ROOT_FILES};
use crate::workspace::SIDE_FILES;
use crate::{Error, Workspace};

/// Debounce interval: an editor that writes one file often writes others.
const CALM: Duration = Duration::from_millis(100);

/// The longest debounce.
const LONGEST: Duration = Duration::from_secs(2);

/// Signals changes of a workspace's files, for as long as it is kept.
pub struct Watching {
    watcher: RecommendedWatcher,
    rung: mpsc::Receiver<bool>,
    root: PathBuf,
}

impl Watching {
    /// Watches the files of a workspace, and none beside them.
    pub fn new(workspace: &Workspace) -> Result<Watching, Error> {
        let root = workspace.root().to_owned();
        let unwatched = |cause: notify::Error| Error::Unwatched { cause: cause.to_string() };
        let root = root.canonicalize().unwrap_or(root);
        // One ring is enough, however much changed; whether folders came or went is kept apart.
        let (ring, rung) = mpsc::channel(64);
        let home = root.clone();
        let heard = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            let ours = |path: &PathBuf| concerns(&home, path);
            if event.need_rescan() || (!event.kind.is_access() && event.paths.iter().any(ours)) {
                let top = |path: &PathBuf| path.parent() == Some(&*home);
                // A full channel has rung already, and folders are looked at again then as well.
                let _ = ring.try_send(event.need_rescan() || event.paths.iter().any(top));
            }
        };
        let mut watcher = notify::recommended_watcher(heard).map_err(unwatched)?;
        watcher.watch(&root, RecursiveMode::NonRecursive).map_err(unwatched)?;
        let mut watching = Watching { watcher, rung, root };
        watching.look_below();
        Ok(watching)
    }

    /// Watches the folders that there are now.
    fn look_below(&mut self) {
        for folder in FOLDERS {
            let path = self.root.join(folder);
            if path.is_dir() {
                // One that vanished meanwhile has told so.
                let _ = self.watcher.watch(&path, RecursiveMode::Recursive);
            }
        }
    }

    /// Waits for a change, debounced. Returns false where the watcher is gone.
    pub async fn changed(&mut self) -> bool {
        let Some(mut top) = self.rung.recv().await else { return false };
        let longest = Instant::now() + LONGEST;
        while let Ok(Some(also)) =
            timeout_at(longest.min(Instant::now() + CALM), self.rung.recv()).await
        {
            top |= also;
        }
        if top {
            self.look_below();
        }
        true
    }
}

/// Whether a path is one that a workspace is read from.
fn concerns(root: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(root) else { return false };
    let mut parts = inside.components();
    let Some(Component::Normal(first)) = parts.next() else { return false };
    let Some(first) = first.to_str() else { return false };
    let alone = parts.next().is_none();
    FOLDERS.contains(&first)
        || (alone && (ROOT_FILES.contains(&first) || SIDE_FILES.contains(&first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_a_workspace_is_read_from_ring() {
        let root = Path::new("/shop");
        let concerned = |path: &str| concerns(root, &root.join(path));
        for path in [".tools/a/TOOL.md", ".tools", "haft.toml", "haft.lock", "GOVERNANCE.md"] {
            assert!(concerned(path), "{path}");
        }
        for path in [".haft/haft.db", "src/haft.toml", "node_modules/a/TOOL.md", "", "a/.tools"] {
            assert!(!concerned(path), "{path}");
        }
        assert!(!concerns(root, Path::new("/elsewhere/haft.toml")));
    }
}
