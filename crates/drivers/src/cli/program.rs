//! Where a program is.

use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};
use haft_sandbox::{ConfinedProgram, PROGRAMS};

use crate::WorkingFolder;

/// The program that a driver names: among the system's, where every confined program sees it, or
/// where this user has it. A path begins at the workspace.
pub(crate) fn find(
    bin: &str,
    driver: &str,
    place: &WorkingFolder,
    root: &Path,
) -> Result<String, Stop> {
    let found = match bin.contains('/') {
        false if on_shelf(bin, driver, place).is_none() && among(bin, PROGRAMS).is_some() => {
            return Ok(bin.to_owned());
        }
        true | false => file(bin, driver, place, root),
    };
    found.map(|path| path.display().to_string()).ok_or_else(|| {
        let words = format!("driver `{driver}` runs `{bin}`, which is not installed");
        Stop::new(Code::SetupRequired, words).help(format!("run `haft setup {driver}`"))
    })
}

/// The file that is meant.
pub(crate) fn file(bin: &str, driver: &str, place: &WorkingFolder, root: &Path) -> Option<PathBuf> {
    match bin.contains('/') {
        true => Some(place.program(root, bin)).filter(|path| path.is_file()),
        false => on_shelf(bin, driver, place)
            .or_else(|| among(bin, PROGRAMS))
            .or_else(|| of_user(bin, place, root)),
    }
}

/// Has a program of the system start by the path that was judged, whatever `PATH` it is given. It is
/// called by its name, by which some files know what they are to do.
pub(crate) fn start_judged(confined: &mut ConfinedProgram) {
    let Some(name) = confined.program.to_str().filter(|name| !name.contains('/')) else { return };
    if let Some(path) = among(name, PROGRAMS) {
        confined.called = Some(name.to_owned());
        confined.program = path;
    }
}

/// Where programs are put that Haft fetched itself, for each driver its own.
pub(crate) fn shelf(place: &WorkingFolder, driver: &str) -> Option<PathBuf> {
    let data = (place.variable)("XDG_DATA_HOME").filter(|path| path.starts_with('/'));
    let data = data
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&(place.variable)("HOME")?).join(".local/share")));
    Some(data?.join("haft/programs").join(driver))
}

/// Whether whoever runs Haft has a program.
pub(crate) fn is_installed(bin: &str, place: &WorkingFolder) -> bool {
    let path = (place.variable)("PATH").unwrap_or_default();
    among(bin, PROGRAMS).or_else(|| among(bin, &path)).is_some()
}

fn on_shelf(bin: &str, driver: &str, place: &WorkingFolder) -> Option<PathBuf> {
    let path = shelf(place, driver)?.join(bin);
    std::fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Whether one of some files is there; `~` is the home of whoever runs Haft.
pub(crate) fn any_exists(paths: &[String], place: &WorkingFolder, root: &Path) -> bool {
    let home = (place.variable)("HOME");
    let mut plain = paths.iter().filter_map(|path| path.split("/*").next());
    plain.any(|path| match (path.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).exists(),
        (Some(_), None) => false,
        (None, _) => root.join(path).exists(),
    })
}

/// A program on the path of whoever runs Haft. One inside the workspace is not meant by a bare name.
fn of_user(bin: &str, place: &WorkingFolder, root: &Path) -> Option<PathBuf> {
    let path = (place.variable)("PATH")?;
    among(bin, &path).filter(|found| !found.starts_with(root))
}

fn among(bin: &str, folders: &str) -> Option<PathBuf> {
    let folders = folders.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(|folder| Path::new(folder).join(bin)).find(|path| path.is_file())
}
