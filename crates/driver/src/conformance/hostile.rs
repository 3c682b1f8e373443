//! Hostile backends: checks that a driver fails safely when its backend lies, hangs, floods or
//! disconnects.

use std::sync::Arc;
use std::time::Duration;

use haft_model::{Code, Secret, Stop};
use serde_json::Value;

use super::round::{Round, RoundReport, SubmitReply, carry_out};
use super::{Breach, ConformanceCase, SOON, judge, too_large};
use crate::{BoxFuture, Driver, Failure, OpenedSecret, Output, SecretRequest, Vault, Withheld};

/// Default deadline of a hostile case.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Polling interval for leftovers.
const LOOK: Duration = Duration::from_millis(10);

/// Behaviour of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ill {
    /// Correct.
    Well,
    /// Contradicts itself: a wrong length, an end that never comes.
    Lies,
    /// Never answers.
    Hangs,
    /// Answers without end.
    Floods,
    /// Disconnects before its answer is complete.
    ClosesEarly,
    /// Answers in a format that was not agreed.
    WrongType,
}

/// A case with a hostile backend; builder methods set the rest.
#[derive(Clone, Copy)]
pub struct Hostile<'a> {
    case: ConformanceCase<'a>,
    ill: Ill,
    secrets: &'a [(&'a str, &'a str)],
    echoes: bool,
    promised: Option<&'a (dyn Fn(&Value) -> bool + Sync)>,
    left: Option<&'a (dyn Fn() -> usize + Sync)>,
    patience: Duration,
}

impl<'a> Hostile<'a> {
    /// A case, with the behaviour of its backend.
    pub fn new(case: ConformanceCase<'a>, ill: Ill) -> Hostile<'a> {
        Hostile {
            case,
            ill,
            secrets: &[],
            echoes: false,
            promised: None,
            left: None,
            patience: PATIENCE,
        }
    }

    /// Secrets that the driver can open, by name and value.
    pub fn with_secrets(self, secrets: &'a [(&'a str, &'a str)]) -> Hostile<'a> {
        Hostile { secrets, ..self }
    }

    /// The backend echoes its request with the secrets; redaction is the runtime's task, so that is
    /// no breach.
    pub fn whose_backend_echoes(self) -> Hostile<'a> {
        Hostile { echoes: true, ..self }
    }

    /// Predicate that every output has to fulfil.
    pub fn promising(self, promised: &'a (dyn Fn(&Value) -> bool + Sync)) -> Hostile<'a> {
        Hostile { promised: Some(promised), ..self }
    }

    /// Counts leftovers that must not grow: processes, open files, files in a folder. See
    /// [`super::left`].
    pub fn leaving_nothing_of(self, left: &'a (dyn Fn() -> usize + Sync)) -> Hostile<'a> {
        Hostile { left: Some(left), ..self }
    }

    /// Deadline of the case.
    pub fn within(self, patience: Duration) -> Hostile<'a> {
        Hostile { patience, ..self }
    }

    fn vault(&self) -> Arc<dyn Vault> {
        let secrets = self.secrets.iter();
        let secrets = secrets.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Arc::new(CaseSecrets(secrets.collect()))
    }
}

/// Vault with the secrets of a case.
struct CaseSecrets(Vec<(String, String)>);

impl Vault for CaseSecrets {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let slug = asked.name.to_owned();
        let found = self.0.iter().find(|(name, _)| name == asked.name);
        let opened = match found {
            Some((_, value)) => Ok(OpenedSecret { slug, value: Secret::new(value.clone()) }),
            None => {
                let stop = Stop::new(Code::CredentialMissing, format!("`{slug}` is not there"));
                Err(Withheld { slug, stop })
            }
        };
        Box::pin(std::future::ready(opened))
    }
}

/// Checks a driver's obligations with hostile backends and lists the breaches.
///
/// - The driver ends in time, does not panic, and fails with a code that fits.
/// - No message and no result contains a secret, unless the backend echoed it.
/// - Every native id names its source.
/// - The output is no larger than the case allows and fulfils its predicate.
/// - No process, file or descriptor is left behind.
pub async fn hardened(driver: &dyn Driver, cases: &[Hostile<'_>]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for hostile in cases {
        let before = hostile.left.map(|left| left());
        let round =
            Round { answer: SubmitReply::Recorded, cancel: None, deadline: hostile.patience };
        let seen = carry_out(driver, &hostile.case, round, Some(hostile.vault())).await;
        let mut found = judge(driver, &hostile.case, round, &seen);
        found.extend(outcome(hostile, &seen));
        found.extend(nameless(&seen));
        found.extend(secrets_in(hostile, &seen));
        found.extend(left_behind(hostile, before).await);
        breaches.extend(found.into_iter().map(|what| Breach {
            case: hostile.case.name.to_owned(),
            round: hostile.ill.name(),
            what,
        }));
    }
    breaches
}

impl Ill {
    fn name(self) -> &'static str {
        match self {
            Ill::Well => "behaves",
            Ill::Lies => "lies",
            Ill::Hangs => "hangs",
            Ill::Floods => "floods",
            Ill::ClosesEarly => "closes early",
            Ill::WrongType => "is of the wrong type",
        }
    }

