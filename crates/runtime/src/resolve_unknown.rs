//! Manual resolution of an unknown effect: an approver states whether the call took effect.

use haft_ledger::{Draft, Guard, Story, Wait};
use haft_model::{
    Actor, CauseDetail, Code, CompensationEnded, EffectSettled, EffectState, Event, Fact,
    InvocationId, Stop,
};

use crate::Runtime;
use crate::recorder::unrecorded;

/// What an approver states about an unknown effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManualResolution {
    /// The effect happened.
    Committed,
    /// The effect did not happen.
    Absent,
}

impl ManualResolution {
    fn effect(self) -> EffectState {
        match self {
            ManualResolution::Committed => EffectState::Committed,
            ManualResolution::Absent => EffectState::NotCommitted,
        }
    }
}

impl Runtime {
    /// Records the outcome of a call whose effect is unknown. Only an actor who may answer
    /// questions can do so, once and with a reason.
    pub async fn settle(
        &self,
        id: &InvocationId,
        what: ManualResolution,
        by: &Actor,
        reason: &str,
    ) -> Result<(), Stop> {
        let story = self.told(id, &by.tenant).await?;
        if !by.may_answer() {
            let words = format!("`{}` may not say what became of a call", by.id);
            return Err(Stop::new(Code::PermissionDenied, words).help("a person who approves may"));
        }
        if reason.trim().is_empty() {
            let stop = Stop::new(Code::InputValue, "settling a call needs a reason");
            return Err(stop.help("say how you know"));
        }
        if story.effect_state != EffectState::Unknown {
            let words = format!("the effect of `{id}` is known: {}", story.effect_state);
            return Err(Stop::new(Code::Conflict, words)
                .help("`haft runs --unknown` lists those that have to be settled"));
        }
        if what == ManualResolution::Absent {
            self.too_late(id).await?;
        }
        let settled = EffectSettled {
            effect: what.effect(),
            by: by.id.clone(),
            reason: reason.trim().to_owned(),
        };
        self.add(&story, by, Event::EffectSettled(settled)).await?;
        match (&story.compensates, what) {
            (Some(original), ManualResolution::Committed) => {
                self.undone_after_all(original, id, by).await
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Refuses `Absent` while the call may still take effect.
    async fn too_late(&self, id: &InvocationId) -> Result<(), Stop> {
        match self.history(id).await?.until() {
            Some(until) if !until.is_past(&self.clock.time()) => {
                let words = format!("`{id}` may still take effect until {}", until.at);
                let help = "look at the backend after that, and tell then";
                let stop = Stop::new(Code::Conflict, words).help(help);
                Err(stop.because(CauseDetail::Until(until.at)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Records on the original call that its compensation, unknown until now, took effect.
    async fn undone_after_all(
        &self,
        original: &InvocationId,
        by: &InvocationId,
        actor: &Actor,
    ) -> Result<(), Stop> {
        let story = self.told(original, &actor.tenant).await?;
        let ours = story.undoings.last().is_some_and(|last| last.by == *by);
        if !ours || !story.effect_state.may_become(EffectState::Compensated) {
            return Ok(());
        }
        let ended = CompensationEnded { by: by.clone(), effect: EffectState::Compensated };
        self.add(&story, actor, Event::CompensationEnded(ended)).await
    }

    /// Reads the history of a call; a call of another tenant counts as not found.
    pub(crate) async fn told(&self, id: &InvocationId, tenant: &str) -> Result<Story, Stop> {
        let unknown = || {
            Stop::new(Code::ResourceNotFound, format!("there is no call `{id}`"))
                .help("`haft runs` lists those that there are")
        };
        let entries = self.store.story(id).await.map_err(unrecorded)?;
        if entries.is_empty() {
            return Err(unknown());
        }
        let story = Story::fold(&entries).map_err(unrecorded)?;
        let theirs = story.actor.as_ref().is_some_and(|actor| *actor.tenant == *tenant);
        if theirs { Ok(story) } else { Err(unknown()) }
    }

    /// Adds a fact to a finished call, if the ledger has no newer entry about it.
    pub(crate) async fn add(&self, story: &Story, by: &Actor, event: Event) -> Result<(), Stop> {
        let key = story.tool_id.split('@').next().unwrap_or_default();
        let version = story.tool_version.as_ref();
        let draft = Draft {
            invocation: Some(story.invocation_id.clone()),
            actor: Some(by.clone()),
            subject: version.map(|version| format!("{key}@{version}")),
            facts: vec![Fact { at: self.clock.now(), phases: Vec::new(), event }],
            guards: story.entries.last().map(|last| Guard::Unchanged(*last)).into_iter().collect(),
            ..Draft::default()
        };
        self.store.append(draft, Wait::Disk).await.map(|_| ()).map_err(|fault| match fault {
            haft_ledger::Error::Forbidden(guard) => Stop::new(Code::Conflict, guard.objection())
                .help(format!("`haft trace {}` tells it all", story.invocation_id)),
            fault => unrecorded(fault),
        })
    }
}
