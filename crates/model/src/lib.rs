//! Domain model of one tool call: ids, effects, calls, plans, refusals, grants and published
//! records.
//!
//! Owns the vocabulary every other crate speaks, canonical JSON and its hash, and the calendar.
//! Must never know a file, a clock, a socket or a person. Start with [`Call`] and follow it to
//! [`Plan`].

mod action_pattern;
mod actor;
mod approval;
mod audience;
mod call;
mod call_modes;
mod canonical;
mod cause;
mod client_clock;
mod code;
mod content;
mod decision;
mod digest;
mod dual_time;
mod effect;
mod envelope;
mod event;
mod fact;
mod form;
mod frozen;
mod glob;
mod governance;
pub mod governing;
mod grant;
pub mod host;
mod id;
mod intent;
mod json_flaw;
mod kind;
mod lifecycle;
mod limits;
mod notice;
mod plan;
mod progress;
mod question;
pub mod record;
mod rule;
mod schedule;
mod secret;
mod settled;
mod shown;
mod signature;
mod situation;
mod status;
mod step;
mod stop;
mod time;
mod token;
mod tool_error;
mod trace;
pub mod web;

pub use action_pattern::ActionPattern;
pub use actor::{Actor, Role, is_role, is_same_person, is_user};
pub use approval::{Approval, ApprovalClass};
pub use audience::Audience;
pub use call::{BatchPlace, Call};
pub use call_modes::{BackgroundMode, Forms, IdempotencyMode, NonInteractive, PersistMode, Unsent};
pub use canonical::{Canonical, canonical};
pub use cause::{
    AuthState, Cause, CauseDetail, CausePhase, ClientAbility, FormRefusal, JsonRpcError,
    LoginFailure, SchemaViolation,
};
pub use client_clock::ClientClock;
pub use code::{Code, Retry};
pub use content::{BlockFields, Content, Link, Media};
pub use decision::{Decision, Firmness, Layer, Needs, Opinion, Says};
pub use digest::Digest;
pub use dual_time::{BootTime, DualTime};
pub use effect::{
    EffectClass, EffectProfile, FactRule, Facts, InferredFact, MutationClass, Requires, Risk, Tier,
    Tri,
};
pub use envelope::{Envelope, ResultStatus};
pub use event::Event;
pub use fact::{
    CallPhase, Fact, HookPoint, Mutation, MutationSource, PayloadRef, PhaseLine, PhaseOutcome,
};
pub use form::ElicitationForm;
pub use frozen::FrozenInput;
pub use glob::{Glob, fixed_steps};
pub use governance::{
    Approver, AuditRules, Autonomy, Escalation, Governance, GovernedPolicy, Quorum, Signing,
};
pub use grant::{
    ActionGrant, Condition, DefaultDecision, Grant, Limit, Policy, Principal, Requirement,
};
pub use id::{ActionId, ActorId, DriverId, InvocationId, QuestionId, TokenId, ToolId, ToolKey};
pub use intent::{Intent, IntentState, KeySource, SentAgain};
pub use json_flaw::{JsonFlaw, JsonFlawKind, JsonScope, is_exact_number, settle_numbers};
pub use kind::DriverKind;
pub use lifecycle::{Lifecycle, LifecycleDates};
pub use limits::{
    Backoff, CallLimits, CallRate, Charge, CostClass, Period, RateScope, RetryPolicy,
};
pub use notice::Notice;
pub use plan::{Phase, Plan, RejectedDriver, RejectionReason, Route, renamed};
pub use progress::{AbortReason, CancelFact, Progress};
pub use question::{ApprovalAnswer, ApprovalBinding, Question, QuestionState, StandingAnswer};
pub use rule::{Budget, PolicyRule, Rule, RuleDecision, Signer, Verdict};
pub use schedule::{
    BatchDiscarded, BatchOrdering, BatchPlanned, BatchReleased, ContextGiven, ContextModified,
    ContextOutcome, ContextPolicy, InterruptBehavior, OnFailure, ResourceLock, SchedulerPolicy,
    YieldPolicy,
};
pub use secret::{Grantee, Secret, SecretKind, SecretUse};
pub use settled::{Compensating, CompensationEnded, EffectObserved, EffectSettled, Submitted};
pub use shown::{cleaned, cleaned_value, is_shown};
pub use signature::Signature;
pub use situation::Situation;
pub use status::{EffectState, QueueState, Status};
pub use step::{
    ArgumentsReady, AttemptEnded, CancelNote, CancelRequested, Closed, Decided, Declared,
    DeferredSeen, Ended, HookRun, HookStarted, InputEnded, Note, Persisted, Planned, Queued,
    Redacted, Reported, ResolvedFacts, ResultCreated, Selected, StandingRevoked, Started,
    SurfaceSeen, TakenOver, Yielded,
};
pub use stop::{Blame, Stop};
pub use time::{
    Date, Span, Timestamp, after, parse_date, parse_duration, parse_http_date, parse_timestamp,
    utc_day, weekday_and_hour,
};
pub use token::{Token, TokenRevoked};
pub use tool_error::{RetryAdvice, ToolError};
pub use trace::{TRACEPARENT, TRACESTATE, Trace, span_of};
