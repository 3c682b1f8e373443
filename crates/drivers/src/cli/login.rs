//! Credential injection: hands secrets to a program in its environment, or as files in memory.

use std::collections::BTreeMap;

use haft_driver::{Failure, Safe};
use haft_model::{Code, Secret};
use haft_sandbox::SecretFile;

use super::command::Command;

/// The secrets that were opened for a program.
#[derive(Default)]
pub(super) struct OpenedCredentials {
    pub(super) env: BTreeMap<String, Secret>,
    pub(super) handed: Vec<SecretFile>,
}

/// Opens the secrets of a command. One of its login variables must be there, unless the program
/// keeps its login in its own file; every secret file must be there.
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

/// Whether a secret is absent for this call; every other failure is a real one.
fn is_closed(failure: &Failure) -> bool {
    matches!(failure.stop.code, Code::CredentialMissing | Code::PermissionDenied)
}
