//! Three-way merge of a repeated import: the last import, the edits of people, and the new import.

mod splice;
mod tree;

use std::collections::BTreeMap;

use haft_model::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::import::{File, Import};
use crate::manifest::{frontmatter, manifest, parsed};

/// The field of a conflict that is about a file as a whole.
const WHOLE: &str = "the whole file";

/// The merge base: what the last import wrote, kept in the workspace, so that a copy of it knows as
/// well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The kind of import: `openapi`, `mcp`, `cli` or `client`.
    pub kind: String,
    /// The source of the import.
    pub source: String,
    /// The digest of the source.
    pub digest: String,
    /// The options of the import, which the next run reuses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The files as they were made, by their paths.
    pub files: BTreeMap<String, String>,
}

/// The files of the workspace that an import is about, as they are now; those that are not there are
/// left out.
pub type Disk = BTreeMap<String, String>;

/// What becomes of vanished operations, and of files that no import wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Whether unedited files are removed together with their source.
    pub vanished: bool,
    /// Whether files that no import wrote are replaced.
    pub overwrite: bool,
}

/// The writes, removals and conflicts of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergePlan {
    /// Files to write.
    pub writes: Vec<File>,
    /// Files to remove.
    pub removals: Vec<String>,
    /// Files that stay although the source differs.
    pub kept: Vec<KeptFile>,
    /// Fields that people and the source both changed.
    pub conflicts: Vec<Conflict>,
    /// The merge base for the next run.
    pub base: Base,
}

/// A file that the merge leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptFile {
    /// The file's path.
    pub file: String,
    /// Why it stays.
    pub why: String,
}

/// A field that people and the source changed in different ways; what people wrote stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file's path.
    pub file: String,
    /// The field, its names joined by dots.
    pub field: String,
    /// The value that people wrote, which wins.
    pub yours: Value,
    /// The value that the source has now.
    pub theirs: Value,
}

/// Joins what is made now with what is there.
pub fn merge(import: &Import, base: &Base, disk: &Disk, prune: Prune) -> MergePlan {
    let mut outcome =
        MergePlan { base: Base { files: BTreeMap::new(), ..base.clone() }, ..MergePlan::default() };
    for file in &import.files {
        outcome.take(file, base.files.get(&file.path), disk.get(&file.path), prune);
    }
    let made: Vec<&str> = import.files.iter().map(|file| file.path.as_str()).collect();
    for (path, text) in base.files.iter().filter(|(path, _)| !made.contains(&path.as_str())) {
        outcome.vanished(path, text, disk.get(path), prune);
    }
    outcome
}

impl Base {
    /// The merge base of a source that was not imported yet.
    pub fn of(kind: &str, source: &str, bytes: &[u8]) -> Base {
        let digest = Digest::of_bytes(bytes).as_str().to_owned();
        Base { kind: kind.to_owned(), source: source.to_owned(), digest, ..Base::default() }
    }
}

impl MergePlan {
    fn take(&mut self, file: &File, base: Option<&String>, ours: Option<&String>, prune: Prune) {
        let (path, theirs) = (file.path.clone(), file.text.clone());
        match (base, ours) {
            (_, Some(ours)) if *ours == theirs => {}
            (Some(base), Some(ours)) if base == ours => self.writes.push(file.clone()),
            (Some(base), Some(ours)) => self.join(file, base, ours),
            (Some(_), None) => self.keep(&path, "it was deleted here, and stays deleted"),
            (None, None) => self.writes.push(file.clone()),
            (None, Some(_)) if prune.overwrite => self.writes.push(file.clone()),
            (None, Some(_)) => {
                self.conflict(&path, "a file that no import made", "another file of this name");
                // It stays unknown, so that the next run says so again.
                return;
            }
        }
        self.base.files.insert(path, theirs);
    }

    /// Joins three versions of a file that all differ.
    fn join(&mut self, file: &File, base: &str, ours: &str) {
        let path = file.path.as_str();
        let read = |text: &str| parsed(path, text);
        let (Some(base), Some(front), Some(theirs)) =
            (read(base), frontmatter(path, ours), read(&file.text))
        else {
            self.conflict(path, "something that cannot be read", "another version of it");
            return;
        };
        let own = (front.node.to_json(), ours.get(front.body_at..).unwrap_or_default());
        let mut joined = tree::MergedValue::default();
        let fields = joined.value("", Some(&base.0), Some(&own.0), Some(&theirs.0));
        let fields = fields.unwrap_or_default();
        let own_body = own.1.strip_prefix('\n').unwrap_or(own.1);
        let body = joined.body(&base.1, own_body, &theirs.1).to_owned();
        let conflicts = joined.conflicts.into_iter();
        self.conflicts.extend(conflicts.map(|one| Conflict { file: path.to_owned(), ..one }));
        let head = splice::rewritten(ours, &front, &fields);
        let gap = if body.is_empty() { "" } else { "\n" };
        let body = if body == own_body { own.1.to_owned() } else { format!("{gap}{body}") };
        let whole = head.map(|head| format!("{head}{body}"));
        let is_right = |text: &String| read(text).is_some_and(|(found, _)| found == fields);
        let text = whole.filter(is_right).unwrap_or_else(|| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            manifest(&fields, body.trim_start_matches('\n'))
        });
        if text == ours {
            self.keep(path, "what you changed here stands");
        } else {
            self.writes.push(File { path: path.to_owned(), text });
        }
    }

    /// Plans the fate of a file whose source is gone.
    fn vanished(&mut self, path: &str, base: &str, ours: Option<&String>, prune: Prune) {
        match ours {
            None => return,
            Some(ours) if ours == base && prune.vanished => {
                self.removals.push(path.to_owned());
                return;
            }
            Some(ours) if ours == base => {
                self.keep(path, "the source no longer has it; `--prune` removes it");
            }
            Some(_) => self.keep(path, "the source no longer has it, and you changed it"),
        }
        self.base.files.insert(path.to_owned(), base.to_owned());
    }

    fn keep(&mut self, path: &str, why: &str) {
        self.kept.push(KeptFile { file: path.to_owned(), why: why.to_owned() });
    }

    fn conflict(&mut self, path: &str, yours: &str, theirs: &str) {
        self.conflicts.push(Conflict {
            file: path.to_owned(),
            field: WHOLE.to_owned(),
            yours: json!(yours),
            theirs: json!(theirs),
        });
    }
}

#[cfg(test)]
mod tests;
