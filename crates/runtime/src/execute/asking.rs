//! What a running driver wants from whoever called: questions of its backend, and remarks.

use std::collections::BTreeMap;

use haft_driver::{Abilities, Inquiry, Remark};
use haft_model::{Code, Progress, Reported, Stop};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::running::Running;
use crate::walk::Walk;

type Answers = Result<BTreeMap<String, Value>, Stop>;

impl Running {
    /// What the caller can be asked.
    pub(super) fn abilities(&self) -> Abilities {
        self.caller.as_ref().map(|caller| caller.abilities().clone()).unwrap_or_default()
    }

    pub(super) fn tell(&self, reported: &Reported) {
        if let Some(caller) = &self.caller {
            caller.progress(reported);
        }
    }
}

impl Walk<'_> {
    /// Asks whoever called, beside the call: it can still be called off, and its time goes on.
    pub(super) async fn ask_caller(
        &mut self,
        running: &mut Running,
        mut asked: BTreeMap<String, Inquiry>,
        reply: oneshot::Sender<Answers>,
    ) {
        let Some(caller) = running.caller.clone() else {
            let _ = reply.send(Err(nobody(&asked)));
            return;
        };
        let able = |inquiry: &Inquiry| caller.abilities().kinds.contains(&inquiry.kind);
        if !asked.values().all(able) {
            let _ = reply.send(Err(nobody(&asked)));
            return;
        }
        for inquiry in asked.values_mut() {
            self.redactor.everywhere(&mut inquiry.params);
        }
        let message = Some("the backend asks whoever called".to_owned());
        self.progressed(running, Progress { message, ..Progress::default() }, None).await;
        // People take their time, and nobody else should have to wait for them.
        let aside = self.runtime.queue.aside();
        tokio::spawn(async move {
            let answers = caller.ask(asked).await;
            drop(aside);
            let _ = reply.send(answers);
        });
    }

    pub(super) fn remark(&self, running: &Running, mut remark: Remark) {
        if let Some(caller) = &running.caller {
            self.redactor.everywhere(&mut remark.data);
            caller.remark(remark);
        }
    }
}

fn nobody(asked: &BTreeMap<String, Inquiry>) -> Stop {
    let kinds: Vec<String> =
        asked.values().map(|inquiry| format!("{:?}", inquiry.kind).to_lowercase()).collect();
    Stop::new(
        Code::ApprovalRequired,
        format!(
            "the backend asks for something ({}) that the caller cannot give",
            kinds.join(", ")
        ),
    )
    .help("call from a client that can do that")
    .because(json!({ "phase": "run", "missing_abilities": kinds }))
}
