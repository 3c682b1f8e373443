//! `fs.list`: lists a folder of the workspace.

use haft_driver::{Attempt, Failure, Output, TargetGuard};
use haft_model::Stop;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use serde_json::{Value, json};

use super::folder::{FileKind, items, size};
use super::guarded::{below, count_withheld};
use super::place::WorkspacePath;
use super::refusal::PathRefusal;
use super::root::{House, Root, Spot};
use super::{blocking, number, unread, while_running};
use crate::watch::Watch;

/// Most entries in one result.
const MOST: usize = 1000;

/// The validated input of a call.
pub(super) struct ListInput {
    place: WorkspacePath,
    depth: u64,
}

impl ListInput {
    pub(super) fn of(input: &Value) -> Result<ListInput, Stop> {
        Ok(ListInput { place: WorkspacePath::of(input)?, depth: number(input, "depth", 1..=5, 1)? })
    }
}

/// The listing so far.
struct Listing<'a> {
    house: House,
    watch: &'a Watch,
    guard: &'a TargetGuard,
    /// The path of the listed folder, as the policy sees it.
    root: String,
    entries: Vec<Value>,
    more: bool,
    /// How many entries the policy withholds.
    withheld: u64,
}

pub(super) async fn run(root: &Root, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    let asked = ListInput::of(&attempt.input).map_err(while_running).map_err(unread)?;
    let (root, watch, guard) = (root.clone(), Watch::of(attempt), attempt.guard.clone());
    blocking(move || list(&root, &asked, &watch, &guard))
        .await
        .and_then(|listed| listed)
        .map(Output::read)
        .map_err(unread)
}

fn list(root: &Root, asked: &ListInput, watch: &Watch, guard: &TargetGuard) -> Result<Value, Stop> {
    let refused = |refusal: PathRefusal| refusal.about(&asked.place);
    let found = match root.find_guarded(&asked.place, guard)? {
        Spot::Folder(found) => found,
        Spot::Entry(_) => return Err(refused(PathRefusal::IsFile)),
        Spot::Missing(..) => return Err(refused(Errno::NOENT.into())),
    };
    let house = root.house().map_err(refused)?;
    let (entries, trail) = (Vec::new(), below(&found.trail));
    let mut listing =
        Listing { house, watch, guard, root: trail, entries, more: false, withheld: 0 };
    listing.add(&found.folder, "", asked.depth)?.map_err(refused)?;
    let mut listed = json!({
        "path": asked.place.written,
        "entries": listing.entries,
        "more": listing.more,
    });
    count_withheld(&mut listed, listing.withheld);
    Ok(listed)
}

impl Listing<'_> {
    /// Adds the entries of a folder. The outer error ends the call, the inner one concerns the
    /// folder.
    fn add(
        &mut self,
        folder: &OwnedFd,
        before: &str,
        depth: u64,
    ) -> Result<Result<(), PathRefusal>, Stop> {
        self.watch.check()?;
        let found = match items(folder) {
            Ok(found) => found,
            Err(errno) => return Ok(Err(errno.into())),
        };
        self.more |= found.more;
        for item in found.sorted {
            if self.entries.len() == MOST {
                self.more = true;
                break;
            }
            let name = format!("{before}{}", item.name);
            if self.guard.path(&format!("{}{name}", self.root)).is_err() {
                self.withheld += 1;
                continue;
            }
            let kind = item.kind.name();
            let size = (item.kind == FileKind::File).then(|| size(folder, &item.name)).flatten();
            self.entries.push(match size {
                Some(size) => json!({"name": name, "kind": kind, "size": size}),
                None => json!({"name": name, "kind": kind}),
            });
            if item.kind == FileKind::Folder && depth > 1 {
                self.below(folder, &item.name, &name, depth - 1)?;
            }
        }
        Ok(Ok(()))
    }

    /// Adds the entries of a subfolder. An unreadable subfolder only marks the listing as
    /// incomplete.
    fn below(&mut self, folder: &OwnedFd, name: &str, path: &str, depth: u64) -> Result<(), Stop> {
        let added = match self.house.enter(folder, name) {
            Ok(below) => self.add(&below, &format!("{path}/"), depth)?,
            Err(refusal) => Err(refusal),
        };
        self.more |= added.is_err_and(|refusal| refusal != PathRefusal::House);
        Ok(())
    }
}
