//! `text.search`: finds the lines of the workspace's text files that match a pattern.

use haft_driver::{Attempt, Failure, Link, Output, TargetGuard};
use haft_model::{Code, Progress, Stop};
use haft_notation::SearchPattern;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::folder::{FileKind, items};
use super::guarded::{below, count_withheld};
use super::place::WorkspacePath;
use super::refusal::PathRefusal;
use super::root::{House, Root, Spot, open_entry};
use super::{blocking, text, unread, while_running};
use crate::watch::Watch;

mod lines;

/// Most matches in one result.
const MOST: usize = 500;

/// Deepest folder level that is searched; each level holds a descriptor.
const DEEPEST: usize = 64;

/// Files and bytes between two progress reports.
const STEP: (u64, u64) = (200, 16 * 1024 * 1024);

/// The validated input of a call.
pub(super) struct SearchInput {
    place: WorkspacePath,
    source: String,
    pattern: SearchPattern,
}

impl SearchInput {
    pub(super) fn of(input: &Value) -> Result<SearchInput, Stop> {
        let place = WorkspacePath::of(input)?;
        let source = text(input, "pattern")?.to_owned();
        let pattern = SearchPattern::parse(&source)
            .map_err(|fault| Stop::new(Code::InputValue, fault.message).at("/pattern"))?;
        Ok(SearchInput { place, source, pattern })
    }
}

/// How much was searched.
#[derive(Clone, Copy, Debug, Default)]
struct SearchTotals {
    files: u64,
    bytes: u64,
}

/// A search in progress.
struct Search {
    asked: SearchInput,
    house: House,
    watch: Watch,
    told: watch::Sender<SearchTotals>,
    tally: SearchTotals,
    matches: Vec<Value>,
    /// Whether a match was found that exceeds the result limit.
    full: bool,
    more: bool,
    guard: TargetGuard,
    /// The path of the searched folder, as the policy sees it.
    root: String,
    /// How many files and folders the policy withholds.
    withheld: u64,
}

pub(super) async fn run(root: &Root, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    let asked = SearchInput::of(&attempt.input).map_err(while_running).map_err(unread)?;
    let (told, heard) = watch::channel(SearchTotals::default());
    let house = root.house().map_err(|refusal| unread(refusal.about(&asked.place)))?;
    let search = Search {
        asked,
        house,
        watch: Watch::of(attempt),
        told,
        tally: SearchTotals::default(),
        matches: Vec::new(),
        full: false,
        more: false,
        guard: attempt.guard.clone(),
        root: String::new(),
        withheld: 0,
    };
    let root = root.clone();
    let (found, ()) =
        tokio::join!(blocking(move || search.run(&root)), pass_on(heard, &attempt.link));
    let found = found.and_then(|found| found);
    if attempt.cancel.is_cancelled() && found.is_err() {
        attempt.link.cancel_heard().await;
    }
    found.map(Output::read).map_err(unread)
}

/// Reports progress whenever the totals grow, until the search ends.
async fn pass_on(mut heard: watch::Receiver<SearchTotals>, link: &Link) {
    while heard.changed().await.is_ok() {
        let SearchTotals { files, bytes } = *heard.borrow_and_update();
        let progress = Progress {
            message: Some(format!("{files} files searched")),
            step_index: Some(files),
            bytes_read: Some(bytes),
            ..Progress::default()
        };
        link.progress(progress).await;
    }
}

impl Search {
    fn run(mut self, root: &Root) -> Result<Value, Stop> {
        let refused = |refusal: PathRefusal, place: &WorkspacePath| refusal.about(place);
        match root.find_guarded(&self.asked.place, &self.guard)? {
            Spot::Folder(found) => {
                self.root = below(&found.trail);
                self.folder(&found.folder, "", 0)?
                    .map_err(|errno| refused(errno.into(), &self.asked.place))?
            }
            Spot::Entry(entry) => {
                let path = self.asked.place.below("");
                let opened = open_entry(&entry.folder, &entry.name);
                let (file, _) = opened.map_err(|why| refused(why, &self.asked.place))?;
                self.file(&path, file)?;
            }
            Spot::Missing(..) => return Err(refused(Errno::NOENT.into(), &self.asked.place)),
        }
        let mut searched = json!({
            "pattern": self.asked.source,
            "matches": self.matches,
            "files": self.tally.files,
            "more": self.more || self.full,
        });
        count_withheld(&mut searched, self.withheld);
        Ok(searched)
    }

    /// Searches a folder and its subfolders, and skips what cannot be read. The outer error ends
    /// the call, the inner one concerns the folder.
    fn folder(
        &mut self,
        folder: &OwnedFd,
        before: &str,
        depth: usize,
    ) -> Result<Result<(), Errno>, Stop> {
        let found = match items(folder) {
            Ok(found) => found,
            Err(errno) => return Ok(Err(errno)),
        };
        self.more |= found.more || depth > DEEPEST;
        for item in found.sorted {
            self.watch.check()?;
            if self.full || depth > DEEPEST {
                break;
            }
            let path = format!("{before}{}", item.name);
            if self.guard.path(&format!("{}{path}", self.root)).is_err() {
                self.withheld += 1;
                continue;
            }
            match item.kind {
                FileKind::File => {
                    if let Ok((file, _)) = open_entry(folder, &item.name) {
                        self.file(&self.asked.place.below(&path), file)?;
                    }
                }
                FileKind::Folder if item.name == ".git" => {}
                FileKind::Folder => {
                    if let Ok(below) = self.house.enter(folder, &item.name) {
                        let _ = self.folder(&below, &format!("{path}/"), depth + 1)?;
                    }
                }
                FileKind::Link | FileKind::Other => {}
            }
        }
        Ok(Ok(()))
    }

    fn file(&mut self, path: &str, file: std::fs::File) -> Result<(), Stop> {
        let left = MOST - self.matches.len();
        let pattern = &self.asked.pattern;
        let Some(found) = lines::matching(file, pattern, left, &self.watch)? else {
            return Ok(());
        };
        let shown = found.lines.iter();
        self.matches
            .extend(shown.map(|(line, text)| json!({"path": path, "line": line, "text": text})));
        self.full |= found.more;
        let before = self.tally;
        self.tally = SearchTotals { files: before.files + 1, bytes: before.bytes + found.bytes };
        let grown = self.tally.files / STEP.0 > before.files / STEP.0
            || self.tally.bytes / STEP.1 > before.bytes / STEP.1;
        if grown {
            self.told.send_replace(self.tally);
        }
        Ok(())
    }
}
