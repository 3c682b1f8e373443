//! What the last process that sent spans left on record about them, for `haft doctor`.

use haft_model::Timestamp;
use serde::{Deserialize, Serialize};

use super::Host;
use crate::Error;
use crate::readiness::JsonFile;

/// What became of the spans of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpansSent {
    /// Calls whose spans were taken.
    pub sent: u64,
    /// Calls whose spans nobody has.
    pub dropped: u64,
    /// Why the last ones were not taken.
    pub fault: Option<String>,
    /// When that was so.
    pub at: Option<Timestamp>,
}

impl Host {
    /// Puts on record what became of the spans of this process.
    pub fn note_spans(&self, spans: SpansSent) -> Result<(), Error> {
        self.spans_file().change(|held: &mut SpansSent| *held = spans).map(|_| ())
    }

    /// What the last process that sent spans put on record; empty where there was none.
    pub fn spans_noted(&self) -> Result<SpansSent, Error> {
        self.spans_file().read()
    }

    fn spans_file(&self) -> JsonFile {
        JsonFile::new(self.workspace().root().join(".haft/telemetry.json"))
    }
}
