//! The secrets that a program gets: in its environment, or as files that are on no disk.

use std::collections::BTreeMap;

use haft_driver::{Failure, Safe};
use haft_model::{Code, Secret};
use haft_sandbox::SecretFile;

use super::command::Command;

/// What was opened for a program.
#[derive(Default)]
pub(super) struct OpenedCredentials {
    pub(super) env: BTreeMap<String, Secret>,
    pub(super) handed: Vec<SecretFile>,
}

/// Opens what a command needs. Of the variables that may hold a login one has to be there, unless
/// the program keeps a login in a file of its own; a file that is handed over has to be.
pub(super) async fn open(
    command: &Command,
    kept_by_program: bool,
    safe: &Safe<'_>,
) -> Result<OpenedCredentials, Failure> {
    let mut login = OpenedCredentials::default();
    let mut missing = None;
    for name in &command.login {
        match safe.open(name).await {
            Ok(secret) => {
                login.env.insert(name.clone(), secret);
            }
            Err(failure) if is_closed(&failure) => {
                missing.get_or_insert(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    match missing {
        Some(failure) if login.env.is_empty() && !kept_by_program => return Err(failure),
        Some(_) | None => {}
    }
    for (variable, name) in &command.secret_files {
        let value = safe.open(name).await?;
        login.handed.push(SecretFile { name: variable.clone(), value });
    }
    Ok(login)
}

/// Whether a secret is not there for this call; anything else went wrong on the way.
fn is_closed(failure: &Failure) -> bool {
    matches!(failure.stop.code, Code::CredentialMissing | Code::PermissionDenied)
}
