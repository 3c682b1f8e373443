//! CPU-bound work of a call: validation, rendering and redaction leave the async worker where they
//! take long.
//!
//! Sizes and compiled schemas alone decide that, in a bounded number of steps. The full cost of a
//! check is counted outside of the worker.

use haft_catalog::{Binding, CatalogEntry, Outlook, Sender, Snapshot};
use haft_driver::Output;
use haft_model::{Call, Content, FrozenInput, Plan, Stop};
use haft_notation::is_small;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Bytes of text that are rendered and redacted on an async worker.
const SMALL_TEXT: usize = 64 << 10;

/// Validates an input for its sender and fills in the defaults.
pub(crate) fn parse(entry: &CatalogEntry, input: Value, sender: Sender) -> Result<Value, Stop> {
    match entry.input_is_light(&input, sender) {
        true => entry.parse(input, sender),
        false => beside(|| {
            // The first call compiles the schema and computes its digest.
            entry.schema_digest();
            entry.parse(input, sender)
        }),
    }
}

/// Validates an input that was parsed before once more.
pub(crate) fn check_input(entry: &CatalogEntry, input: &Value) -> Result<(), Stop> {
    match entry.input_is_light(input, Sender::Host) {
        true => entry.check_input(input),
        false => beside(|| entry.check_input(input)),
    }
}

/// Validates an output against the contract.
pub(crate) fn check_output(entry: &CatalogEntry, output: &Value) -> Result<(), Stop> {
    match entry.output_is_light(output) {
        true => entry.check_output(output),
        false => beside(|| entry.check_output(output)),
    }
}

/// Binds a validated input to a plan: validates the context and digests both.
pub(crate) fn bind<'s>(
    snapshot: &'s Snapshot,
    entry: &'s CatalogEntry,
    call: &Call,
    input: FrozenInput,
    outlook: &Outlook,
) -> Result<(Plan, &'s Binding), Stop> {
    match entry.context_is_light(&call.context) && is_small(&input) {
        true => snapshot.bind(entry, call, input, outlook),
        false => beside(|| snapshot.bind(entry, call, input, outlook)),
    }
}

/// Amount of work that is linear in a value or a text: rendering, redaction, canonical form,
/// digests.
#[derive(Clone, Copy)]
pub(crate) enum Workload {
    /// Well under a millisecond: it stays on the async worker.
    Small,
    /// More: it leaves the async worker.
    Large,
}

impl Workload {
    pub(crate) fn of_call(call: &Call) -> Workload {
        let text = call.sent.as_ref().map_or(0, String::len);
        Workload::by(text <= SMALL_TEXT && is_small(&call.input) && is_small(&call.context))
    }

    pub(crate) fn of_value(value: &Value) -> Workload {
        Workload::by(is_small(value))
    }

    pub(crate) fn of_output(output: Option<&Output>) -> Workload {
        output.map_or(Workload::Small, |output| {
            Workload::of_result(output.structured.as_ref(), &output.content)
        })
    }

    pub(crate) fn of_result(structured: Option<&Value>, content: &[Content]) -> Workload {
        let text = content.iter().map(text_bytes).fold(0, usize::saturating_add);
        Workload::by(text <= SMALL_TEXT && structured.is_none_or(is_small))
    }

    fn by(is_small: bool) -> Workload {
        if is_small { Workload::Small } else { Workload::Large }
    }

    /// Runs the work, on the async worker where it is small.
    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self {
            Workload::Small => work(),
            Workload::Large => beside(work),
        }
    }
}

/// Bytes that rendering and redaction read; a structured piece, or other fields of a block, that are
/// not small count as large.
fn text_bytes(piece: &Content) -> usize {
    let fields = piece.block().is_none_or(|fields| fields.values().all(is_small));
    let fields = if fields { 0 } else { SMALL_TEXT + 1 };
    fields.saturating_add(match piece {
        Content::Text { text, .. }
        | Content::EmbeddedResource { text, .. }
        | Content::Log { text, .. }
        | Content::Diff { text, .. } => text.len(),
        Content::StructuredContent { data } if is_small(data) => 0,
        Content::StructuredContent { .. } => SMALL_TEXT + 1,
        Content::Image(media)
        | Content::Audio(media)
        | Content::Video(media)
        | Content::File(media) => media.data.len(),
        Content::ResourceLink(link)
        | Content::ArtifactRef(link)
        | Content::PersistedOutputRef(link)
        | Content::HandoffRef(link) => link.uri.len(),
    })
}

/// Blocks this thread while its other tasks move to another worker. A single-threaded runtime has
/// none: its tasks wait, for about a second at most, because each schema bounds the steps of its
/// check.
pub(crate) fn beside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}
