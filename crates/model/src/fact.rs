//! Ledger fact: one recorded step of a call, in the words of the standard.
//!
//! The log is the truth and every record is a fold over it, so a fact holds all that a later reader
//! needs, except bytes: inputs and results lie beside the log, named by digest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::words;
use crate::{Digest, Event, Timestamp};

/// One recorded step of a call, or of the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// The phases that ended since the previous fact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseLine>,
}

words! {
    /// The thirteen phases of a call, by the standard's names.
    CallPhase {
        /// 1: the tool is found on the surface.
        ResolveTool "resolve_tool",
        /// 2: the input is checked against the schema.
        ParseSchema "parse_schema",
        /// 3: deferred loading: the schema was loaded.
        SchemaGate "schema_gate",
        /// 4: values, setup and driver.
        ValidateValues "validate_values",
        /// 5: the observable copy of the input.
        PrepareObservableInput "prepare_observable_input",
        /// 6: pre-hooks.
        PreHooks "pre_hooks",
        /// 7: authorization.
        Permission "permission",
        /// 8: the queue.
        Schedule "schedule",
        /// 9: the driver runs.
        Execute "execute",
        /// 10: output is mapped to a result, once.
        MapResult "map_result",
        /// 11: post-hooks.
        PostHooks "post_hooks",
        /// 12: the result is persisted and redacted.
        PersistResult "persist_result",
        /// 13: the result is released.
        EmitTerminal "emit_terminal",
    }
}

impl CallPhase {
    /// Its number in the standard.
    pub fn number(self) -> u8 {
        CallPhase::ALL.iter().position(|phase| *phase == self).map_or(0, |at| at as u8 + 1)
    }
}

words! {
    /// Outcome of a phase.
    PhaseOutcome {
        /// The phase passed.
        Ok "ok",
        /// The call stopped here.
        Failed "failed",
        /// There was nothing to do, or the call had stopped before.
        Skipped "skipped",
    }
}

/// One line of an invocation's phase log. Times are microseconds since the call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(CallPhase, PhaseOutcome, u64, u64)", into = "(CallPhase, PhaseOutcome, u64, u64)")]
pub struct PhaseLine {
    /// The phase.
    pub phase: CallPhase,
    /// Its outcome.
    pub outcome: PhaseOutcome,
    /// Start, in microseconds.
    pub from: u64,
    /// End, in microseconds.
    pub to: u64,
}

impl From<(CallPhase, PhaseOutcome, u64, u64)> for PhaseLine {
    fn from((phase, outcome, from, to): (CallPhase, PhaseOutcome, u64, u64)) -> PhaseLine {
        PhaseLine { phase, outcome, from, to }
    }
}

impl From<PhaseLine> for (CallPhase, PhaseOutcome, u64, u64) {
    fn from(line: PhaseLine) -> Self {
        (line.phase, line.outcome, line.from, line.to)
    }
}

/// Payload reference: bytes that lie beside the log, named by digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRef {
    /// The digest of the bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Names of the top-level fields, without values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The values that the contract allows into the log.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map<String, Value>,
}

words! {
    /// Source of an input mutation.
    MutationSource {
        /// A hook.
        Hook "hook",
        /// A person who was asked for approval.
        PermissionPrompt "permission_prompt",
        /// A driver's mapping.
        Adapter "adapter",
        /// A version migration.
        Migration "migration",
        /// The runtime: defaults and normal forms.
        Runtime "runtime",
    }
}

/// One mutation of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// Kind of the source.
    pub source: MutationSource,
    /// Id of the hook, person or driver that made it.
    pub by: String,
    /// Digest of the input before.
    pub from: Digest,
    /// The input after.
    pub to: PayloadRef,
    /// JSON pointers to the differences.
    pub changed: Vec<String>,
    /// The reason its source gives.
    pub reason: String,
}

words! {
    /// Points at which hooks run.
    HookPoint {
        /// Before a call is authorized.
        PreToolUse "pre_tool_use",
        /// After a call succeeded.
        PostToolUse "post_tool_use",
        /// After a call failed.
        PostToolUseFailure "post_tool_use_failure",
        /// Before a person is asked.
        PermissionRequest "permission_request",
        /// After the decision.
        PermissionDecision "permission_decision",
        /// Before a result is stored.
        ResultPersistence "result_persistence",
    }
}
