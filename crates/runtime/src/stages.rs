//! Stages of the pipeline as types: each consumes the value that the one before made, so a stage
//! that is left out does not compile.
//!
//! This module is no API: it is public so that the examples below can prove it. None of the types
//! has a public field or constructor, and each is made in one module:
//!
//! ```compile_fail,E0451
//! # use haft_runtime::stages::*;
//! # fn skip(reached: (), output: haft_driver::Output) {
//! let executed = ExecutedCall { reached, output };
//! # }
//! ```
//!
//! In order, a call passes all of them:
//!
//! ```
//! # use haft_model::{Call, Envelope};
//! # use haft_runtime::{CallOptions, stages::*};
//! # use std::sync::Arc;
//! async fn stages(
//!     call: Arc<Call>,
//!     context: &mut CallContext<'_>,
//!     options: &CallOptions<'_>,
//! ) -> CallOutcome {
//!     let resolved: ResolvedCall = ResolvedCall::resolve(call, context, options)?;
//!     let parsed: ParsedCall = resolved.parse(context)?;
//!     let deduplicated: DeduplicatedCall = parsed.deduplicate(context, options).await?;
//!     let planned: PlannedCall = deduplicated.plan(context)?;
//!     let reviewed: ReviewedPlan = planned.review(context).await?;
//!     let permitted: PermittedCall = reviewed.authorize(context, options).await?;
//!     let executed: ExecutedCall = permitted.execute(context, options).await?;
//!     Ok(executed)
//! }
//!
//! async fn last(context: CallContext<'_>, outcome: CallOutcome) -> Envelope {
//!     context.finish(outcome).await
//! }
//! ```
//!
//! A call that was not resolved has no contract to parse its input with:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::stages::*;
//! fn skip(call: haft_model::Call, context: &mut CallContext<'_>) {
//!     call.parse(context);
//! }
//! ```
//!
//! An input that was not parsed is not deduplicated:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::{CallOptions, stages::*};
//! fn skip(resolved: ResolvedCall, context: &mut CallContext<'_>, options: &CallOptions<'_>) {
//!     resolved.deduplicate(context, options);
//! }
//! ```
//!
//! A call that may be a repeat is not planned:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::stages::*;
//! fn skip(parsed: ParsedCall, context: &mut CallContext<'_>) {
//!     parsed.plan(context);
//! }
//! ```
//!
//! A call without a plan is not reviewed:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::stages::*;
//! fn skip(deduplicated: DeduplicatedCall, context: &mut CallContext<'_>) {
//!     deduplicated.review(context);
//! }
//! ```
//!
//! A plan that the hooks did not review is not authorized:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::{CallOptions, stages::*};
//! fn skip(planned: PlannedCall, context: &mut CallContext<'_>, options: &CallOptions<'_>) {
//!     planned.authorize(context, options);
//! }
//! ```
//!
//! A plan without a permit is not executed:
//!
//! ```compile_fail,E0599
//! # use haft_runtime::{CallOptions, stages::*};
//! fn skip(reviewed: ReviewedPlan, context: &mut CallContext<'_>, options: &CallOptions<'_>) {
//!     reviewed.execute(context, options);
//! }
//! ```
//!
//! A permitted call that no driver carried out is no result:
//!
//! ```compile_fail,E0308
//! # use haft_runtime::stages::*;
//! fn skip(permitted: PermittedCall, context: CallContext<'_>) {
//!     context.finish(Ok(permitted));
//! }
//! ```
//!
//! A stage value is used once: neither a plan nor a permit runs twice.
//!
//! ```compile_fail,E0382
//! # use haft_runtime::{CallOptions, stages::*};
//! async fn twice(permitted: PermittedCall, context: &mut CallContext<'_>, options: &CallOptions<'_>) {
//!     let _ = permitted.execute(context, options).await;
//!     let _ = permitted.execute(context, options).await;
//! }
//! ```

pub use crate::context::CallContext;
pub use crate::execute::ExecutedCall;
pub use crate::idempotency::DeduplicatedCall;
pub use crate::parse::ParsedCall;
pub use crate::permit::PermittedCall;
pub use crate::pipeline::{CallOutcome, Halt, StoppedCall};
pub use crate::plan::{BoundPlan, PlannedCall};
pub use crate::pre_hooks::ReviewedPlan;
pub use crate::resolve::ResolvedCall;
