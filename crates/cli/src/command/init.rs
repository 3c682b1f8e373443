//! `haft init`: creates a workspace that works at once.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where; the folder of `-C` when absent.
    directory: Option<PathBuf>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

/// Every file of a new workspace, from its root.
const FILES: [(&str, &str); 9] = [
    ("haft.toml", include_str!("../../templates/haft.toml")),
    (".gitignore", include_str!("../../templates/gitignore")),
    (".tools/git.log/TOOL.md", include_str!("../../templates/tools/git.log/TOOL.md")),
    (".tools/git.commit/TOOL.md", include_str!("../../templates/tools/git.commit/TOOL.md")),
    (".drivers/git/DRIVER.md", include_str!("../../templates/drivers/git/DRIVER.md")),
    (".actions/vcs-read/ACTION.md", include_str!("../../templates/actions/vcs-read/ACTION.md")),
    (".actions/vcs-commit/ACTION.md", include_str!("../../templates/actions/vcs-commit/ACTION.md")),
    (".policy/agents/POLICY.md", include_str!("../../templates/policy/agents/POLICY.md")),
    ("GOVERNANCE.md", include_str!("../../templates/GOVERNANCE.md")),
];

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let root = arguments.directory.unwrap_or_else(|| context.directory.clone());
    if !arguments.yes && !agrees(&root)? {
        output::remark("nothing was written");
        return Ok(Exit::REFUSED);
    }
    let mut written = Vec::new();
    let mut kept = Vec::new();
    for (file, text) in FILES {
        let path = root.join(file);
        if path.exists() {
            kept.push(file);
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        written.push(file);
    }
    super::accept_written(&root, &written)?;
    if context.json {
        output::json(&json!({ "written": written, "kept": kept }))?;
        return Ok(Exit::Done);
    }
    for file in &written {
        output::line(format!("wrote {file}"))?;
    }
    for file in &kept {
        output::line(format!("kept  {file}"))?;
    }
    let place = root.display();
    output::line(format!("next: `haft -C {place} tools`, `haft -C {place} why git.log`"))?;
    Ok(Exit::Done)
}

/// Asks for confirmation where the folder is not empty and a person is at the terminal.
fn agrees(root: &Path) -> Result<bool> {
    let empty = match fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => true,
    };
    if empty || !std::io::stdin().is_terminal() {
        return Ok(true);
    }
    let mut err = anstream::stderr();
    write!(
        err,
        "`{}` is not empty. Add what is missing, keep what is there? [Y/n] ",
        root.display()
    )?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(!answer.trim().to_lowercase().starts_with('n'))
}
