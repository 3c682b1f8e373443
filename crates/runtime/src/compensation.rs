//! Compensation: undoes a call by another call that is authorized and recorded like any other.
//!
//! INVARIANT: at most one compensation of a call is under way.

mod input;
mod outcome;

use std::borrow::Cow;
use std::sync::Arc;

use haft_ledger::Story;
use haft_model::{
    Actor, Approval, ApprovalClass, Call, Code, Compensating, EffectProfile, EffectState, Envelope,
    Event, InvocationId, Plan, Span, Stop, after,
};

use crate::context::CallContext;
use crate::people::may_change;
use crate::pipeline::Halt;
use crate::{CallOptions, Runtime, World};

/// The call that a compensation undoes.
pub(crate) struct CompensatedCall {
    /// Invocation id of the call to undo.
    original: InvocationId,
    /// The actor of the compensation.
    actor: Arc<Actor>,
    /// Approval that the original's contract requires, on top of the compensating tool's own.
    floor: Approval,
}

/// Compensating tool, input template and approval floor of a contract.
struct CompensationPlan {
    tool: String,
    input: serde_json::Value,
    floor: Approval,
}

impl Runtime {
    /// Compensates a call by another call that goes through every phase. Records nothing if the
    /// compensation cannot begin.
    pub async fn compensate(
        &self,
        id: &InvocationId,
        actor: &Actor,
        options: CallOptions<'_>,
    ) -> Result<Envelope, Stop> {
        let call = self.compensation(id, actor).await?;
        Ok(self.call(call, options).await)
    }

    /// The compensating call, as [`Runtime::compensate`] makes it.
    pub async fn compensation(&self, id: &InvocationId, actor: &Actor) -> Result<Call, Stop> {
        let story = self.caught_up(id, actor).await?;
        self.undoing_call(&self.world(), &story, actor).await.map(|(call, _)| call)
    }

    /// The compensating call and its approval floor.
    async fn undoing_call(
        &self,
        world: &World,
        story: &Story,
        actor: &Actor,
    ) -> Result<(Call, Approval), Stop> {
        allowed(story, actor)?;
        self.can_be_undone(story).await?;
        let way = self.way(world, story)?;
        let input = self.undoing_input(story, &way.input).await?;
        let mut call = Call::new(actor.clone(), way.tool, input);
        call.compensates = Some(story.invocation_id.clone());
        Ok((call, way.floor))
    }

    /// Refuses a call that is compensated, is being compensated, or has no effect to undo.
    async fn can_be_undone(&self, story: &Story) -> Result<(), Stop> {
        let id = &story.invocation_id;
        let refused = |words: String| Err(Stop::new(Code::Conflict, words));
        if let Some(by) = story.open_undoing() {
            return refused(format!("`{id}` is being undone by `{by}`"));
        }
        match story.effect_state {
            EffectState::Committed | EffectState::PartiallyCommitted => Ok(()),
            EffectState::CompensationFailed => self.known_to_have_failed(story).await,
            EffectState::Compensated => refused(format!("`{id}` was undone already")),
            EffectState::Unknown => {
                Err(Stop::new(Code::Conflict, format!("the effect of `{id}` is unknown"))
                    .help(format!("find out, and tell with `haft settle {id}`")))
            }
            EffectState::None
            | EffectState::NotSubmitted
            | EffectState::Submitted
            | EffectState::NotCommitted => {
                refused(format!("`{id}` has nothing to undo: its effect is {}", story.effect_state))
            }
        }
    }

    /// Refuses another compensation while the effect of the last one is unknown.
    async fn known_to_have_failed(&self, story: &Story) -> Result<(), Stop> {
        let Some(last) = story.undoings.last() else { return Ok(()) };
        let tenant = story.actor.as_ref().map(|actor| actor.tenant.to_string()).unwrap_or_default();
        let before = self.told(&last.by, &tenant).await?;
        if before.effect_state != EffectState::Unknown {
            return Ok(());
        }
        let by = &last.by;
        Err(Stop::new(Code::Conflict, format!("it is unknown whether `{by}` undid it"))
            .help(format!("find out, and tell with `haft settle {by}`")))
    }

    /// Compensation of the call by today's contract; fails where it states none or its window is
    /// over.
    fn way(&self, world: &World, story: &Story) -> Result<CompensationPlan, Stop> {
        let tool = &story.tool_id;
        let unable = |words: String| Stop::new(Code::Conflict, words);
        let entry = world.snapshot.find(tool).ok_or_else(|| world.snapshot.unknown(tool))?;
        let way = entry.contract.tool.extras.compensation.as_ref().ok_or_else(|| {
            unable(format!("`{tool}` does not say how a call of it is undone"))
                .help("add `metadata.haft.compensation` to its contract")
        })?;
        self.in_time(way.window, story)?;
        let floor = way.approval.clone().unwrap_or_default();
        Ok(CompensationPlan { tool: way.tool.clone(), input: way.input.clone(), floor })
    }

