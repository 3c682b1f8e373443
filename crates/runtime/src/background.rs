//! Background calls: release a caller that polls for the result while the call runs on.

use haft_catalog::CatalogEntry;
use haft_model::{BackgroundMode, CauseDetail, ClientAbility, Code, EffectState, Stop};

use crate::catch_panic::caught;
use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::{Background, CallOptions};

/// Whether the contract marks its calls as long-running.
pub(crate) fn takes_long(entry: &CatalogEntry) -> bool {
    entry.contract.tool.extras.background.is_some()
}

/// Refuses a caller without task support where the contract requires background calls.
pub(crate) fn is_for(entry: &CatalogEntry, options: &CallOptions<'_>) -> Result<(), Stop> {
    let required = entry.contract.tool.extras.background == Some(BackgroundMode::Required);
    if !required || options.background != Background::Unknown {
        return Ok(());
    }
    let words = format!(
        "`{}` takes long and wants callers who come back for the answer",
        entry.contract.key()
    );
    let stop = Stop::new(Code::InputUnsupported, words).help("call from a client that knows tasks");
    Err(stop.because(CauseDetail::MissingAbilities(vec![ClientAbility::Tasks])))
}

impl CallContext<'_> {
    /// Releases a caller that polls for the result, with a pending envelope. The call is on record
    /// first, so that any process can answer the poll.
    pub(crate) async fn let_go(
        &mut self,
        reached: &Reached,
        options: &CallOptions<'_>,
        effect: EffectState,
    ) {
        let Some(leave) = options.leave.as_ref().filter(|_| !self.waiters.detached) else { return };
        if options.background != Background::Leave {
            return;
        }
        let shown = self.recorder.show(&self.runtime.options).await;
        if shown.is_err() || !self.recorder.is_on_record() {
            return;
        }
        self.waiters.detached = true;
        let words = "it goes on in the background".to_owned();
        let mut envelope = self.waiting(reached, None, words, self.recorder.status());
        envelope.effect_state = effect;
        let _ = caught(|| leave(envelope));
    }
}
