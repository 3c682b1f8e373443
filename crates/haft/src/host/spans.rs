//! Span export record: what the last exporting process delivered and dropped, for `haft doctor`.

use haft_model::Timestamp;
use serde::{Deserialize, Serialize};

use super::Host;
use crate::Error;
use crate::readiness::JsonFile;

/// Export totals of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpansSent {
    /// Calls whose spans the collector accepted.
    pub sent: u64,
    /// Calls whose spans were dropped.
    pub dropped: u64,
    /// Why the last spans were not accepted.
    pub fault: Option<String>,
    /// When the totals were recorded.
    pub at: Option<Timestamp>,
}

impl Host {
    /// Puts on record what became of the spans of this process.
    pub fn note_spans(&self, spans: SpansSent) -> Result<(), Error> {
        self.spans_file().change(|held: &mut SpansSent| *held = spans).map(|_| ())
    }

    /// The totals of the last exporting process; empty where there was none.
    pub fn spans_noted(&self) -> Result<SpansSent, Error> {
        self.spans_file().read()
    }

    fn spans_file(&self) -> JsonFile {
        JsonFile::new(self.workspace().root().join(".haft/telemetry.json"))
    }
}
