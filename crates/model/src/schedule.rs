//! How calls that were asked for together are scheduled, and what became of each in its turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{InvocationId, PayloadRef};

words! {
    /// How the results of a batch are ordered.
    BatchOrdering {
        /// In the order of the request, while calls overlap.
        PreserveTerminalOrder "preserve_terminal_order",
        /// As they come.
        AllowUnordered "allow_unordered",
        /// In the order of the request, and no call begins before the one in front of it has ended.
        Serial "serial",
    }
}

words! {
    /// What of a batch is handed over at once, and what waits for its turn.
    YieldPolicy {
        /// Progress at once, results in the order of the request.
        ProgressImmediateResultsOrdered "progress_immediate_results_ordered",
        /// Progress waits for the turn of its call, too.
        AllOrdered "all_ordered",
        /// Everything as it comes.
        UnorderedStreaming "unordered_streaming",
    }
}

words! {
    /// What an interruption does to a batch.
    InterruptBehavior {
        /// What runs is told to stop where its contract allows it; what has not begun does not begin.
        Cancel "cancel",
        /// What runs goes on to its end; what has not begun does not begin.
        Block "block",
    }
}

words! {
    /// What the failure of one call of a batch does to the others.
    OnFailure {
        /// Nothing.
        Ignore "ignore",
        /// All that have not ended are called off.
        CancelSiblings "cancel_siblings",
        /// Those that depend on it are not made.
        CancelDependent "cancel_dependent",
    }
}

words! {
    /// What becomes of the context modifiers that a driver gives with its output.
    ContextPolicy {
        /// Those of a call that could not run beside another one count; others do not.
        AllowSerialOnly "allow_serial_only",
        /// All wait until the batch is over, and count in the order of the request.
        DeferUntilBatchComplete "defer_until_batch_complete",
        /// None counts.
        Forbid "forbid",
    }
}

words! {
    /// What became of context modifiers.
    ContextOutcome {
        /// They count.
        Applied "applied",
        /// They wait for the end of the batch.
        Deferred "deferred",
        /// They do not count.
        Rejected "rejected",
    }
}

/// The rules by which a batch is scheduled, in the standard's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerPolicy {
    /// What records call it.
    pub scheduler_policy_id: String,
    /// What it holds for.
    pub scope: String,
    /// How many calls run at once.
    pub max_parallel: u64,
    /// How results are ordered.
    pub ordering_policy: BatchOrdering,
    /// What is handed over at once.
    pub yield_policy: YieldPolicy,
    /// What an interruption does.
    pub interrupt_behavior: InterruptBehavior,
    /// What a failure does to the others.
    pub sibling_failure_policy: OnFailure,
    /// What becomes of context modifiers.
    pub context_modifier_policy: ContextPolicy,
}

/// A batch that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlanned {
    /// Which.
    pub batch: String,
    /// The rules it is scheduled by.
    #[serde(flatten)]
    pub policy: SchedulerPolicy,
    /// Its calls, in the order of the request.
    pub calls: Vec<InvocationId>,
    /// What they hold while they run, as far as their inputs tell beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_locks: Vec<ResourceLock>,
}

/// Something that calls hold while they run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLock {
    /// What.
    pub lock: String,
    /// `shared` with others who share it, or `exclusive`.
    pub mode: String,
    /// Who holds it, in the order of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<InvocationId>,
}

/// The result of a call of a batch was handed over in its turn, after the call had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchReleased {
    /// Of which batch.
    pub batch: String,
    /// Which of its calls.
    pub index: u64,
}

/// Nobody wants a call any more: whoever asked for it asked for something else instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchDiscarded {
    /// Of which batch.
    pub batch: String,
    /// Why.
    pub reason: String,
    /// Why its result stands all the same, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// What became of the context modifiers of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextModified {
    /// By which rule.
    pub policy: ContextPolicy,
    /// What.
    pub outcome: ContextOutcome,
    /// How many there are.
    pub count: u64,
    /// The modifiers, as a JSON array.
    pub modifiers: PayloadRef,
    /// Why, in words.
    pub reason: String,
}

/// What a caller is told of the context modifiers of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextGiven {
    /// What became of them.
    pub outcome: ContextOutcome,
    /// Why, in words.
    pub reason: String,
    /// The modifiers, in their order; only where they count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<Value>,
}

impl ResourceLock {
    /// A lock that is held by somebody.
    pub fn new(lock: impl Into<String>, shared: bool) -> ResourceLock {
        let mode = if shared { "shared" } else { "exclusive" };
        ResourceLock { lock: lock.into(), mode: mode.to_owned(), calls: Vec::new() }
    }
}

impl BatchOrdering {
    /// What is handed over at once where nobody says.
    pub fn usual_yield(self) -> YieldPolicy {
        match self {
            BatchOrdering::AllowUnordered => YieldPolicy::UnorderedStreaming,
            BatchOrdering::PreserveTerminalOrder | BatchOrdering::Serial => {
                YieldPolicy::ProgressImmediateResultsOrdered
            }
        }
    }
}