    /// Refuses a compensation after the window, counted from the end of the call.
    fn in_time(&self, window: Option<Span>, story: &Story) -> Result<(), Stop> {
        let until = story.ended_at.zip(window).and_then(|(end, window)| after(end, window));
        match until.filter(|until| self.clock.now() > *until) {
            Some(until) => {
                let words = format!("`{}` could be undone until {until}", story.invocation_id);
                Err(Stop::new(Code::Conflict, words))
            }
            None => Ok(()),
        }
    }

    /// The compensated call of a resumed compensation; `None` where it had not acquired the right.
    fn undoing_again(
        &self,
        world: &World,
        own: &InvocationId,
        actor: &Actor,
        story: &Story,
    ) -> Option<CompensatedCall> {
        if story.open_undoing() != Some(own) {
            return None;
        }
        // The contract no longer states a compensation, so a person has to approve.
        let strictest = Approval { class: ApprovalClass::Always, ..Approval::default() };
        let floor = self.way(world, story).map_or(strictest, |way| way.floor);
        let actor = Arc::new(actor.clone());
        Some(CompensatedCall { original: story.invocation_id.clone(), actor, floor })
    }
}

impl CallContext<'_> {
    /// Acquires the exclusive right to compensate a call. This call is recorded first, so that
    /// recovery finds it even if the process dies.
    pub(crate) async fn begin_undoing(&mut self, call: &Call) -> Result<(), Halt> {
        let Some(original) = &call.compensates else { return Ok(()) };
        let runtime = self.runtime;
        let story = runtime.caught_up(original, &call.actor).await?;
        let world = self.world.clone();
        let (identity, floor) = runtime.undoing_call(&world, &story, &call.actor).await?;
        let sent = call.sent.as_ref().map(|text| serde_json::from_str(text).unwrap_or_default());
        if identity.tool != call.tool
            || identity.input != sent.unwrap_or_else(|| call.input.clone())
        {
            let words = format!("the contract of `{original}` says something else about undoing");
            return Err(Stop::new(Code::Conflict, words)
                .help("leave it to `compensate` to make the call")
                .into());
        }
        self.recorder.claim(&runtime.options);
        self.recorder.save().await?;
        let by = self.recorder.id().clone();
        runtime.add(&story, &call.actor, Event::Compensating(Compensating { by })).await?;
        let (original, actor) = (original.clone(), call.actor.clone());
        self.compensating = Some(CompensatedCall { original, actor, floor });
        self.keep_secrets_of(&story).await;
        Ok(())
    }

    /// Restores the compensation of a resumed call, if it had acquired the right.
    pub(crate) async fn undo_on(
        &mut self,
        actor: &Actor,
        original: &InvocationId,
    ) -> Result<(), Stop> {
        let story = self.runtime.told(original, &actor.tenant).await?;
        let own = self.recorder.id();
        self.compensating = self.runtime.undoing_again(&self.world, own, actor, &story);
        self.keep_secrets_of(&story).await;
        Ok(())
    }

    /// Refuses a compensation whose window closed while it waited for approval or recovery.
    pub(crate) async fn still_in_time(&self) -> Result<(), Stop> {
        let Some(undoing) = &self.compensating else { return Ok(()) };
        let story = self.runtime.told(&undoing.original, &undoing.actor.tenant).await?;
        // A contract that is gone, or states no compensation any more, has no window.
        let entry = self.world.snapshot.find(&story.tool_id);
        match entry.and_then(|entry| entry.contract.tool.extras.compensation.as_ref()) {
            Some(way) => self.runtime.in_time(way.window, &story),
            None => Ok(()),
        }
    }

    /// Redacts the original's sensitive values here too, whatever the compensating tool's contract
    /// says.
    async fn keep_secrets_of(&mut self, story: &Story) {
        if let Some((places, input)) = self.runtime.secrets_of(&self.world, story).await {
            self.privacy.redactor.learn_of_another(&places, &input);
        }
    }

    /// The plan for authorization: a compensation requires at least the approval of the original's
    /// contract.
    pub(crate) fn judged_as<'p>(&self, plan: &'p Plan) -> Cow<'p, Plan> {
        let Some(undoing) = &self.compensating else { return Cow::Borrowed(plan) };
        let approval = plan.effects.approval.and(&undoing.floor);
        let effects = EffectProfile { approval, ..EffectProfile::clone(&plan.effects) };
        Cow::Owned(Plan { effects: Arc::new(effects), ..plan.clone() })
    }
}

/// Lets the call's own actor and people compensate it, unless they are auditors.
fn allowed(story: &Story, by: &Actor) -> Result<(), Stop> {
    may_change(by)?;
    let own = story.actor.as_ref().is_some_and(|actor| actor.id == by.id);
    if own || by.is_person() {
        return Ok(());
    }
    let whose = story.actor.as_ref().map(|actor| actor.id.to_string()).unwrap_or_default();
    let words = format!("`{}` may not undo what `{whose}` called", by.id);
    Err(Stop::new(Code::PermissionDenied, words))
}
