//! Fault injection switches: the fault simulation turns mechanisms off one at a time, to show that
//! its checker finds each.
//!
//! Exists only with the feature `sabotage`, which nothing but that test turns on.

use std::cell::Cell;

/// A mechanism that a guarantee depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Fencing: only the last owner of a call writes about it.
    Fence,
    /// Idempotency: only one call carries an intent out.
    IntentGuard,
    /// An effect is on record as submitted before it is sent.
    SubmittedFirst,
    /// A process that was paused sends nothing.
    Clearance,
    /// A backend's "unknown call" counts only after the call's deadline.
    AbsentDeadline,
    /// Recovery looks up what a dead process had sent.
    RecoveryLookup,
    /// A call keeps its lease until its result is delivered.
    DeliveryLease,
    /// The end of a call is on record before its result is returned.
    RecordFirst,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Mechanism; 8] = [
        Mechanism::Fence,
        Mechanism::IntentGuard,
        Mechanism::SubmittedFirst,
        Mechanism::Clearance,
        Mechanism::AbsentDeadline,
        Mechanism::RecoveryLookup,
        Mechanism::DeliveryLease,
        Mechanism::RecordFirst,
    ];

    /// Whether it is switched off on this thread.
    pub fn is_off(self) -> bool {
        OFF.get() == Some(self)
    }
}

thread_local! {
    /// A simulation runs on one thread, beside others whose mechanisms are all on.
    static OFF: Cell<Option<Mechanism>> = const { Cell::new(None) };
}

/// Switches one mechanism off on this thread; `None` switches all on.
pub fn switch_off(mechanism: Option<Mechanism>) {
    OFF.set(mechanism);
}
