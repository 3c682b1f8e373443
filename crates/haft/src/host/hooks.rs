//! Hooks that haft.toml names and that nothing here can run: heard, they fail, and the call stops.

use haft_contract::settings::{Hook as Wished, HookEvent, HookTarget};
use haft_driver::{BoxFuture, Heard, Hook, HookAnswer};
use haft_model::{Glob, HookPoint, Plan};

/// A hook of haft.toml. What the workspace wants to be heard and cannot be is a no.
pub(super) struct UnheardHook {
    name: String,
    point: HookPoint,
    tools: Glob,
}

impl UnheardHook {
    pub(super) fn new(wished: &Wished) -> UnheardHook {
        let name = match &wished.target {
            HookTarget::Run(program) => program.join(" "),
            HookTarget::Url(url) => url.clone(),
        };
        let point = match wished.event {
            HookEvent::PreToolUse => HookPoint::PreToolUse,
            HookEvent::PostToolUse => HookPoint::PostToolUse,
            HookEvent::PostToolUseFailure => HookPoint::PostToolUseFailure,
            HookEvent::PermissionRequest => HookPoint::PermissionRequest,
            HookEvent::PermissionDecision => HookPoint::PermissionDecision,
            HookEvent::ResultPersistence => HookPoint::ResultPersistence,
        };
        UnheardHook { name, point, tools: Glob::new(&wished.tool) }
    }
}

impl Hook for UnheardHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn point(&self) -> HookPoint {
        self.point
    }

    fn concerns(&self, plan: &Plan) -> bool {
        self.tools.matches(plan.tool.id.as_str())
    }

    fn required(&self) -> bool {
        true
    }

    fn hear<'a>(&'a self, _: Heard<'a>) -> BoxFuture<'a, Result<HookAnswer, String>> {
        Box::pin(async { Err("programs and addresses cannot be asked by this version".to_owned()) })
    }
}
