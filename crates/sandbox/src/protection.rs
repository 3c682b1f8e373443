//! Governing paths: decides by its path whether a file governs, so that no confined program writes
//! it.

mod links;

pub use links::LinkTarget;

use std::path::{Path, PathBuf};

use haft_model::governing::{self, Base, Extent, Governing, GoverningKind, could_govern_anywhere};

/// Haft's state folder, which only an environment variable locates.
const STATE: Governing = Governing {
    pattern: "$XDG_STATE_HOME/haft",
    kind: GoverningKind::State,
    extent: Extent::Whole,
    reason: "Haft keeps its state, its settings or its programs there",
};

/// A file that governs because a rule names it as a program to execute.
const PROGRAM: Governing = Governing {
    pattern: "<program>",
    kind: GoverningKind::Program,
    extent: Extent::Whole,
    reason: "a hook or a driver of this workspace executes it",
};

/// Variables that move a folder of the home, and its path in the table.
const MOVED: [(&str, &[&str]); 3] = [
    ("XDG_STATE_HOME", &[".local", "state"]),
    ("XDG_CONFIG_HOME", &[".config"]),
    ("XDG_DATA_HOME", &[".local", "share"]),
];

/// The folders that governing paths are relative to, and what is open of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    workspace: PathBuf,
    home: Option<PathBuf>,
    state: Vec<PathBuf>,
    /// Folders that stand for one of the home, with its path there.
    moved: Vec<(PathBuf, &'static [&'static str])>,
    /// Files that hooks and drivers execute.
    programs: Vec<PathBuf>,
    version_control: VersionControl,
}

/// Whether the configuration of version control may be changed in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VersionControl {
    Protected,
    /// A contract declares `git:config`.
    Open,
}

impl Protection {
    /// The governing paths of a workspace, given by its real path, and of the user with this
    /// environment.
    pub fn of(workspace: &Path, variable: impl Fn(&str) -> Option<String>) -> Protection {
        let folder = |name: &str| {
            let path = PathBuf::from(variable(name)?);
            path.is_absolute().then(|| std::fs::canonicalize(&path).unwrap_or(path))
        };
        let moved = MOVED.iter().filter_map(|(name, names)| Some((folder(name)?, *names)));
        let moved: Vec<_> = moved.collect();
        Protection {
            workspace: workspace.to_owned(),
            home: folder("HOME"),
            state: moved.iter().map(|(folder, _)| folder.join("haft")).collect(),
            moved,
            programs: Vec::new(),
            version_control: VersionControl::Protected,
        }
    }

    /// Opens the git configuration, where a contract declares `git:config`. Hooks are open with it,
    /// since a configuration can name any other folder for them.
    pub fn with_git_config(self) -> Protection {
        Protection { version_control: VersionControl::Open, ..self }
    }

    /// Adds the files that hooks and drivers execute, given by their real paths.
    pub fn with_programs(self, programs: Vec<PathBuf>) -> Protection {
        Protection { programs, ..self }
    }

    /// The workspace's real path.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The row that governs a path; it is matched by name, and no symlink is followed.
    pub fn governing(&self, path: &Path) -> Option<&'static Governing> {
        let within = |base: &Path| path.strip_prefix(base).ok().map(names);
        let in_workspace = within(&self.workspace);
        let near = match &in_workspace {
            Some(names) => governing::governing(Base::Workspace, &borrowed(names))
                .filter(|row| !self.leaves_open(row)),
            None => governing::governing(Base::Folder, &borrowed(&names(path))),
        };
        let at_home = |names: Vec<String>| {
            let row = governing::governing(Base::Home, &borrowed(&names))?;
            governing::rows(Base::Home).contains(row).then_some(row)
        };
        near.or_else(|| at_home(within(self.home.as_deref()?)?))
            .or_else(|| self.in_moved(path).into_iter().find_map(at_home))
            .or_else(|| self.state.iter().any(|state| path.starts_with(state)).then_some(&STATE))
            .or_else(|| self.programs.iter().any(|file| file == path).then_some(&PROGRAM))
    }

    /// The path that a file would have in the home, where a variable moved its folder.
    fn in_moved(&self, path: &Path) -> Vec<Vec<String>> {
        let inside = self.moved.iter().filter_map(|(folder, above)| {
            let above = above.iter().map(|name| (*name).to_owned());
            Some(above.chain(names(path.strip_prefix(folder).ok()?)).collect())
        });
        inside.collect()
    }

    /// The row that governs a path or any folder above it, for tools that have no business in such
    /// a folder at all.
    pub fn governing_above(&self, path: &Path) -> Option<&'static Governing> {
        let within = |folder: &&Path| *folder != self.workspace;
        path.ancestors().take_while(within).find_map(|above| self.governing(above))
    }

    /// Whether a folder leads to a path that governs.
    pub(crate) fn leads_to_governing(&self, path: &Path) -> bool {
        let leads = |base: Base, folder: &Path| {
            let names = path.strip_prefix(folder).ok().map(names);
            names.is_some_and(|names| governing::leads_to_governing(base, &borrowed(&names)))
        };
        let near = match path.starts_with(&self.workspace) {
            true => leads(Base::Workspace, &self.workspace),
            false => leads(Base::Folder, Path::new("/")),
        };
        let holds = |place: &PathBuf| place.starts_with(path);
        let moved =
            |names: &Vec<String>| governing::leads_to_governing(Base::Home, &borrowed(names));
        near || self.home.as_ref().is_some_and(|home| leads(Base::Home, home) || holds(home))
            || holds(&self.workspace)
            || self.state.iter().any(holds)
            || self.moved.iter().any(|(folder, _)| holds(folder))
            || self.in_moved(path).iter().any(moved)
            || self.programs.iter().any(|file| file != path && file.starts_with(path))
    }

    /// Whether a name could govern in a folder; a cheap check before the full path is matched.
    pub(crate) fn is_worth_asking(&self, folder: &Path, name: &str) -> bool {
        could_govern_anywhere(name) || self.leads_to_governing(folder)
    }

    fn leaves_open(&self, row: &Governing) -> bool {
        let open = self.version_control == VersionControl::Open;
        open && row.kind == GoverningKind::VersionControl
    }
}

fn names(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    names.collect()
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
