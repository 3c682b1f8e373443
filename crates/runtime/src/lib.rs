//! The pipeline: every call judged, recorded and answered.
//!
//! Owns the order of the rooms, and that every call ends in exactly one envelope.
//! Must never know a wire, a file or a database; ports are handed in. Start with [`Runtime::call`].

mod background;
mod batch;
mod cancel;
mod checking;
mod clock;
mod declare;
mod delivery;
mod enlisted;
mod execute;
mod finish;
mod gate;
mod guarded;
mod hear;
mod inbox;
mod inputs;
mod intent;
mod journal;
mod judge;
mod limits;
mod manner;
mod people;
mod pulse;
mod queue;
mod reader;
mod recover;
mod redact;
mod render;
mod reply;
mod rest;
mod retry;
mod runtime;
mod scopes;
mod settle;
mod stop;
mod surfaces;
mod token;
mod told;
mod understand;
mod undo;
mod wait;
mod walk;
mod world;

pub use batch::{
    Batch, BatchCall, BatchDocument, BatchHandle, BatchNews, Discarding, Released, WrittenCall,
};
pub use cancel::CancelAnswer;
pub use clock::{Clock, StoppedClock, WallClock};
pub use inbox::{Answered, Reply};
pub use judge::Why;
pub use manner::{Background, Leave, Manner, Patience, Prompt, Receipt};
pub use people::{People, may_change};
pub use pulse::Pulse;
pub use reader::Reader;
pub use recover::Recovered;
pub use reply::Led;
pub use rest::Rest;
pub use runtime::{Forms, NonInteractive, Options, Runtime, Unsent};
pub use scopes::Vista;
pub use settle::Settled;
pub use token::Wish as TokenWish;
pub use told::{ShownInputs, Told};
pub use world::{Lookout, Rate, World};
