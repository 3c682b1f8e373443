//! Sandbox: confines one process at a time, and limits the addresses that it may reach.
//!
//! Owns the boundary between a driver and the rest of the machine; no other crate starts a process.
//! Must never know a tool, a policy or a person. Start with [`ConfinedProgram`] and
//! [`AddressGuard`].

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
