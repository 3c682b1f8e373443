//! Progress reporting: sends redacted progress to the caller and records it.

use haft_model::{AbortReason, CancelFact, CancelNote, Content, Event, Progress, Reported, Status};

use super::running::Running;
use crate::context::CallContext;

impl CallContext<'_> {
    pub(super) async fn progressed(
        &mut self,
        running: &mut Running<'_>,
        progress: Progress,
        cancel: Option<CancelNote>,
    ) {
        let progress = self.privacy.redactor.progress(progress);
        let reported = self.report(running, "running", progress, cancel);
        running.tell(&reported);
        self.recorder.note(Event::Progressed(Box::new(reported)));
        // A failed append of progress does not fail the call.
        let _ = self.recorder.show(&self.runtime.options).await;
    }

    pub(super) async fn partial(&mut self, running: &mut Running<'_>, mut content: Vec<Content>) {
        self.privacy.redactor.content(&mut content);
        let message = Some(crate::render::plain(&content));
        let progress = Progress { message, ..Progress::default() };
        let reported = self.report(running, "partial_result", progress, None);
        running.tell(&reported);
        // While a form is open the status stays `NeedsInput`, so partial results count as progress.
        self.recorder.note(match self.recorder.may_note(Status::PartialResult) {
            true => Event::PartialResult(Box::new(reported)),
            false => Event::Progressed(Box::new(reported)),
        });
        let _ = self.recorder.show(&self.runtime.options).await;
    }

    /// The driver reports that the rest takes long: a caller that can poll for the result is
    /// released.
    pub(super) async fn backgrounded(&mut self, running: &mut Running<'_>) {
        let reported = self.report(running, "backgrounded", Progress::default(), None);
        self.recorder.note(Event::Progressed(Box::new(reported)));
        let _ = self.recorder.show(&self.runtime.options).await;
        let reached = running.permitted.planned().reached();
        self.let_go(&reached, running.options, running.effect.state).await;
    }

    pub(super) fn note_cancel(
        &mut self,
        running: &Running<'_>,
        fact: CancelFact,
        reason: AbortReason,
    ) {
        let note = CancelNote { fact, reason };
        let reported = self.report(running, "running", Progress::default(), Some(note));
        self.recorder.note(Event::Progressed(Box::new(reported)));
    }

    fn report(
        &mut self,
        running: &Running<'_>,
        status: &'static str,
        progress: Progress,
        cancel: Option<CancelNote>,
    ) -> Reported {
        let elapsed_ms = running.timer.began.elapsed().as_millis() as u64;
        let status = status.into();
        self.recorder.report(|sequence| Reported { sequence, status, elapsed_ms, progress, cancel })
    }
}
