//! Fallback to another driver: only for reads and unsent writes, and only if policy allows the
//! plan.

use std::time::Duration;

use haft_catalog::AvoidedDriver;
use haft_driver::{Failure, Output};
use haft_model::{Code, Decided, DriverId, EffectState, Event, HookPoint};
use tokio::time::Instant;

use crate::CallOptions;
use crate::context::CallContext;
use crate::permit::PermittedCall;

impl CallContext<'_> {
    /// Runs the call by one driver after another, within one deadline for all of them. Returns the
    /// outcome with the permit of the last driver.
    pub(super) async fn try_drivers(
        &mut self,
        mut permitted: PermittedCall,
        options: &CallOptions<'_>,
    ) -> (PermittedCall, Result<Output, Failure>) {
        let time = |permitted: &PermittedCall| {
            Instant::now() + Duration::from_millis(permitted.planned().plan.limits.timeout_ms)
        };
        let until = time(&permitted);
        self.recorder.runs_out(until);
        let mut tried = Vec::new();
        loop {
            let deadline = until.min(time(&permitted));
            let failure = match self.attempts(&permitted, options, deadline).await {
                Ok(output) => return (permitted, Ok(output)),
                Err(failure) => failure,
            };
            tried.push(permitted.planned().plan.route.driver.clone());
            let worth_it = Instant::now() < until && may_go_elsewhere(&permitted, &failure);
            let next = match worth_it {
                true => self.fall_back(&permitted, &tried).await,
                false => None,
            };
            let Some(next) = next else { return (permitted, Err(failure)) };
            if !self.another_fits(&next).await {
                return (permitted, Err(failure));
            }
            self.attempts.number += 1;
            permitted = next;
        }
    }

    /// Plans the call for a driver that was not tried yet. Policy evaluates it as a plan of its
    /// own.
    async fn fall_back(
        &mut self,
        permitted: &PermittedCall,
        tried: &[DriverId],
    ) -> Option<PermittedCall> {
        let world = self.world.clone();
        let tried = tried.iter().map(AvoidedDriver::tried).collect();
        let planned = self.plan_elsewhere(permitted.planned(), tried).ok()?;
        let opinions = permitted.opinions()?.to_vec();
        let decision = self.judged(&world, &planned, &opinions).await.ok()?;
        let next = self.permit(planned, &decision, opinions).ok()?;
        self.recorder.note(Event::PermissionDecided(Box::new(Decided {
            decision: decision.clone(),
            permission_input: next.call_input().clone(),
            call_input: Some(next.call_input().clone()),
            mutations: Vec::new(),
            question: None,
            expires_at: Some(next.permit().until()),
            driver_state: next.planned().plan.driver_state.clone(),
            mode: Decided::FALLBACK.to_owned(),
        })));
        let point = HookPoint::PermissionDecision;
        match self.notify_hooks(point, next.planned(), &decision).await.no {
            Some(_) => None,
            None => Some(next),
        }
    }
}

/// Whether the failure is the driver's and not the call's, and nothing was sent.
fn may_go_elsewhere(permitted: &PermittedCall, failure: &Failure) -> bool {
    let unsent = match permitted.planned().plan.effects.may_mutate() {
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
    unsent && of_the_driver && permitted.planned().call().pinned.is_none()
}
