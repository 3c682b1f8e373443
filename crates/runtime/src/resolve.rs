//! Resolution (phases 1 and 3): finds the tool on the caller's surface and checks that its schema is
//! loaded.

use std::sync::Arc;

use haft_catalog::{CatalogEntry, Viewer};
use haft_model::{
    Call, CallPhase, CauseDetail, Code, Digest, Event, Planned, Selected, Stop, Tier, ToolKey,
    settle_numbers, utc_day,
};
use serde_json::Value;

use crate::background;
use crate::context::CallContext;
use crate::inputs::Discretion;
use crate::pipeline::{Reached, StoppedCall};
use crate::surface_state::Ground;
use crate::{CallOptions, Runtime};

/// A call whose tool is on the caller's surface.
pub struct ResolvedCall {
    call: Arc<Call>,
    entry: Arc<CatalogEntry>,
    received: ReceivedInput,
}

/// The caller's input as a value, and the digest of its bytes.
pub(crate) struct ReceivedInput {
    pub(crate) value: Value,
    pub(crate) digest: Digest,
}

impl ResolvedCall {
    /// Records the call, and resolves its tool for this caller.
    pub fn resolve(
        call: Arc<Call>,
        context: &mut CallContext<'_>,
        options: &CallOptions<'_>,
    ) -> Result<ResolvedCall, StoppedCall> {
        let today = utc_day(context.recorder.now());
        let world = context.world.clone();
        let viewer = Viewer { actor: &call.actor, within: options.surface.as_slice() };
        let ground = context.runtime.ground(&world, &viewer);
        let received = context.record_received(&call, &ground);
        let found = ground.surface.find(&call.tool, &world.snapshot);
        let found = found.and_then(|_| world.snapshot.select(&call.tool, today)).cloned();
        let admitted = found.as_ref().ok().map(|entry| ground.admit(entry, &world.snapshot, today));
        let found = found.and_then(|entry| match &admitted {
            Some(Err(stop)) if stop.code == Code::ToolBlocked => Err(stop.clone()),
            _ => Ok(entry),
        });
        let entry = context.recorder.phase_of(CallPhase::ResolveTool, found);
        let entry = entry.map_err(|stop| Reached::default().stopped(stop))?;
        let key = entry.contract.key().clone();
        context.recorder.about(format!("{}@{}", key.id, entry.contract.tool.version));
        context.recorder.note(Event::Selected(selected(&entry, &key, &call.tool)));
        // Status queries and compensations take the schema from the runtime, not from the surface.
        let of_ours = context.request.nested || call.compensates.is_some();
        let loaded = admitted.filter(|_| !of_ours).unwrap_or(Ok(()));
        let loaded = loaded.and_then(|()| within_reach(&entry, options.tier));
        let loaded = loaded.and_then(|()| background::is_for(&entry, options));
        let resolved = ResolvedCall { call, entry, received };
        match context.recorder.phase_of(CallPhase::SchemaGate, loaded) {
            Ok(()) => Ok(resolved),
            Err(stop) => Err(resolved.reached().stopped(stop)),
        }
    }

    pub(crate) fn into_parts(self) -> (Arc<Call>, Arc<CatalogEntry>, ReceivedInput) {
        (self.call, self.entry, self.received)
    }

    pub(crate) fn entry(&self) -> &Arc<CatalogEntry> {
        &self.entry
    }

    pub(crate) fn reached(&self) -> Reached {
        Reached { entry: Some(self.entry.clone()), ..Reached::default() }
    }
}

impl Runtime {
    /// A call by the tool's key where it came by a wire name or a backend's own name. Those depend on
    /// the other tools, and recovery looks the tool up again after files changed.
    pub(crate) fn keyed(&self, call: Call, within: &[String]) -> Call {
        let world = self.world();
        if world.snapshot.find(&call.tool).is_some() {
            return call;
        }
        let ground = self.ground(&world, &Viewer { actor: &call.actor, within });
        match ground.surface.find(&call.tool, &world.snapshot) {
            Ok(entry) => Call { tool: entry.contract.key().to_string(), ..call },
            Err(_) => call,
        }
    }
}

impl CallContext<'_> {
    /// Records the first event of the call.
    fn record_received(&mut self, call: &Call, ground: &Ground) -> ReceivedInput {
        let (mut value, bytes) = match &call.sent {
            Some(text) => {
                (serde_json::from_str(text).unwrap_or_default(), text.clone().into_bytes())
            }
            None => (call.input.clone(), serde_json::to_vec(&call.input).unwrap_or_default()),
        };
        // A number without an exact form stays as it is; validation refuses the call for it.
        let _ = settle_numbers(&mut value);
        self.privacy.redactor.learn(&value);
        let model_input = self.keep_bytes(self.privacy.discretion.keep(&value, bytes));
        let received = ReceivedInput { value, digest: model_input.digest.clone() };
        let has_context = call.context.as_object().is_none_or(|fields| !fields.is_empty());
        let context = has_context.then(|| {
            let kept = Discretion::of_a_stranger().keep_value(&call.context);
            self.recorder.keep(kept)
        });
        self.recorder.note(Event::Planned(Box::new(Planned {
            requested: call.tool.clone(),
            actor: haft_model::Actor::clone(&call.actor),
            surface: ground.surface.id.clone(),
            revision: ground.revision,
            model_input,
            context,
            pinned: call.pinned.clone(),
            region: call.region.clone(),
            native: call.native.clone(),
            channel: call.channel.to_owned(),
            key: call.key.clone(),
            parent: call.parent.clone(),
            compensates: call.compensates.clone(),
            batch: call.batch.clone(),
        })));
        received
    }
}

fn selected(entry: &CatalogEntry, key: &ToolKey, requested: &str) -> Selected {
    let (name, _) = ToolKey::split(requested);
    Selected {
        tool: key.to_string(),
        version: entry.contract.tool.version.to_string(),
        matched_by: if name == key.id.as_str() { "id" } else { "alias" }.to_owned(),
        grant: entry.contract.grant_key(),
    }
}

/// Refuses a tool whose tier is higher than the entry point allows.
fn within_reach(entry: &CatalogEntry, most: Option<Tier>) -> Result<(), Stop> {
    let (key, needs) = (entry.contract.key(), Tier::of(&entry.contract.effects));
    match most {
        Some(most) if needs > most => {
            let words = format!("`{key}` is {}, and this way of calling takes less", needs.about());
            let stop = Stop::new(Code::InputValue, words).help(format!("use `{}`", needs.way()));
            let reason = CauseDetail::Reason("wrong_tier".to_owned());
            Err(stop.because([reason, CauseDetail::Tier(needs)]))
        }
        Some(_) | None => Ok(()),
    }
}
