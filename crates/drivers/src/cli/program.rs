//! Program lookup: finds the file of a program on the shelf, in the system or on the user's `PATH`.

use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};
use haft_sandbox::{ConfinedProgram, PROGRAMS};

use crate::WorkingFolder;

/// Finds the program that a driver names: among the system's programs, which every confined program
/// sees, or on the user's `PATH`. A path is relative to the workspace.
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

/// The file behind a name or path.
pub(crate) fn file(bin: &str, driver: &str, place: &WorkingFolder, root: &Path) -> Option<PathBuf> {
    match bin.contains('/') {
        true => Some(place.program(root, bin)).filter(|path| path.is_file()),
        false => on_shelf(bin, driver, place)
            .or_else(|| among(bin, PROGRAMS))
            .or_else(|| of_user(bin, place, root)),
    }
}

/// Starts a system program by the path that was authorized, whatever its `PATH`. It keeps its name
/// as `argv[0]`, because multi-call binaries dispatch on it.
pub(crate) fn start_judged(confined: &mut ConfinedProgram) {
    let Some(name) = confined.program.to_str().filter(|name| !name.contains('/')) else { return };
    if let Some(path) = among(name, PROGRAMS) {
        confined.called = Some(name.to_owned());
        confined.program = path;
    }
}

/// The folder for programs that Haft installed, one per driver.
pub(crate) fn shelf(place: &WorkingFolder, driver: &str) -> Option<PathBuf> {
    let data = (place.variable)("XDG_DATA_HOME").filter(|path| path.starts_with('/'));
    let data = data
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&(place.variable)("HOME")?).join(".local/share")));
    Some(data?.join("haft/programs").join(driver))
}

/// Whether a program is installed for the user who runs Haft.
pub(crate) fn is_installed(bin: &str, place: &WorkingFolder) -> bool {
    let path = (place.variable)("PATH").unwrap_or_default();
    among(bin, PROGRAMS).or_else(|| among(bin, &path)).is_some()
}

fn on_shelf(bin: &str, driver: &str, place: &WorkingFolder) -> Option<PathBuf> {
    let path = shelf(place, driver)?.join(bin);
    std::fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Whether one of some files exists; `~` is the home of the user who runs Haft.
pub(crate) fn any_exists(paths: &[String], place: &WorkingFolder, root: &Path) -> bool {
    let home = (place.variable)("HOME");
    let mut plain = paths.iter().filter_map(|path| path.split("/*").next());
    plain.any(|path| match (path.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).exists(),
        (Some(_), None) => false,
        (None, _) => root.join(path).exists(),
    })
}

/// A program on the user's `PATH`. A bare name never means a program inside the workspace.
fn of_user(bin: &str, place: &WorkingFolder, root: &Path) -> Option<PathBuf> {
    let path = (place.variable)("PATH")?;
    among(bin, &path).filter(|found| !found.starts_with(root))
}

fn among(bin: &str, folders: &str) -> Option<PathBuf> {
    let folders = folders.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(|folder| Path::new(folder).join(bin)).find(|path| path.is_file())
}
