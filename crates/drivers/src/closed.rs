//! Denied files of a confined program: hides the paths and programs that the policy denies.
//!
//! Which programs a program starts is unknown beforehand, so the file of a denied program is hidden
//! and its start fails at the moment of use.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_driver::TargetGuard;
use haft_model::Glob;
use haft_sandbox::{ConfinedProgram, PROGRAMS};

use crate::WorkingFolder;

/// Most files that are searched for denied programs.
const MOST_FILES: usize = 20_000;

/// Most names of one program. A file with more is a multi-call binary, and one denied name does not
/// hide it.
const MOST_NAMES: usize = 16;

/// Hides what the policy denies from a program, except its own file, which was authorized.
pub(crate) fn hide(
    confined: &mut ConfinedProgram,
    guard: &TargetGuard,
    root: &Path,
    place: &WorkingFolder,
) {
    let paths = guard.closed_paths().into_iter().map(|path| root.join(path));
    let paths: Vec<PathBuf> = paths.collect();
    // A path that does not exist cannot be hidden, and creating it is a violation.
    confined.denied.extend(paths.iter().cloned());
    confined.hidden.extend(paths);
    let programs = guard.closed_programs();
    if programs.is_empty() {
        return;
    }
    let own = fs::canonicalize(&confined.program).ok();
    let shown = confined.shown.iter().map(|shown| shown.path.clone()).collect();
    let files = Search { root, programs: &programs, found: BTreeSet::new(), left: MOST_FILES };
    let files = files.run(shown, place).into_iter().filter(|file| Some(file) != own.as_ref());
    confined.hidden.extend(files);
}

/// The denied paths and programs as a pool key, so that differently confined calls share no
/// process.
pub(crate) fn described(guard: &TargetGuard) -> String {
    match guard.is_empty() {
        true => String::new(),
        false => format!("{:?} {:?}", guard.closed_paths(), guard.closed_programs()),
    }
}

/// A search for the files of denied programs.
struct Search<'a> {
    root: &'a Path,
    programs: &'a [Glob],
    found: BTreeSet<PathBuf>,
    /// How many more files may be searched.
    left: usize,
}

impl Search<'_> {
    fn run(mut self, shown: Vec<PathBuf>, place: &WorkingFolder) -> BTreeSet<PathBuf> {
        let of_user = (place.variable)("PATH").unwrap_or_default();
        let folders: BTreeSet<&Path> =
            PROGRAMS.split(':').chain(of_user.split(':')).map(Path::new).collect();
        for folder in folders.iter().filter(|folder| folder.is_absolute()) {
            self.look_in(folder);
        }
        let mut ahead: Vec<PathBuf> = shown;
        while let Some(path) = ahead.pop() {
            match path.is_dir() {
                true => ahead.extend(self.look_in(&path)),
                false => self.look_at(&path),
            }
        }
        self.found
    }

    /// Searches the files of a folder, and returns its subfolders.
    fn look_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) | Err(_) => self.look_at(&entry.path()),
            }
        }
        folders
    }

    fn look_at(&mut self, path: &Path) {
        if !self.is_named(path) {
            return;
        }
        let Ok(real) = fs::canonicalize(path) else { return };
        let runs = |found: fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
        if fs::metadata(&real).is_ok_and(runs) && (self.is_named(&real) || !is_many(path, &real)) {
            self.found.insert(real);
        }
    }

    fn is_named(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let inside = path.strip_prefix(self.root).ok().and_then(Path::to_str);
        let names = [name, path.to_str(), inside];
        let fits = |name: &str| self.programs.iter().any(|glob| glob.matches(name));
        names.into_iter().flatten().any(fits)
    }
}

/// Whether a file is a multi-call binary: more than `MOST_NAMES` symlinks beside this one lead to
/// it.
fn is_many(link: &Path, real: &Path) -> bool {
    let beside = link.parent().and_then(|folder| fs::read_dir(folder).ok());
    let links = beside.into_iter().flatten().flatten().map(|entry| entry.path());
    let leads_there = |path: &PathBuf| {
        path.is_symlink() && fs::canonicalize(path).is_ok_and(|found| found == real)
    };
    links.filter(leads_there).take(MOST_NAMES + 1).count() > MOST_NAMES
}
