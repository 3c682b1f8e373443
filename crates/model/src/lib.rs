//! The nouns of one tool call: ids, effects, calls, plans, refusals, grants and the records that leave the house.
//!
//! Owns the vocabulary every other crate speaks, canonical JSON and its hash, and the calendar.
//! Must never know a file, a clock, a socket or a person. Start with [`Call`] and follow it to [`Plan`].

mod approval;
mod call;
mod code;
mod digest;
mod effect;
mod governance;
mod grant;
mod id;
mod kind;
mod lifecycle;
mod limits;
mod plan;
pub mod record;
mod rule;
mod stop;
mod time;

pub use approval::{Approval, ApprovalClass};
pub use call::Call;
pub use code::{Code, Retry};
pub use digest::{Digest, canonical};
pub use effect::{
    EffectClass, EffectProfile, FactRule, Facts, InferredFact, MutationClass, Requires, Risk, Tri,
};
pub use governance::{
    Approver, AuditRules, Autonomy, Escalation, Governance, GovernedPolicy, Quorum, Signing,
};
pub use grant::{
    ActionGrant, Condition, DefaultDecision, Grant, Limit, Policy, Principal, Requirement,
};
pub use id::{ActionId, ActorId, DriverId, ToolId, ToolKey};
pub use kind::DriverKind;
pub use lifecycle::{Lifecycle, LifecycleDates};
pub use limits::{Backoff, CostClass, Limits, RetryPolicy};
pub use plan::{Phase, Plan, Rejected, Route};
pub use rule::{Budget, PolicyRule, Rule, RuleDecision, Signer, Verdict};
pub use stop::Stop;
pub use time::{Date, Span, Timestamp, parse_date, parse_duration, parse_timestamp, utc_day};
