//! Authorization policy: evaluates rules, grants and opinions into a decision, and issues permits.
//!
//! Owns who may do what, whom to ask, and whether an answer counts. Must never do anything: no
//! clock, no disk, no network, no waiting. Start with [`decide`].

mod autonomy;
mod contract;
mod decide;
mod governance;
mod grants;
mod guard;
mod heard;
mod matter;
mod offers;
mod permit;
mod policies;
mod rulebook;
pub mod rules;
mod settle;
mod standing;
mod targets;
mod values;
mod weigh;

pub use decide::decide;
pub use grants::covers;
pub use guard::TargetGuard;
pub use heard::recorded_opinions;
pub use matter::{Circumstances, Matter, Spending, Usage};
pub use permit::{Authority, Permit};
pub use policies::CompiledPolicyRule;
pub use rulebook::Rulebook;
pub use settle::{Objection, Settlement, may_answer, settle};
pub use targets::{
    BackendTargets, CommandLine, PathTarget, ProgramFile, TargetKinds, Targets, WritablePath,
};
pub use values::path_texts;
