//! What the ledger keeps: one fact for each step of a call, in the words of the standard.
//!
//! The log is the truth and every record is a fold over it, so a fact holds all that anybody may
//! want to know later, except bytes: inputs and results are kept beside the log and named by digest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::words;
use crate::{Digest, Event, Timestamp};

/// One step of a call, or of the house, that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// The phases that ended since the fact before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseLine>,
}

words! {
    /// The thirteen phases of a call, by the standard's names.
    CallPhase {
        /// 1: the tool is found on the surface.
        ResolveTool "resolve_tool",
        /// 2: the input is held against the schema.
        ParseSchema "parse_schema",
        /// 3: the schema was loaded.
        SchemaGate "schema_gate",
        /// 4: values, setup and driver.
        ValidateValues "validate_values",
        /// 5: the copy that others may see.
        PrepareObservableInput "prepare_observable_input",
        /// 6: hooks before.
        PreHooks "pre_hooks",
        /// 7: may it run?
        Permission "permission",
        /// 8: its turn.
        Schedule "schedule",
        /// 9: the driver works.
        Execute "execute",
        /// 10: output to result, once.
        MapResult "map_result",
        /// 11: hooks after.
        PostHooks "post_hooks",
        /// 12: stored and redacted.
        PersistResult "persist_result",
        /// 13: released.
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
    /// How a phase ended.
    PhaseOutcome {
        /// Well.
        Ok "ok",
        /// The call stopped here.
        Failed "failed",
        /// There was nothing to do, or the call had stopped before.
        Skipped "skipped",
    }
}

/// One line of an invocation's phase log. Times are microseconds after the call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(CallPhase, PhaseOutcome, u64, u64)", into = "(CallPhase, PhaseOutcome, u64, u64)")]
pub struct PhaseLine {
    /// Which phase.
    pub phase: CallPhase,
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// When it began.
    pub from: u64,
    /// When it ended.
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

/// Bytes that are kept beside the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRef {
    /// The digest of the bytes.
    pub digest: Digest,
    /// How many.
    pub size: u64,
    /// The names of the top-level fields; values are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The values that the contract allows into the log.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map<String, Value>,
}

words! {
    /// Who changed an input.
    MutationSource {
        /// A hook.
        Hook "hook",
        /// A person who was asked.
        PermissionPrompt "permission_prompt",
        /// A driver's mapping.
        Adapter "adapter",
        /// A change of version.
        Migration "migration",
        /// The runtime: defaults and normal forms.
        Runtime "runtime",
    }
}

/// One change of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// What kind of source.
    pub source: MutationSource,
    /// Which one.
    pub by: String,
    /// The input before.
    pub from: Digest,
    /// The input after.
    pub to: PayloadRef,
    /// JSON pointers of what differs.
    pub changed: Vec<String>,
    /// Why.
    pub reason: String,
}

words! {
    /// Where hooks are heard.
    HookPoint {
        /// Before a call is judged.
        PreToolUse "pre_tool_use",
        /// After it succeeded.
        PostToolUse "post_tool_use",
        /// After it failed.
        PostToolUseFailure "post_tool_use_failure",
        /// When a person would be asked.
        PermissionRequest "permission_request",
        /// When it was decided.
        PermissionDecision "permission_decision",
        /// Before a result is stored.
        ResultPersistence "result_persistence",
    }
}
