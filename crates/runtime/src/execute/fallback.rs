//! Fallback to another driver: only for reads and unsent writes, and only if policy allows the
//! plan.

use std::time::Duration;

use haft_catalog::AvoidedDriver;
use haft_driver::{Failure, Output};
use haft_model::{Call, Code, Decided, DriverId, EffectState, Event, HookPoint, Verdict};
use haft_policy::Permit;
use tokio::time::Instant;

use crate::CallOptions;
use crate::approval::PermittedCall;
use crate::pipeline::CallPipeline;
use crate::plan::BoundPlan;
use crate::quota;
use crate::runtime::later;

impl CallPipeline<'_> {
    /// Runs the call by one driver after another, within one deadline for all of them.
    pub(super) async fn try_drivers(
        &mut self,
        call: &Call,
        mut permitted: PermittedCall,
        options: &CallOptions<'_>,
    ) -> Result<Output, Failure> {
        let time = |permitted: &PermittedCall| {
            Instant::now() + Duration::from_millis(permitted.planned.plan.limits.timeout_ms)
        };
        let until = time(&permitted);
        self.recorder.runs_out(until);
        let mut tried = Vec::new();
        loop {
            let failure =
                match self.attempts(&permitted, options, until.min(time(&permitted))).await {
                    Ok(output) => return Ok(output),
                    Err(failure) => failure,
                };
            tried.push(permitted.planned.plan.route.driver.clone());
            let worth_it = Instant::now() < until && may_go_elsewhere(call, &permitted, &failure);
            let next = match worth_it {
                true => self.fall_back(call, &permitted, &tried).await,
                false => None,
            };
            let Some(next) = next else { return Err(failure) };
            if !self.another_fits(&next).await {
                return Err(failure);
            }
            self.plan = Some(next.planned.plan.clone());
            self.attempt += 1;
            permitted = next;
        }
    }

    /// Plans the call for a driver that was not tried yet. Policy evaluates it as a plan of its
    /// own.
    async fn fall_back(
        &mut self,
        call: &Call,
        permitted: &PermittedCall,
        tried: &[DriverId],
    ) -> Option<PermittedCall> {
        let before = &permitted.planned;
        let world = self.world.clone();
        let input = before.plan.input.clone();
        let tried = tried.iter().map(AvoidedDriver::tried).collect();
        let outlook = self.routing_outlook(call, &before.entry, &input, tried);
        let planned = BoundPlan::of(&world, call, &before.entry, input, &outlook).ok()?;
        let heard = permitted.heard.clone()?;
        let decision = self.judged(&world, &planned, &heard).await.ok()?;
        if decision.verdict != Verdict::Allow {
            return None;
        }
        let until = later(self.recorder.now(), self.runtime.options.permit);
        let permit = Permit::of_decision(&decision, &planned.plan, self.recorder.id(), until)?;
        let let_through = quota::let_through(&world, &decision);
        let permission_input = self.keep(&planned.plan.input);
        self.recorder.note(Event::PermissionDecided(Box::new(Decided {
            decision: decision.clone(),
            permission_input,
            call_input: Some(permitted.call_input.clone()),
            mutations: Vec::new(),
            question: None,
            expires_at: Some(until),
            mode: Decided::FALLBACK.to_owned(),
        })));
        let told = self.notify_hooks(HookPoint::PermissionDecision, &planned, &decision).await;
        if told.no.is_some() {
            return None;
        }
        let call_input = permitted.call_input.clone();
        Some(PermittedCall { planned, permit, call_input, heard: Some(heard), let_through })
    }
}

/// Whether the failure is the driver's and not the call's, and nothing was sent.
fn may_go_elsewhere(call: &Call, permitted: &PermittedCall, failure: &Failure) -> bool {
    let unsent = match permitted.planned.plan.effects.may_mutate() {
        true => failure.effect == EffectState::NotSubmitted,
        false => true,
    };
    let of_the_driver = matches!(
        failure.stop.code,
        Code::DependencyUnavailable
            | Code::TimeoutBeforeSubmit
            // A write with this code is never unsent.
            | Code::TimeoutUnknownCommit
            | Code::RateLimited
            | Code::SetupRequired
            | Code::CredentialMissing
    );
    unsent && of_the_driver && call.pinned.is_none()
}
