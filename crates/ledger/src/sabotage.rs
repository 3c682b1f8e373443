//! Mechanisms that the simulation of faults switches off one at a time, to show that its checker finds
//! each. Exists only with the feature `sabotage`, which nothing but that test turns on.

use std::cell::Cell;

/// A mechanism without which a promise does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Only the last owner of a call writes about it.
    Fence,
    /// Only one call carries an intent out.
    IntentGuard,
    /// An effect is on record as submitted before it is sent.
    SubmittedFirst,
    /// A process that stood still sends nothing.
    Clearance,
    /// That a backend knows nothing of a call counts only after its deadline.
    AbsentDeadline,
    /// What a dead process had sent is looked up.
    RecoveryLookup,
    /// A call is answered for until its caller has the answer.
    DeliveryLease,
    /// The end of a call is on record before its answer is given.
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

    /// Whether it is switched off here.
    pub fn is_off(self) -> bool {
        OFF.get() == Some(self)
    }
}

thread_local! {
    /// A simulation runs on one thread, beside others that miss nothing.
    static OFF: Cell<Option<Mechanism>> = const { Cell::new(None) };
}

/// Switches one mechanism off for all that runs on this thread, or none.
pub fn switch_off(mechanism: Option<Mechanism>) {
    OFF.set(mechanism);
}