    /// Error codes that fit the behaviour.
    fn codes(self) -> &'static [Code] {
        match self {
            Ill::Well => &[],
            Ill::Hangs => &[
                Code::TimeoutBeforeSubmit,
                Code::TimeoutUnknownCommit,
                Code::DependencyUnavailable,
                Code::OutputInvalid,
            ],
            Ill::Floods => &[Code::ResultTooLarge, Code::OutputInvalid, Code::ExecutionFailed],
            Ill::Lies => &[
                Code::OutputInvalid,
                Code::ExecutionFailed,
                Code::DependencyUnavailable,
                Code::TimeoutBeforeSubmit,
                Code::TimeoutUnknownCommit,
                Code::ResultTooLarge,
            ],
            Ill::ClosesEarly => {
                &[Code::DependencyUnavailable, Code::ExecutionFailed, Code::OutputInvalid]
            }
            Ill::WrongType => &[Code::OutputInvalid, Code::ExecutionFailed],
        }
    }

    /// Returns true if an output is acceptable: truncated output is output, and a lie may be
    /// harmless.
    fn may_come_out(self) -> bool {
        match self {
            Ill::Well | Ill::Lies | Ill::Floods => true,
            Ill::Hangs | Ill::ClosesEarly | Ill::WrongType => false,
        }
    }
}

/// Reports an output or an error code that does not fit the behaviour.
fn outcome(hostile: &Hostile<'_>, seen: &RoundReport) -> Option<String> {
    match seen.result.as_ref()? {
        Ok(output) => came_out(hostile, output),
        Err(Failure { stop, .. }) => {
            let fits = hostile.ill.codes().contains(&stop.code);
            let (code, ill) = (stop.code, hostile.ill.name());
            (!fits).then(|| format!("its backend {ill}, and it fails with `{code}`"))
        }
    }
}

fn came_out(hostile: &Hostile<'_>, output: &Output) -> Option<String> {
    if !hostile.ill.may_come_out() {
        return Some(format!("its backend {}, and something came out", hostile.ill.name()));
    }
    let value = output.structured.as_ref();
    let broken = hostile.promised.is_some_and(|promised| !value.is_some_and(promised));
    match broken {
        true => Some("what came out is not what was promised".to_owned()),
        false => too_large(output, hostile.case.most_bytes),
    }
}

/// Reports a native id without a `source`.
fn nameless(seen: &RoundReport) -> Option<String> {
    let native = match seen.result.as_ref()? {
        Ok(output) => &output.native,
        Err(failure) => &failure.native,
    };
    let source = |native: &Value| native.get("source").and_then(Value::as_str).map(str::is_empty);
    let nameless = native.iter().find(|native| source(native) != Some(false))?;
    Some(format!("`{nameless}` does not say where it is from"))
}

fn secrets_in(hostile: &Hostile<'_>, seen: &RoundReport) -> Option<String> {
    if hostile.echoes {
        return None;
    }
    let ended = format!("{:?}", seen.result);
    let said = seen.said.iter().chain([&ended]);
    let shows = |value: &str| said.clone().any(|text| text.contains(value));
    let (name, _) = hostile.secrets.iter().find(|(_, value)| shows(value))?;
    Some(format!("it shows the secret `{name}`"))
}

async fn left_behind(hostile: &Hostile<'_>, before: Option<usize>) -> Option<String> {
    let (left, before) = (hostile.left?, before?);
    let mut waited = Duration::ZERO;
    while left() > before && waited < SOON {
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    let more = left().saturating_sub(before);
    (more > 0).then(|| format!("it left {more} behind"))
}
