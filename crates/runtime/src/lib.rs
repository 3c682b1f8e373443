//! Tool-call runtime: authorizes, records, executes and answers every call.
//!
//! Owns the order of the phases, and that every call ends in exactly one envelope. Must never know
//! a wire, a file or a database; ports are handed in. Start with [`Runtime::call`].

mod approval;
mod approval_inbox;
mod authorize;
mod background;
mod batch;
mod call_options;
mod cancel;
mod catch_panic;
mod circuit_breaker;
mod clock;
mod compensation;
mod context;
mod declare;
mod execute;
mod finish;
mod idempotency;
mod in_flight;
mod inputs;
mod parse;
mod people;
mod permit;
mod pipeline;
mod plan;
mod pre_hooks;
mod queue;
mod quota;
mod reader;
mod recorder;
mod recovery;
mod redact;
mod render;
mod reply;
mod resolve;
mod resolve_unknown;
mod retry;
mod runtime;
mod shared_timer;
mod shutdown;
#[doc(hidden)]
pub mod stages;
mod surface_state;
mod surfaces;
mod token;
mod trace_view;
mod undelivered_results;
mod validate;
mod wait;
mod world;

pub use approval_inbox::{AnswerOutcome, Reply};
pub use authorize::Why;
pub use batch::{
    Batch, BatchCall, BatchDocument, BatchHandle, BatchNews, Discarding, ResultStream, WrittenCall,
};
pub use call_options::{Background, CallOptions, Leave, Patience, Prompt, Receipt};
pub use cancel::CancelAnswer;
pub use circuit_breaker::BreakerOptions;
pub use clock::{Clock, StoppedClock, WallClock};
pub use haft_model::{Forms, NonInteractive, Unsent};
pub use people::{People, may_change};
pub use reader::Reader;
pub use recovery::RecoveryOutcome;
pub use reply::Led;
pub use resolve_unknown::ManualResolution;
pub use runtime::{Options, Runtime};
pub use shared_timer::SharedTimer;
pub use surface_state::Vista;
pub use token::TokenRequest as TokenWish;
pub use trace_view::{ShownInputs, TraceView};
pub use world::{DriverReadiness, Rate, World};
