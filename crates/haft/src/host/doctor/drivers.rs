//! Driver checks: whether each driver could serve a call of the actor now.

use haft_catalog::{AuthState, DriverState, Health, Probe};
use haft_model::{Actor, Timestamp};

use super::super::Host;
use super::{Degree, DoctorFinding};

impl Host {
    /// Asks programs for their versions and backends whether they work, and says how each driver is.
    pub(super) async fn drivers_examined(&self, actor: &Actor) -> Vec<DoctorFinding> {
        let (watch, drivers) = (self.watch(), self.workspace().drivers());
        let mut found = Vec::new();
        let unkept = |fault: &crate::Error| {
            let words = format!("what was seen cannot be put on record: {fault}");
            DoctorFinding::new("drivers", Degree::Broken, words)
        };
        for driver in &drivers {
            found.extend(watch.ask_version(driver).await.as_ref().err().map(unkept));
        }
        found.extend(self.probe(true).await.as_ref().err().map(unkept));
        for driver in &drivers {
            let state = watch.state(driver, None, actor, Timestamp::now()).await;
            let Some(state) = state else { continue };
            found.push(examined(driver.id.as_str(), &state));
        }
        found
    }
}

fn examined(driver: &str, state: &DriverState) -> DoctorFinding {
    let what = format!("driver {driver}");
    let Some((_, reason)) = state.objection(false) else {
        return DoctorFinding::new(what, Degree::Fine, known(state));
    };
    let found = DoctorFinding::new(what, Degree::Broken, reason);
    match state.mend() {
        Some(mend) => found.mended_by(mend),
        None => found,
    }
}

/// The favourable facts about a driver.
fn known(state: &DriverState) -> String {
    let program = (state.installed == Probe::Passed).then_some("its program is there");
    let version = (state.version == Probe::Passed).then_some("its version fits");
    let login = (state.auth == AuthState::LoggedIn).then_some("logged in");
    let health = matches!(state.health, Health::Passed(_)).then_some("its backend works");
    let known: Vec<&str> = [program, version, login, health].into_iter().flatten().collect();
    if known.is_empty() { "it declares nothing to look at".to_owned() } else { known.join(", ") }
}
