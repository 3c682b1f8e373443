//! Routing: the six phases of AIP-30 over drivers that claim a contract. Same question, same answer.

use std::borrow::Cow;

use haft_contract::Driver;
use haft_model::{
    AuthState, Cause, CauseDetail, Code, DriverId, DriverKind, Phase, RejectedDriver,
    RejectionReason, Route, Stop,
};
use serde_json::Value;

use crate::rank::Ranking;
use crate::snapshot::RoutingPolicy;
use crate::state::{DriverHost, DriverState, Mend, Outlook};
use crate::{Binding, CatalogEntry};

/// A driver that routing skips for this call, whatever the snapshot knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvoidedDriver {
    /// The driver's id.
    pub driver: DriverId,
    /// The kind of reason: already tried, or an open circuit breaker.
    pub why: RejectionReason,
    /// The reason in words.
    pub reason: String,
}

impl AvoidedDriver {
    /// Skips a driver that already failed this very call.
    pub fn tried(driver: &DriverId) -> AvoidedDriver {
        let reason = "it was tried, and could not".to_owned();
        AvoidedDriver { driver: driver.clone(), why: RejectionReason::Tried, reason }
    }
}

/// The inputs of routing.
pub(crate) struct Question<'e, 'c> {
    pub(crate) entry: &'e CatalogEntry,
    pub(crate) input: &'c Value,
    pub(crate) pinned: Option<&'c DriverId>,
    pub(crate) outlook: &'c Outlook,
    pub(crate) region: &'c [String],
    pub(crate) policy: &'c RoutingPolicy,
    pub(crate) host: &'c DriverHost,
}

