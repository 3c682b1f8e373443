//! CPU-bound work of a call: validation, rendering and redaction leave the async worker where they take long.
//!
//! Whether they do is decided in a bounded number of steps, by sizes and compiled schemas alone. The full
//! cost of a check is counted beside the check, never on the worker.

use haft_catalog::{Binding, CatalogEntry, Outlook, Sender, Snapshot};
use haft_driver::Output;
use haft_model::{Call, Content, Plan, Stop};
use haft_notation::is_small;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// How many bytes of text are rendered and searched on an async worker.
const SMALL_TEXT: usize = 64 << 10;

/// The input with its defaults filled in, if it fits what its sender may send.
pub(crate) fn parse(entry: &CatalogEntry, input: Value, sender: Sender) -> Result<Value, Stop> {
    match entry.input_is_light(&input, sender) {
        true => entry.parse(input, sender),
        false => beside(|| {
            // The first call digests the schema as well as it compiles it.
            entry.schema_digest();
            entry.parse(input, sender)
        }),
    }
}

/// Whether an output is what the contract promises.
pub(crate) fn check_output(entry: &CatalogEntry, output: &Value) -> Result<(), Stop> {
    match entry.output_is_light(output) {
        true => entry.check_output(output),
        false => beside(|| entry.check_output(output)),
    }
}

/// The plan for an input that was parsed: its context is validated, and both are digested.
pub(crate) fn bind<'s>(
    snapshot: &'s Snapshot,
    entry: &'s CatalogEntry,
    call: &Call,
    input: Value,
    outlook: &Outlook,
) -> Result<(Plan, &'s Binding), Stop> {
    match entry.context_is_light(&call.context) && is_small(&input) {
        true => snapshot.bind(entry, call, input, outlook),
        false => beside(|| snapshot.bind(entry, call, input, outlook)),
    }
}

/// How much work is linear in a value or a text: rendering, redaction, canonical form, digests.
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

    /// Does the work, on the async worker where it is short.
    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self {
            Workload::Small => work(),
            Workload::Large => beside(work),
        }
    }
}

/// The bytes that rendering and redaction go through; a structured piece that is not small counts as large.
fn text_bytes(piece: &Content) -> usize {
    match piece {
        Content::Text { text }
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
    }
}

/// Blocks this thread while its other tasks move to another worker. A runtime of one thread has none: its
/// tasks wait, for about a second at most, since no check takes more steps than its schema may.
pub(crate) fn beside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}
