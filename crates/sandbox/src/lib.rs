//! What keeps a driver inside: one confined process at a time, and the addresses that may be reached.
//!
//! Owns the line between a driver and the rest of the machine; no other crate starts a process.
//! Must never know a tool, a policy or a person. Start with [`Confined`] and [`AddressGuard`].

mod address;
mod confined;
mod gate;
mod group;
mod integrity;
mod launcher;
mod protection;
mod ranges;

pub use address::{AddressGuard, CheckedUrl, Forbidden};
pub use confined::{
    Access, Bounds, ConfinedProgram, ExitKind, Feed, MountedPath, NetworkAccess, ProgramExit,
    ProgramOutput, RefusedAccess, Running, SecretFile, Spawn, StartRefusal, Walls,
};
pub use gate::{Gate, HostTraffic};
pub use group::TotalMemory;
pub use integrity::{
    Custody, GoverningChange, Intrusion, Loading, Suspects, violation, write_rule,
};
pub use launcher::{Launcher, PROGRAMS, launcher};
pub use protection::{LinkTarget, Protection};