impl<'e> Question<'e, '_> {
    /// The driver that serves the call, and why not the others; or why none does.
    pub(crate) fn answer(&self) -> Result<(&'e Binding, Route), Stop> {
        let mut rejected = Vec::new();
        let mut standing: Vec<&'e Binding> = Vec::with_capacity(self.entry.bindings.len());
        for binding in &self.entry.bindings {
            match self.objection(binding) {
                Some(objection) => rejected.push(objection),
                None => standing.push(binding),
            }
        }
        if let Some(pinned) = self.pinned {
            standing.retain(|binding| {
                let stays = binding.driver.id == *pinned;
                if !stays {
                    rejected.push(reject(
                        binding,
                        Phase::Pin,
                        RejectionReason::Pin,
                        "the call insists on another",
                    ));
                }
                stays
            });
        }
        let ranking = self.ranking(&standing);
        let Some(best) = ranking.best(&standing) else {
            return Err(self.refusal(rejected));
        };
        let reason = match self.pinned {
            Some(_) => "the call insists on it",
            None => ranking.why_first(best, standing.len()),
        };
        for binding in standing.iter().filter(|binding| binding.driver.id != best.driver.id) {
            let reason = ranking.why_not(best, binding);
            rejected.push(reject(binding, Phase::Rank, RejectionReason::Rank, reason));
        }
        Ok((best, Route { driver: best.driver.id.clone(), reason, rejected }))
    }

    /// Phases one to three: the first reason why a driver is out.
    fn objection(&self, binding: &Binding) -> Option<RejectedDriver> {
        self.not_a_candidate(binding)
            .or_else(|| self.not_capable(binding))
            .or_else(|| self.not_allowed(binding))
    }

    fn not_a_candidate(&self, binding: &Binding) -> Option<RejectedDriver> {
        let out = |why, reason: String| Some(reject(binding, Phase::Candidates, why, reason));
        let tool = &self.entry.contract.tool;
        let kind = binding.driver.kind;
        if let Some(reason) = &binding.refused {
            return out(RejectionReason::Binding, reason.clone());
        }
        if tool.forbid.contains(&kind) {
            return out(
                RejectionReason::Kind,
                format!("the contract forbids drivers of kind {kind}"),
            );
        }
        if !tool.require_kind.is_empty() && !tool.require_kind.contains(&kind) {
            return out(
                RejectionReason::Kind,
                format!("the contract wants {}", kinds(&tool.require_kind)),
            );
        }
        let dropped = binding.dropped(self.input);
        if !dropped.is_empty() {
            return out(
                RejectionReason::Narrowing,
                format!("the driver does not take `{}`", dropped.join("`, `")),
            );
        }
        None
    }

    fn not_capable(&self, binding: &Binding) -> Option<RejectedDriver> {
        let out = |why, reason: String| Some(reject(binding, Phase::Capability, why, reason));
        let driver = &binding.driver;
        if !driver.os.is_empty() && !driver.os.iter().any(|os| os == self.host.os) {
            return out(
                RejectionReason::Machine,
                format!("it runs on {}, not on {}", driver.os.join(", "), self.host.os),
            );
        }
        if !driver.arch.is_empty() && !driver.arch.iter().any(|arch| arch == self.host.arch) {
            return out(
                RejectionReason::Machine,
                format!("it runs on {}, not on {}", driver.arch.join(", "), self.host.arch),
            );
        }
        if let Some(host) = driver.host_id.as_ref().filter(|_| driver.kind == DriverKind::Builtin)
            && host != self.host.id
        {
            return out(
                RejectionReason::Host,
                format!("it is built into `{host}`, and this is `{}`", self.host.id),
            );
        }
        if let Some(avoided) = self.outlook.avoid.iter().find(|avoided| avoided.driver == driver.id)
        {
            return out(avoided.why, avoided.reason.clone());
        }
        let state = self.state(driver)?;
        let (why, reason) = state.objection(self.pinned.is_some())?;
        out(why, reason)
    }

    fn not_allowed(&self, binding: &Binding) -> Option<RejectedDriver> {
        let out = |why, reason: String| Some(reject(binding, Phase::Policy, why, reason));
        let driver = &binding.driver;
        let RoutingPolicy { allowed_tags, denied_tags, region, global_matches } = self.policy;
        if let Some(denied) = driver.policy_tags.iter().find(|tag| denied_tags.contains(tag)) {
            return out(
                RejectionReason::Tags,
                format!("the workspace forbids drivers tagged `{denied}`"),
            );
        }
        if !allowed_tags.is_empty()
            && !driver.policy_tags.iter().any(|tag| allowed_tags.contains(tag))
        {
            return out(
                RejectionReason::Tags,
                format!("it has none of the tags {}", allowed_tags.join(", ")),
            );
        }
        let serves = |wanted: &[String]| {
            wanted.is_empty()
                || driver
                    .region
                    .iter()
                    .any(|own| wanted.contains(own) || (*global_matches && own == "global"))
        };
        for wanted in [region.as_slice(), self.region] {
            if !serves(wanted) {
                let (own, wanted) = (driver.region.join(", "), wanted.join(", "));
                return out(
                    RejectionReason::Region,
                    format!("it serves {own}, and the call must stay in {wanted}"),
                );
            }
        }
        None
    }

    fn ranking(&self, standing: &[&Binding]) -> Ranking<'_> {
        let preferred = self.entry.contract.tool.default_implementation.as_ref();
        Ranking::among(standing, preferred, &self.outlook.states)
    }

    fn state(&self, driver: &Driver) -> Option<&DriverState> {
        self.outlook.states.get(&driver.id)
    }

    /// The claim that would come first if nothing stood in its way.
    fn foremost(&self) -> Option<&'e Binding> {
        let claims: Vec<&Binding> = self.entry.bindings.iter().collect();
        self.ranking(&claims).best(&claims)
    }

    /// Why there is no driver: as exact as the rejections agree on.
    fn refusal(&self, rejected: Vec<RejectedDriver>) -> Stop {
        let all = |whys: &[RejectionReason]| {
            !rejected.is_empty() && rejected.iter().all(|other| whys.contains(&other.why))
        };
        let only = |why| all(&[why]);
        let stop = match self.pinned {
            Some(pinned) => self.pin_fails(pinned, &rejected),
            None if only(RejectionReason::Auth) => self.login_needed(self.foremost()),
            None if all(&[RejectionReason::Install, RejectionReason::Version]) => {
                self.setup_needed(self.foremost())
            }
            None if only(RejectionReason::Narrowing) => self.input_unsupported(&rejected),
            None if all(&[RejectionReason::Rest, RejectionReason::Health]) => {
                nobody_answers(&rejected)
            }
            None => {
                self.no_route(&rejected).because(CauseDetail::Region(only(RejectionReason::Region)))
            }
        };
        stop.without(rejected)
    }

    fn pin_fails(&self, pinned: &DriverId, rejected: &[RejectedDriver]) -> Stop {
        let found = rejected.iter().find(|other| other.driver == *pinned);
        let why = found.map_or("it does not claim this tool", |other| &*other.reason);
        let code = found.map_or(Code::RoutePinUnavailable, |other| pin_code(other.why));
        let tool = self.entry.contract.key();
        let claim = self.entry.bindings.iter().find(|claim| claim.driver.id == *pinned);
        let mend = claim.and_then(|claim| self.state(&claim.driver)?.mend());
        let help = mend.map(|mend| format!("run `{mend}`, or lift the pin"));
        let stop = Stop::new(code, format!("`{pinned}` cannot serve `{tool}`: {why}")).help(
            help.unwrap_or_else(|| "lift the pin to let another driver serve the call".to_owned()),
        );
        match claim.filter(|_| code == Code::CredentialMissing) {
            Some(claim) => stop.because(self.login(&claim.driver)),
            None => stop,
        }
    }

    fn input_unsupported(&self, rejected: &[RejectedDriver]) -> Stop {
        let tool = self.entry.contract.key();
        let reason = rejected.first().map(|other| &*other.reason).unwrap_or_default();
        let dropped = self.entry.bindings.first().map(|binding| binding.dropped(self.input));
        let field = dropped.and_then(|names| names.first().map(|name| format!("/{name}")));
        Stop::new(Code::InputUnsupported, format!("no driver of `{tool}` takes it all: {reason}"))
            .at(field.unwrap_or_default())
            .help("leave the input out")
    }

    fn no_route(&self, rejected: &[RejectedDriver]) -> Stop {
        let tool = self.entry.contract.key();
        let (message, help) = match rejected {
            [] => (
                format!("no driver claims `{tool}`"),
                format!("write a DRIVER.md whose `implements` names `{}`", tool.id),
            ),
            [only] => (
                format!("`{}` claims `{tool}` and cannot serve it: {}", only.driver, only.reason),
                "mend the driver, or add another".into(),
            ),
            many => (
                format!("{} drivers claim `{tool}` and none can serve it", many.len()),
                "each rejected driver says what stands in its way".into(),
            ),
        };
        Stop::new(Code::RouteNone, message).help(help)
    }

    /// Whose login would do: the driver that would serve the call.
    fn login_needed(&self, claim: Option<&Binding>) -> Stop {
        let Some(driver) = claim.map(|claim| &claim.driver) else {
            return Stop::new(Code::CredentialMissing, "the caller is not logged in");
        };
        let tool = self.entry.contract.key();
        let words = match self.state(driver) {
            Some(DriverState { auth: AuthState::Expired, .. }) => {
                format!("the login of `{}`, which serves `{tool}`, has run out", driver.id)
            }
            // Where the driver only takes a secret, no login flow exists.
            Some(DriverState { login: Some(Mend { why, run }), .. })
                if !run.starts_with("haft login") =>
            {
                format!("`{}` cannot serve `{tool}` yet: {why}", driver.id)
            }
            Some(_) | None => {
                format!("`{}` cannot serve `{tool}` yet: the caller is not logged in", driver.id)
            }
        };
        let stop = Stop::new(Code::CredentialMissing, words).because(self.login(driver));
        self.mended(driver, stop)
    }

    /// The refusal for a missing setup, of the driver that would serve the call.
    fn setup_needed(&self, claim: Option<&Binding>) -> Stop {
        let Some(driver) = claim.map(|claim| &claim.driver) else {
            return Stop::new(Code::SetupRequired, "no driver is set up");
        };
        let tool = self.entry.contract.key();
        let state = self.state(driver);
        let why = state.and_then(|state| state.objection(true)).map(|(_, reason)| reason);
        let words =
            format!("`{}` cannot serve `{tool}` yet: {}", driver.id, why.unwrap_or_default());
        self.mended(driver, Stop::new(Code::SetupRequired, words))
    }

    /// The refusal with the command that mends it, where one is known.
    fn mended(&self, driver: &Driver, stop: Stop) -> Stop {
        match self.state(driver).and_then(DriverState::mend) {
            Some(mend) => stop.help(format!("run `{mend}`")),
            None => stop,
        }
    }

    /// The login of a driver, as a cause.
    fn login(&self, driver: &Driver) -> Cause {
        let auth = driver.auth.clone().unwrap_or_default();
        let state = self.state(driver).map(|state| state.auth);
        Cause::from([
            CauseDetail::Driver(driver.id.clone()),
            CauseDetail::LoginMethod(auth.login.unwrap_or_default()),
            CauseDetail::Env(auth.env),
            CauseDetail::State(state),
        ])
    }
}

