//! Help text of a program: runs it in the sandbox, without a network, under a short timeout.

use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_sandbox::{Access, Bounds, ConfinedProgram, ExitKind, Launcher, MountedPath, Walls};

/// Timeout for a program to print its help.
const LONGEST: Duration = Duration::from_secs(10);

/// How many bytes of it are kept.
const MOST: usize = 256 << 10;

/// The help of a program: what it prints when it is asked for it. Gives the reason where it prints
/// nothing, or cannot be confined.
pub async fn help_of(root: &Path, program: &str, command: &[String]) -> Result<String, String> {
    let root =
        fs::canonicalize(root).map_err(|fault| format!("the folder cannot be found: {fault}"))?;
    let program = located(&root, program);
    let mut last = String::from("it prints no help");
    // git answers `--help` with a manual page, and others know only one of the two.
    for flag in ["--help", "-h"] {
        let args: Vec<String> = command.iter().cloned().chain([flag.to_owned()]).collect();
        match printed(&root, &program, args).await {
            Ok(text) if text.to_lowercase().contains("usage") => return Ok(text),
            Ok(text) if !text.trim().is_empty() && flag == "-h" => return Ok(text),
            Ok(_) => {}
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

async fn printed(root: &Path, program: &Path, args: Vec<String>) -> Result<String, String> {
    let walls = Launcher::own().map_or(Walls::Missing, Walls::By);
    let mut shown = vec![MountedPath { path: root.to_owned(), access: Access::Read }];
    if program.is_absolute() && !program.starts_with(root) {
        shown.push(MountedPath { path: program.to_owned(), access: Access::Read });
    }
    let confined = ConfinedProgram {
        program: program.to_owned(),
        args,
        shown,
        cwd: root.to_owned(),
        bounds: Bounds { output: MOST, ..Bounds::default() },
        ..ConfinedProgram::default()
    };
    let ran = confined.run(&walls, Instant::now() + LONGEST, pending()).await;
    let ended = ran.map_err(|refused| refused.to_string())?;
    match ended.end {
        ExitKind::OutOfTime | ExitKind::CalledOff => {
            return Err(format!("it did not end within {} seconds", LONGEST.as_secs()));
        }
        ExitKind::Exited(_) | ExitKind::Killed(_) | ExitKind::OutOfMemory => {}
    }
    // Some print their help as a complaint.
    let (out, complaint) = (ended.stdout, ended.stderr);
    let longer = if out.len() >= complaint.len() { out } else { complaint };
    Ok(String::from_utf8_lossy(&longer).into_owned())
}

/// A path begins at the workspace; a name is one of the system's, or is found where the shell finds it.
fn located(root: &Path, program: &str) -> PathBuf {
    let path = match program.contains('/') {
        true => root.join(program),
        false => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&folders).map(|folder| folder.join(program));
            found.into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(program))
        }
    };
    fs::canonicalize(&path).unwrap_or(path)
}
