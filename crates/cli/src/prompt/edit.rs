//! Input editing: a person rewrites an input in an editor of theirs.

use std::io::Write as _;
use std::process::Command;

/// The program that the person edits texts with.
pub(super) fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.filter(|program| !program.trim().is_empty());
    named.next()
}

/// A text after the person edited it.
pub(super) fn in_editor(editor: &str, text: &str) -> Result<String, String> {
    let failed = |fault: std::io::Error| format!("`{editor}` cannot be used: {fault}");
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).arg(file.path()).status().map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` gave up, so nothing was changed"));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_that_gives_up_changes_nothing() {
        assert_eq!(in_editor("true", "{}"), Ok("{}".to_owned()));
        assert!(in_editor("false", "{}").is_err());
    }
}