/// The refusal where no backend of any eligible driver works.
fn nobody_answers(rejected: &[RejectedDriver]) -> Stop {
    let first = rejected.first();
    let reason = first.map(|other| format!("driver `{}`: {}", other.driver, other.reason));
    let stop = Stop::new(Code::DependencyUnavailable, reason.unwrap_or_default());
    match rejected.iter().any(|other| other.why == RejectionReason::Rest) {
        true => stop.help("try again later, or insist on the driver to try it now"),
        false => stop.help("`haft doctor` looks again"),
    }
}

/// The error code of a pinned driver that cannot serve the call.
fn pin_code(why: RejectionReason) -> Code {
    match why {
        RejectionReason::Tags => Code::RoutePolicy,
        RejectionReason::Region => Code::RouteRegion,
        RejectionReason::Auth => Code::CredentialMissing,
        RejectionReason::Install | RejectionReason::Version => Code::SetupRequired,
        RejectionReason::Narrowing => Code::InputUnsupported,
        RejectionReason::Binding
        | RejectionReason::Kind
        | RejectionReason::Machine
        | RejectionReason::Host
        | RejectionReason::Tried
        | RejectionReason::Health
        | RejectionReason::Rest
        | RejectionReason::Pin
        | RejectionReason::Rank => Code::RoutePinUnavailable,
    }
}

fn reject(
    binding: &Binding,
    phase: Phase,
    why: RejectionReason,
    reason: impl Into<Cow<'static, str>>,
) -> RejectedDriver {
    RejectedDriver { driver: binding.driver.id.clone(), phase, why, reason: reason.into() }
}

fn kinds(kinds: &[DriverKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    format!("drivers of kind {}", names.join(" or "))
}
