//! Batch scheduling: the scheduler policy of a batch, and the recorded outcome of each call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{InvocationId, PayloadRef};

words! {
    /// How the results of a batch are ordered.
    BatchOrdering {
        /// In the order of the request, while calls overlap.
        PreserveTerminalOrder "preserve_terminal_order",
        /// In the order of completion.
        AllowUnordered "allow_unordered",
        /// In the order of the request, and no call begins before the one in front of it has ended.
        Serial "serial",
    }
}

words! {
    /// Which results of a batch are yielded at once, and which wait for their turn.
    YieldPolicy {
        /// Progress at once, results in the order of the request.
        ProgressImmediateResultsOrdered "progress_immediate_results_ordered",
        /// Progress waits for the turn of its call, too.
        AllOrdered "all_ordered",
        /// Everything in the order of completion.
        UnorderedStreaming "unordered_streaming",
    }
}

words! {
    /// What an interruption does to a batch.
    InterruptBehavior {
        /// Running calls are cancelled where their contract allows it; queued ones do not begin.
        Cancel "cancel",
        /// Running calls continue to their end; queued ones do not begin.
        Block "block",
    }
}

words! {
    /// Failure policy: what the failure of one call of a batch does to its siblings.
    OnFailure {
        /// Siblings are unaffected.
        Ignore "ignore",
        /// All siblings that have not ended are cancelled.
        CancelSiblings "cancel_siblings",
        /// Dependent calls do not begin.
        CancelDependent "cancel_dependent",
    }
}

words! {
    /// Policy for the context modifiers that a driver returns with its output.
    ContextPolicy {
        /// Only the modifiers of a call that ran serially apply.
        AllowSerialOnly "allow_serial_only",
        /// All are deferred until the batch completes, and apply in the order of the request.
        DeferUntilBatchComplete "defer_until_batch_complete",
        /// None apply.
        Forbid "forbid",
    }
}

words! {
    /// Outcome of context modifiers.
    ContextOutcome {
        /// They apply.
        Applied "applied",
        /// They wait for the end of the batch.
        Deferred "deferred",
        /// They do not apply.
        Rejected "rejected",
    }
}

/// Scheduler policy of a batch, in the standard's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerPolicy {
    /// Id in records.
    pub scheduler_policy_id: String,
    /// Scope of the policy.
    pub scope: String,
    /// Most calls that run at once.
    pub max_parallel: u64,
    /// How results are ordered.
    pub ordering_policy: BatchOrdering,
    /// What is handed over at once.
    pub yield_policy: YieldPolicy,
    /// What an interruption does to the batch.
    pub interrupt_behavior: InterruptBehavior,
    /// What a failure does to the others.
    pub sibling_failure_policy: OnFailure,
    /// What becomes of context modifiers.
    pub context_modifier_policy: ContextPolicy,
}

/// A batch that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlanned {
    /// Id of the batch.
    pub batch: String,
    /// The rules it is scheduled by.
    #[serde(flatten)]
    pub policy: SchedulerPolicy,
    /// Its calls, in the order of the request.
    pub calls: Vec<InvocationId>,
    /// Locks that they hold while they run, as far as their inputs tell beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_locks: Vec<ResourceLock>,
}

/// A lock that calls hold while they run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLock {
    /// Name of the lock.
    pub lock: String,
    /// `shared` or `exclusive`.
    pub mode: String,
    /// Holders, in the order of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<InvocationId>,
}

/// The result of a call of a batch was released in its turn, after the call had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchReleased {
    /// Id of the batch.
    pub batch: String,
    /// Index of the call, from 0.
    pub index: u64,
}

/// A discarded call: its caller asked for something else instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchDiscarded {
    /// Id of the batch.
    pub batch: String,
    /// Why the caller discarded it.
    pub reason: String,
    /// Why its result stands all the same, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// Outcome of the context modifiers of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextModified {
    /// The rule that applied.
    pub policy: ContextPolicy,
    /// What happened to them.
    pub outcome: ContextOutcome,
    /// Number of modifiers.
    pub count: u64,
    /// The modifiers, as a JSON array.
    pub modifiers: PayloadRef,
    /// Reason, in words.
    pub reason: String,
}

/// Context modifiers in the result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextGiven {
    /// What became of them.
    pub outcome: ContextOutcome,
    /// Reason, in words.
    pub reason: String,
    /// The modifiers, in order; only where they apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<Value>,
}

impl ResourceLock {
    /// A lock without holders yet.
    pub fn new(lock: impl Into<String>, shared: bool) -> ResourceLock {
        let mode = if shared { "shared" } else { "exclusive" };
        ResourceLock { lock: lock.into(), mode: mode.to_owned(), calls: Vec::new() }
    }
}

impl BatchOrdering {
    /// The default yield policy of an ordering.
    pub fn usual_yield(self) -> YieldPolicy {
        match self {
            BatchOrdering::AllowUnordered => YieldPolicy::UnorderedStreaming,
            BatchOrdering::PreserveTerminalOrder | BatchOrdering::Serial => {
                YieldPolicy::ProgressImmediateResultsOrdered
            }
        }
    }
}
