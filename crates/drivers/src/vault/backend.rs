//! Secret backends: looks up a value in the encrypted store, an environment variable, a private
//! file or the keyring.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use haft_model::{Code, Secret, Stop};

use super::encrypted_store::Strongbox;
use super::inventory::{ListedSecret, Per};
use super::keyring::{KeyringEntry, session_bus};
use super::private;
use crate::failure::blocking;

/// A stored value, before a field is selected or a token refreshed.
pub(super) struct Raw {
    pub(super) value: Secret,
    pub(super) home: Home,
}

/// Where a value is stored, if the vault can replace it.
#[derive(Clone)]
pub(super) enum Home {
    /// In the encrypted store, for this holder; `None` for the shared value.
    Strongbox(Option<String>),
    /// In this entry of the keyring.
    Keyring(KeyringEntry),
    /// In the environment or a file, which the vault does not write.
    Elsewhere,
}

/// The value of a secret for an actor: their own first, then the shared one unless it is per actor.
pub(super) async fn look_up(
    listed: &ListedSecret,
    who: &str,
    strongbox: &Strongbox,
    variable: fn(&str) -> Option<String>,
) -> Result<Raw, Stop> {
    match SecretLocation::of(listed, Some(who), variable)? {
        SecretLocation::Keyring(entry) => {
            let own = listed.per == Per::Actor;
            let value = entry.value().await?.ok_or_else(|| entry.missing(own))?;
            Ok(Raw { value, home: Home::Keyring(entry) })
        }
        SecretLocation::Near(place) => {
            let (listed, who, strongbox) = (listed.clone(), who.to_owned(), strongbox.clone());
            blocking(move || at_hand(place, &listed, &who, &strongbox, variable)).await?
        }
    }
}

/// Whether an actor has a value, without awaiting. A keyring entry counts as present, because
/// asking the keyring takes time.
pub(super) fn has_at_once(
    listed: &ListedSecret,
    who: &str,
    strongbox: &Strongbox,
    variable: fn(&str) -> Option<String>,
) -> Result<(), Stop> {
    match SecretLocation::of(listed, Some(who), variable)? {
        SecretLocation::Keyring(_) => Ok(()),
        SecretLocation::Near(place) => at_hand(place, listed, who, strongbox, variable).map(drop),
    }
}

/// Looks up a value in this process or on disk.
fn at_hand(
    place: Near,
    listed: &ListedSecret,
    who: &str,
    strongbox: &Strongbox,
    variable: fn(&str) -> Option<String>,
) -> Result<Raw, Stop> {
    let slug = &listed.slug;
    let elsewhere = |value| Raw { value, home: Home::Elsewhere };
    match place {
        Near::Own => own(listed, who, strongbox, variable),
        Near::Variable(name) => {
            let words = format!("the secret `{slug}` is not in the environment variable `{name}`");
            let unset = || Stop::new(Code::CredentialMissing, words);
            filled(variable, &name)
                .map(elsewhere)
                .ok_or_else(|| unset().help(format!("set `{name}` for the process that runs Haft")))
        }
        Near::File(path) => file(slug, &path).map(elsewhere),
    }
}

/// Looks up the encrypted store, then the environment variables of the entry.
fn own(
    listed: &ListedSecret,
    who: &str,
    strongbox: &Strongbox,
    variable: fn(&str) -> Option<String>,
) -> Result<Raw, Stop> {
    let slug = &listed.slug;
    if let Some(value) = strongbox.value(slug, Some(who))? {
        return Ok(Raw { value, home: Home::Strongbox(Some(who.to_owned())) });
    }
    if listed.per == Per::Actor {
        return Err(missing(listed, who));
    }
    if let Some(value) = strongbox.value(slug, None)? {
        return Ok(Raw { value, home: Home::Strongbox(None) });
    }
    let mut named = listed.names.iter().filter_map(|named| filled(variable, &named.name));
    let value = named.next().ok_or_else(|| missing(listed, who))?;
    Ok(Raw { value, home: Home::Elsewhere })
}

/// The backend that an entry names.
enum SecretLocation {
    Near(Near),
    Keyring(KeyringEntry),
}

/// A backend in this process or on disk.
enum Near {
    Own,
    Variable(String),
    File(PathBuf),
}

