//! Error codes: the one table, with each code's name in the three specs.
//!
//! A code is the `error_code` of a result; `error_class` (Agent Tool), `code` (AIP-14) and
//! `aruntime_code` (ARuntime) are projections of it. `docs/errors/<code>.md` explains each.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Retry advice: when the caller may send the same call again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A retry may succeed.
    Yes,
    /// A retry is forbidden or cannot help.
    No,
    /// A retry may succeed after the named change.
    After(&'static str),
}

macro_rules! codes {
    ($($variant:ident $name:literal $class:literal $aip:literal $aruntime:literal $retry:expr, $about:literal;)*) => {
        /// Why a call failed or was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name, as results and pages under `docs/errors` use it.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The code of a stable name.
            pub fn parse(name: &str) -> Option<Code> {
                Code::ALL.iter().copied().find(|code| code.name() == name)
            }

            /// Agent Tool's `error_class`.
            pub fn class(self) -> &'static str {
                match self { $(Code::$variant => $class,)* }
            }

            /// AIP-14's `code`.
            pub fn aip(self) -> &'static str {
                match self { $(Code::$variant => $aip,)* }
            }

            /// ARuntime's code.
            pub fn aruntime(self) -> &'static str {
                match self { $(Code::$variant => $aruntime,)* }
            }

            /// Whether a retry can be right.
            pub fn retry(self) -> Retry {
                match self { $(Code::$variant => $retry,)* }
            }

            /// One sentence on what the code means.
            pub fn about(self) -> &'static str {
                match self { $(Code::$variant => $about,)* }
            }
        }
    };
}

use Retry::{After, No, Yes};

