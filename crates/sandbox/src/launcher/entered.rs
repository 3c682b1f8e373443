//! Control group of a program, as used from inside.

use std::io;
use std::os::fd::OwnedFd;

use super::{Orders, Report};

/// The control group files that came with the orders.
pub(super) struct CgroupFiles {
    join: OwnedFd,
    leave: OwnedFd,
    events: OwnedFd,
}

impl CgroupFiles {
    /// The control group files, if the orders announce them.
    pub(super) fn of(
        orders: &Orders,
        files: &mut impl Iterator<Item = OwnedFd>,
    ) -> Result<Option<CgroupFiles>, Report> {
        if !orders.grouped {
            return Ok(None);
        }
        match (files.next(), files.next(), files.next()) {
            (Some(join), Some(leave), Some(events)) => {
                Ok(Some(CgroupFiles { join, leave, events }))
            }
            _ => Err(Report::Unenforced("its memory group did not come along".to_owned())),
        }
    }

    /// Enters the group. Every process that is started afterwards is in it from the start.
    pub(super) fn join(&self) -> io::Result<()> {
        Ok(rustix::io::write(&self.join, b"0").map(drop)?)
    }

    /// Returns to Haft's own group, because the first process is not limited. If that fails, it
    /// stays, and nothing is lost.
    pub(super) fn leave(&self) {
        let _ = rustix::io::write(&self.leave, b"0");
    }

    /// Whether the kernel killed a process of the group for lack of memory.
    pub(super) fn is_exceeded(&self) -> bool {
        let mut text = [0; 1024];
        let read = rustix::io::pread(&self.events, &mut text, 0).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(..read).unwrap_or_default());
        let mut counts = text.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        counts.any(|count| count.trim() != "0")
    }
}