impl SecretLocation {
    /// The location of an actor's value; `None` for the shared value.
    fn of(
        listed: &ListedSecret,
        who: Option<&str>,
        variable: fn(&str) -> Option<String>,
    ) -> Result<SecretLocation, Stop> {
        let Some(backend) = listed.backend.as_deref() else {
            return Ok(SecretLocation::Near(Near::Own));
        };
        let slug = &listed.slug;
        let entry = |service: &str, user: &str| {
            Ok(SecretLocation::Keyring(KeyringEntry {
                slug: slug.clone(),
                service: service.to_owned(),
                user: user.to_owned(),
                bus: session_bus(variable),
            }))
        };
        let refused =
            |words: String, help: &str| Err(Stop::new(Code::SetupRequired, words).help(help));
        let place = match (backend.split_once("://"), listed.per) {
            (Some(("env", name)), _) if !name.is_empty() => Near::Variable(name.to_owned()),
            (Some(("file", path)), _) if path.starts_with('/') => Near::File(PathBuf::from(path)),
            (Some(("keyring", at)), per) => {
                return match (at.split_once('/'), per, who) {
                    (Some((service, user)), Per::Workspace, _)
                        if !service.is_empty() && !user.is_empty() =>
                    {
                        entry(service, user)
                    }
                    (None, Per::Actor, Some(who)) if !at.is_empty() => entry(at, who),
                    (_, Per::Workspace, _) => refused(
                        format!("`{backend}` of the secret `{slug}` names no entry of the keyring"),
                        "write `keyring://SERVICE/USERNAME`",
                    ),
                    (None, Per::Actor, None) if !at.is_empty() => refused(
                        format!("each actor has their own `{slug}` in the keyring"),
                        "say whose: `--for ACTOR`",
                    ),
                    (_, Per::Actor, _) => refused(
                        format!(
                            "the secret `{slug}` is each actor's own, and `{backend}` does not say whose"
                        ),
                        "write `keyring://SERVICE`; the username is the actor, such as `user:ana`",
                    ),
                };
            }
            (Some(_) | None, _) => {
                let words =
                    format!("the secret `{slug}` lies at `{backend}`, which Haft cannot open");
                return refused(
                    words,
                    "use `keyring://SERVICE/USERNAME`, `env://NAME` or `file:///path`, or leave \
                     `backend` out",
                );
            }
        };
        match listed.per {
            Per::Workspace => Ok(SecretLocation::Near(place)),
            Per::Actor => refused(
                format!(
                    "the secret `{slug}` is each actor's own, and `{backend}` is the same for all"
                ),
                "leave `backend` out, and let each actor have a value",
            ),
        }
    }
}

/// Where the vault can store a holder's value; `None` for the shared value.
pub(super) fn home(
    listed: &ListedSecret,
    holder: Option<&str>,
    variable: fn(&str) -> Option<String>,
) -> Result<Home, Stop> {
    let slug = &listed.slug;
    let refused = |words, help: &str| Err(Stop::new(Code::InputValue, words).help(help));
    match (SecretLocation::of(listed, holder, variable)?, listed.backend.as_deref(), listed.per) {
        (SecretLocation::Near(Near::Own), ..) => Ok(Home::Strongbox(holder.map(str::to_owned))),
        (SecretLocation::Keyring(_), Some(backend), Per::Workspace) if holder.is_some() => refused(
            format!("the secret `{slug}` lies at `{backend}`, which is the same for all"),
            "leave `--for` out, or give each actor an own value (`per: actor`)",
        ),
        (SecretLocation::Keyring(entry), ..) => Ok(Home::Keyring(entry)),
        (SecretLocation::Near(Near::Variable(_) | Near::File(_)), backend, _) => refused(
            format!("the secret `{slug}` lies at `{}`", backend.unwrap_or_default()),
            "change it there, or leave `backend` out of its entry",
        ),
    }
}

fn filled(variable: fn(&str) -> Option<String>, name: &str) -> Option<Secret> {
    variable(name).filter(|value| !value.is_empty()).map(Secret::new)
}

fn file(slug: &str, path: &Path) -> Result<Secret, Stop> {
    let shown = path.display();
    match private::read(path) {
        Ok(text) => Ok(without_line_end(&text)),
        Err(fault) if fault.kind() == ErrorKind::NotFound => {
            let words = format!("the secret `{slug}` is not at `{shown}`");
            Err(Stop::new(Code::CredentialMissing, words).help("put it there with mode 600"))
        }
        Err(fault) => {
            let words = format!("the secret `{slug}` at `{shown}` cannot be used: {fault}");
            Err(Stop::new(Code::SetupRequired, words).help(format!("chmod 600 {shown}")))
        }
    }
}

/// A text without its last line end, which editors add.
pub(super) fn without_line_end(text: &Secret) -> Secret {
    let text = text.expose();
    let text = text.strip_suffix('\n').unwrap_or(text);
    Secret::new(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

fn missing(listed: &ListedSecret, who: &str) -> Stop {
    let slug = &listed.slug;
    let (words, help) = match listed.per {
        Per::Workspace => (
            format!("there is no value for the secret `{slug}`"),
            format!("haft secrets set {slug}"),
        ),
        Per::Actor => (
            format!("`{who}` has no value of their own for the secret `{slug}`"),
            format!("haft secrets set {slug} --for {who}"),
        ),
    };
    Stop::new(Code::CredentialMissing, words).help(help)
}