codes! {
    ToolUnknown "tool.unknown" "unknown_tool" "not_found" "input.invalid" No,
        "No tool of that name is known to this caller.";
    ToolBlocked "tool.blocked" "blocked_tool" "unauthorised" "permission.denied" After("the surface changes"),
        "The tool exists and may not be called here and now.";
    ToolSchemaNotLoaded "tool.schema_not_loaded" "schema_not_loaded" "input_invalid" "input.invalid" After("its schema was loaded"),
        "The tool is deferred and its schema was not loaded on this surface.";
    InputSchema "input.schema" "schema_validation_failed" "input_invalid" "input.invalid" After("the arguments change"),
        "The input does not fit the contract's schema.";
    InputValue "input.value" "invalid_arguments" "input_invalid" "input.invalid" After("the arguments change"),
        "The input fits the schema and still cannot be right.";
    InputNumberNotExact "input.number_not_exact" "invalid_arguments" "input_invalid" "input.invalid" After("the number is sent as a string"),
        "A number of the input cannot be kept exactly, so nothing was done with it.";
    InputContext "input.context" "setup_required" "input_invalid" "input.invalid" No,
        "The host's context does not fit what the contract requires of it.";
    InputUnsupported "input.unsupported" "capability_gap" "input_unsupported" "input.invalid" After("the arguments or the driver change"),
        "No driver that is left takes an input that this call uses.";
    InputMutation "input.mutation" "input_mutation_failed" "internal" "x:runtime.internal" No,
        "A hook or prompt changed the input in a way that is not allowed.";
    RouteNone "route.none" "capability_gap" "no_route" "dependency.unavailable" After("a driver appears"),
        "No driver can carry the call out.";
    RoutePinUnavailable "route.pin_unavailable" "dependency_unavailable" "pinned_provider_unavailable" "dependency.unavailable" After("the pin is lifted"),
        "The driver that the caller insists on cannot carry the call out.";
    RoutePolicy "route.policy" "policy_blocked" "policy_violation" "permission.denied" No,
        "The driver that the caller insists on is not among those the workspace allows.";
    RouteRegion "route.region" "capability_gap" "region_mismatch" "dependency.unavailable" After("the region or the pin changes"),
        "The driver that the caller insists on does not serve the region asked for.";
    SetupRequired "setup.required" "setup_required" "no_route" "dependency.unavailable" After("it was set up"),
        "Something has to be installed or configured first.";
    CredentialMissing "credential.missing" "credential_missing" "auth_required" "permission.denied" After("the credential is supplied"),
        "A credential is missing or has expired.";
    HookBlocked "hook.blocked" "hook_blocked" "unauthorised" "permission.denied" No,
        "A hook stopped the call.";
    HookFailed "hook.failed" "hook_failed" "internal" "x:runtime.internal" Yes,
        "A hook that had to be heard failed, so the call did not run.";
    HookPostFailed "hook.post_failed" "post_hook_failed" "internal" "x:runtime.internal" No,
        "A hook failed after the call had run.";
    PermissionDenied "permission.denied" "permission_denied" "unauthorised" "permission.denied" No,
        "A rule, a grant or the backend says no.";
    PolicyBlocked "policy.blocked" "policy_blocked" "unauthorised" "permission.denied" No,
        "A policy forbids the call, or one that it names does not exist.";
    ApprovalRequired "approval.required" "permission_denied" "unauthorised" "approval.required" After("it was approved"),
        "A person has to approve, and no person can be asked.";
    ApprovalRejected "approval.rejected" "approval_rejected" "unauthorised" "permission.denied" No,
        "A person said no.";
    ApprovalExpired "approval.expired" "approval_rejected" "unauthorised" "approval.required" After("it was approved"),
        "The question or its answer ran out of time.";
    SandboxViolation "sandbox.violation" "sandbox_violation" "unauthorised" "permission.denied" No,
        "The driver tried to leave its sandbox.";
    EffectUndeclared "effect.undeclared" "sandbox_violation" "unauthorised" "permission.denied" No,
        "The driver tried to change something the contract does not declare.";
    RateLimited "rate.limited" "rate_limited" "rate_limited" "rate.exceeded" Yes,
        "Too many calls in too little time.";
    TimeoutBeforeSubmit "timeout.before_submit" "timeout" "timeout" "timeout.before-submit" Yes,
        "Time ran out before anything was sent.";
    TimeoutUnknownCommit "timeout.unknown_commit" "timeout" "timeout" "timeout.unknown-commit" After("its status was asked"),
        "Time ran out after the request was sent: whether it took effect is unknown.";
    DependencyUnavailable "dependency.unavailable" "dependency_unavailable" "upstream_error" "dependency.unavailable" After("nothing had been submitted"),
        "Something the driver needs cannot be reached.";
    StoreUnavailable "store.unavailable" "dependency_unavailable" "internal" "dependency.unavailable" After("the store can be written again"),
        "What happens could not be put on record, so nothing was done.";
    ExecutionFailed "execution.failed" "execution_failed" "upstream_error" "x:execution.failed" No,
        "The tool ran and failed.";
    ResourceNotFound "resource.not_found" "execution_failed" "not_found" "input.invalid" No,
        "The backend says that what the call names does not exist.";
    Conflict "conflict" "execution_failed" "upstream_error" "conflict" No,
        "The backend's state, or an earlier use of the same key, contradicts the call.";
    EffectPartial "effect.partial" "partial_failure" "upstream_error" "partial-effect" No,
        "Part of the effect happened and the rest did not.";
    CompensationFailed "compensation.failed" "execution_failed" "upstream_error" "compensation.failed" No,
        "Undoing an earlier call failed.";
    OutputInvalid "output.invalid" "result_mapping_failed" "upstream_error" "output.invalid" After("it is known to be a read"),
        "The backend answered with something the contract does not promise.";
    ResultTooLarge "result.too_large" "result_too_large" "internal" "output.invalid" No,
        "The result could neither be shown nor stored.";
    ResultRedacted "result.redacted" "result_redacted" "unauthorised" "permission.denied" No,
        "Everything in the result had to be withheld.";
    CanceledCaller "canceled.caller" "canceled" "x:cancelled" "x:canceled" After("its status was asked, if it was submitted"),
        "The caller called it off.";
    CanceledSibling "canceled.sibling" "sibling_canceled" "x:cancelled" "x:canceled" Yes,
        "Another call of the batch failed and took this one along.";
    CanceledDiscarded "canceled.discarded" "streaming_fallback_discarded" "x:cancelled" "x:canceled" No,
        "A later attempt replaced this one.";
    Internal "internal" "execution_failed" "internal" "x:runtime.internal" No,
        "Haft itself failed.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        let name = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Code::parse(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("`{name}` is no error code")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn all_27_error_classes_of_agent_tool_are_spoken() {
        let classes: BTreeSet<_> = Code::ALL.iter().map(|code| code.class()).collect();
        assert_eq!(classes.len(), 27, "{classes:?}");
    }

    #[test]
    fn the_routing_codes_carry_the_words_of_aip_14() {
        let words =
            [Code::RouteNone, Code::RoutePinUnavailable, Code::RoutePolicy, Code::RouteRegion]
                .map(Code::aip);
        assert_eq!(
            words,
            ["no_route", "pinned_provider_unavailable", "policy_violation", "region_mismatch"]
        );
    }
}
