//! What of this machine governs, by where it is: no program that runs inside may change it.

mod links;

use std::path::{Path, PathBuf};

use haft_model::governing::{self, Base, Extent, Governing, GoverningKind, could_govern_anywhere};

/// What governs that the table knows only by what a variable says.
const STATE: Governing = Governing {
    pattern: "$XDG_STATE_HOME/haft",
    kind: GoverningKind::State,
    extent: Extent::Whole,
    reason: "Haft keeps its state, its settings or its programs there",
};

/// Variables that say where Haft keeps something of its own.
const VARIABLES: [&str; 3] = ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// The places that governing paths are written from, and what is open of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    workspace: PathBuf,
    home: Option<PathBuf>,
    state: Vec<PathBuf>,
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
    /// What governs a workspace, given by its real path, and a person whose environment this is.
    pub fn of(workspace: &Path, variable: impl Fn(&str) -> Option<String>) -> Protection {
        let folder = |name: &str| {
            let path = PathBuf::from(variable(name)?);
            path.is_absolute().then(|| std::fs::canonicalize(&path).unwrap_or(path))
        };
        let state = VARIABLES.iter().filter_map(|name| Some(folder(name)?.join("haft")));
        Protection {
            workspace: workspace.to_owned(),
            home: folder("HOME"),
            state: state.collect(),
            version_control: VersionControl::Protected,
        }
    }

    /// The same where a contract declares `git:config`. Hooks are open with it, since a configuration
    /// can name any other folder for them.
    pub fn with_git_config(self) -> Protection {
        Protection { version_control: VersionControl::Open, ..self }
    }

    /// The same with more places where Haft keeps its state, by their real paths.
    pub fn with_state(mut self, places: impl IntoIterator<Item = PathBuf>) -> Protection {
        self.state.extend(places);
        self
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The row that a path is governed by; it names where a thing is, and follows no link.
    pub fn governing(&self, path: &Path) -> Option<&'static Governing> {
        let within = |base: &Path| path.strip_prefix(base).ok().map(names);
        let in_workspace = within(&self.workspace);
        let near = match &in_workspace {
            Some(names) => governing::governing(Base::Workspace, &borrowed(names))
                .filter(|row| !self.leaves_open(row)),
            None => governing::governing(Base::Folder, &borrowed(&names(path))),
        };
        near.or_else(|| {
            let names = within(self.home.as_deref()?)?;
            let row = governing::governing(Base::Home, &borrowed(&names))?;
            governing::rows(Base::Home).contains(row).then_some(row)
        })
        .or_else(|| self.state.iter().any(|state| path.starts_with(state)).then_some(&STATE))
    }

    /// The same for a path or any folder on the way to it, which is what a tool is held to that has no
    /// business in such a folder at all.
    pub fn governing_above(&self, path: &Path) -> Option<&'static Governing> {
        let within = |folder: &&Path| *folder != self.workspace;
        path.ancestors().take_while(within).find_map(|above| self.governing(above))
    }

    /// Whether a folder is on the way to what governs by where it lies.
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
        near || self.home.as_ref().is_some_and(|home| leads(Base::Home, home) || holds(home))
            || holds(&self.workspace)
            || self.state.iter().any(holds)
    }

    /// Whether a name could govern in a folder; most cannot, and need not be asked about by path.
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
