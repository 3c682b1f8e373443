//! The group that limits the memory of a program, seen from inside.

use std::io;
use std::os::fd::OwnedFd;

use super::{Orders, Report};

/// The files of a group that came along with the orders.
pub(super) struct CgroupFiles {
    join: OwnedFd,
    leave: OwnedFd,
    events: OwnedFd,
}

impl CgroupFiles {
    /// The group, where one should have come along.
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

    /// Goes into the group. What is started from here on is in it from its first instant.
    pub(super) fn join(&self) -> io::Result<()> {
        Ok(rustix::io::write(&self.join, b"0").map(drop)?)
    }

    /// Goes back to the group of Haft: the first process is no part of what is limited. Where it
    /// cannot, it stays, and nothing is lost.
    pub(super) fn leave(&self) {
        let _ = rustix::io::write(&self.leave, b"0");
    }

    /// Whether the kernel ended something of it because no memory was left.
    pub(super) fn is_exceeded(&self) -> bool {
        let mut text = [0; 1024];
        let read = rustix::io::pread(&self.events, &mut text, 0).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(..read).unwrap_or_default());
        let mut counts = text.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        counts.any(|count| count.trim() != "0")
    }
}
