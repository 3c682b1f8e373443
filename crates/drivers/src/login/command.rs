//! Logging in by a command of the driver, confined like everything else that it runs.

use std::time::{Duration, Instant};

use haft_model::{Code, Stop};
use haft_sandbox::{AddressGuard, End, Refused};
use serde_json::Value;

use super::{CompletesWhen, Reason, failed};
use crate::Place;
use crate::opening::{Opening, looking};
use crate::web::form;
use crate::words;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command of a driver that has to do with its login.
pub struct Program<'a> {
    /// The manifest of the driver, which says what the command may touch.
    pub manifest: &'a Value,
    /// Where it runs.
    pub place: &'a Place,
}

impl Program<'_> {
    /// Runs a command and gives the code with which it ended. It sees what the driver declares, may
    /// write where the driver keeps its login, and reaches the hosts of the driver.
    pub async fn run(&self, command: &str) -> Result<i32, Stop> {
        let words = words::split(command, self.place.variable);
        let words = words.map_err(|why| failed(Reason::Upstream, format!("`{command}`: {why}")))?;
        let mut words = words.into_iter();
        let program =
            words.next().ok_or_else(|| failed(Reason::Upstream, "the command is empty"))?;
        // No contract narrows a login: the driver's own declarations are all there is.
        let opening = Opening::within(self.manifest, &looking(["*".to_owned()]), self.place)?;
        let confined = opening.confined(&program, words.collect(), self.place);
        let ended =
            confined.run(&self.place.walls, Instant::now() + PATIENCE, std::future::pending());
        let ended = ended.await.map_err(|refused: Refused| {
            Stop::new(Code::SetupRequired, format!("`{command}` cannot be run: {refused}"))
        })?;
        match ended.end {
            End::Exited(code) => Ok(code),
            End::Killed(signal) => {
                Err(failed(Reason::Upstream, format!("`{command}` was ended by signal {signal}")))
            }
            End::OutOfTime | End::CalledOff => {
                let words = format!("`{command}` took longer than {} seconds", PATIENCE.as_secs());
                Err(failed(Reason::Expired, words))
            }
        }
    }
}

impl CompletesWhen {
    /// Whether somebody is logged in, as the driver wants it found out.
    pub async fn holds(&self, program: &Program<'_>, guard: &AddressGuard) -> Result<bool, Stop> {
        if let Some(command) = &self.cmd {
            return Ok(program.run(command).await? == self.exit_code);
        }
        match &self.http {
            Some(asks) => {
                let said = form::get(guard, &asks.url).await?;
                Ok(asks.expect_status.map_or(said.is_success(), |status| said.status == status))
            }
            None => Ok(true),
        }
    }
}
