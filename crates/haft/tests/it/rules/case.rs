//! Case format: a sentence, files, and the expected diagnostics.
//!
//! | line | meaning |
//! |---|---|
//! | `# text` | a comment |
//! | `=== sentence` | begins a case and says what must hold |
//! | `use name` | begins a set of good files |
//! | `@ path = base` | begins a file from a good document |
//! | `set key: value`, `drop key` | changes, adds or removes a top-level line of it |
//! | `@ path` | begins a file with nothing in it |
//! | `| text` | adds a line to it |
//! | `repeat 3 text` | adds a text several times, without a line end |
//! | `bytes 00 ff` | adds bytes |
//! | `link target` | makes it a symbolic link |
//! | `> CODE severity file:line:column message` | a diagnostic, of all in order; `> (none)` for none |

use std::fs;
use std::os::unix::fs::symlink;

use haft_testkit::Folder;

use crate::rules::base::Base;

/// One case.
pub(crate) struct Case {
    /// What must hold.
    pub(crate) sentence: String,
    /// Where it begins, from 1.
    pub(crate) line: usize,
    /// Its diagnostics, in order.
    pub(crate) expected: Vec<String>,
    files: Vec<File>,
}

/// A file of a case.
struct File {
    path: String,
    holds: Holds,
}

/// What stands in a file.
enum Holds {
    /// A good document, spoiled.
    Patched(Base),
    /// Exactly this.
    Bytes(Vec<u8>),
    /// A symbolic link to somewhere.
    Link(String),
}

/// Sets of good files that a case may begin with.
const SETS: [(&str, &[(&str, &str)]); 3] = [
    ("demo", &[(".tools/demo.read/TOOL.md", "tool"), (".drivers/demo/DRIVER.md", "http")]),
    ("tool", &[(".tools/demo.read/TOOL.md", "tool")]),
    ("bundle", &[(".tools/demo.read/TOOL.md", "tool"), (".cli/demo/CLI.md", "bundle")]),
];

/// Reads a file of cases.
pub(crate) fn read(name: &str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if let Some(sentence) = line.strip_prefix("=== ") {
            let sentence = sentence.to_owned();
            cases.push(Case { sentence, line: number, expected: Vec::new(), files: Vec::new() });
        } else if !is_silent(line) {
            let taken = cases.last_mut().and_then(|case| case.take(line));
            assert!(taken.is_some(), "{name}.cases:{number}: nobody understands `{line}`");
        }
    }
    cases
}

/// The same file with other answers.
pub(crate) fn blessed(text: &str, answers: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut answers = answers.iter();
    // The answer of a case goes after its last line that says something.
    let mut answer: Option<(&Vec<String>, usize)> = None;
    let put = |lines: &mut Vec<String>, answer: Option<(&Vec<String>, usize)>| {
        if let Some((said, at)) = answer {
            lines.splice(at..at, said.iter().map(|said| format!("> {said}")));
        }
    };
    for line in text.lines().filter(|line| !line.starts_with("> ")) {
        if line.starts_with("=== ") {
            put(&mut lines, answer.take());
            answer = answers.next().map(|said| (said, 0));
        }
        lines.push(line.to_owned());
        if let Some((_, at)) = answer.as_mut().filter(|_| !is_silent(line)) {
            *at = lines.len();
        }
    }
    put(&mut lines, answer);
    lines.join("\n") + "\n"
}

/// Whether a line is a comment or empty.
fn is_silent(line: &str) -> bool {
    line.is_empty() || line == "#" || line.starts_with("# ")
}

impl Case {
    /// Takes one line; none when it makes no sense here.
    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "use" => {
                let (_, files) = SETS.iter().find(|(name, _)| *name == rest)?;
                files.iter().for_each(|(path, base)| self.open(path, Some(base)));
            }
            "@" => match rest.split_once(" = ") {
                Some((path, base)) => self.open(path, Some(base)),
                None => self.open(rest, None),
            },
            ">" => self.expected.push(rest.to_owned()),
            _ => return self.files.last_mut()?.holds.take(word, rest),
        }
        Some(())
    }

    /// Begins a file; one of the same path is forgotten.
    fn open(&mut self, path: &str, base: Option<&str>) {
        self.files.retain(|file| file.path != path);
        let holds = match base {
            Some(base) => Holds::Patched(Base::named(base)),
            None => Holds::Bytes(Vec::new()),
        };
        self.files.push(File { path: path.to_owned(), holds });
    }

    /// The case's files on a disk, as a workspace.
    pub(crate) fn folder(&self) -> Folder {
        let mut folder = Folder::new();
        fs::create_dir(folder.path().join(".tools")).unwrap();
        for File { path, holds } in &self.files {
            folder = match holds {
                Holds::Patched(base) => folder.file(path, base.text()),
                Holds::Bytes(bytes) => folder.file(path, bytes),
                Holds::Link(target) => {
                    // Written first, so that the folders on the way exist.
                    let folder = folder.file(path, "");
                    let place = folder.path().join(path);
                    fs::remove_file(&place).and_then(|()| symlink(target, &place)).unwrap();
                    folder
                }
            };
        }
        folder
    }
}

impl Holds {
    fn take(&mut self, word: &str, rest: &str) -> Option<()> {
        match (self, word) {
            (Holds::Patched(base), "set") => {
                let (key, value) = rest.split_once(':')?;
                base.set(key, value.trim_start());
            }
            (Holds::Patched(base), "drop") => base.drop(rest)?,
            (Holds::Bytes(bytes), "|") => bytes.extend(format!("{rest}\n").bytes()),
            (Holds::Bytes(bytes), "repeat") => {
                let (times, text) = rest.split_once(' ')?;
                bytes.extend(text.repeat(times.parse().ok()?).bytes());
            }
            (Holds::Bytes(bytes), "bytes") => {
                for byte in rest.split(' ') {
                    bytes.push(u8::from_str_radix(byte, 16).ok()?);
                }
            }
            (holds @ Holds::Bytes(_), "link") => *holds = Holds::Link(rest.to_owned()),
            (Holds::Patched(_) | Holds::Bytes(_) | Holds::Link(_), _) => return None,
        }
        Some(())
    }
}
