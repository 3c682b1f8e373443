//! Where a value lies: the workspace's own strongbox, the environment, or a private file.

use std::io::ErrorKind;
use std::path::Path;

use haft_model::{Code, Secret, Stop};

use super::inventory::{Listed, Per};
use super::private;
use super::strongbox::Strongbox;

/// A value as it lies there.
pub(super) struct Raw {
    pub(super) value: Secret,
    pub(super) home: Home,
}

/// Whether a value can be replaced by us.
pub(super) enum Home {
    /// It is this holder's in the strongbox; for nobody in particular where none is named.
    Strongbox(Option<String>),
    /// Somebody else keeps it.
    Elsewhere,
}

/// The value of a secret for somebody: their own first, and that of all only where it may be shared.
pub(super) fn look_up(
    listed: &Listed,
    who: &str,
    strongbox: &Strongbox,
    variable: fn(&str) -> Option<String>,
) -> Result<Raw, Stop> {
    let slug = &listed.slug;
    let elsewhere = |value| Raw { value, home: Home::Elsewhere };
    match Place::of(listed)? {
        Place::Own => {
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
            named.next().map(elsewhere).ok_or_else(|| missing(listed, who))
        }
        Place::Variable(name) => {
            let words = format!("the secret `{slug}` is not in the environment variable `{name}`");
            let unset = || Stop::new(Code::CredentialMissing, words);
            filled(variable, name)
                .map(elsewhere)
                .ok_or_else(|| unset().help(format!("set `{name}` for the process that runs Haft")))
        }
        Place::File(path) => file(slug, path).map(elsewhere),
    }
}

/// Where an entry says that its value lies.
pub(super) enum Place<'a> {
    Own,
    Variable(&'a str),
    File(&'a Path),
}

impl<'a> Place<'a> {
    pub(super) fn of(listed: &'a Listed) -> Result<Place<'a>, Stop> {
        let Some(backend) = listed.backend.as_deref() else { return Ok(Place::Own) };
        let slug = &listed.slug;
        let refused =
            |words: String, help: &str| Err(Stop::new(Code::SetupRequired, words).help(help));
        let place = match backend.split_once("://") {
            Some(("env", name)) if !name.is_empty() => Place::Variable(name),
            Some(("file", path)) if path.starts_with('/') => Place::File(Path::new(path)),
            Some(("keyring", _)) => {
                let words = format!(
                    "the secret `{slug}` lies in the system's keyring, which this build cannot ask"
                );
                return refused(words, "leave `backend` out and run `haft secrets set`");
            }
            Some(_) | None => {
                let words =
                    format!("the secret `{slug}` lies at `{backend}`, which nobody here can open");
                return refused(
                    words,
                    "use `env://NAME` or `file:///path`, or leave `backend` out",
                );
            }
        };
        match listed.per {
            Per::Workspace => Ok(place),
            Per::Actor => refused(
                format!(
                    "the secret `{slug}` is each actor's own, and `{backend}` is the same for all"
                ),
                "leave `backend` out, and let each actor have a value",
            ),
        }
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

/// A text without the end of its last line, which editors add.
pub(super) fn without_line_end(text: &Secret) -> Secret {
    let text = text.expose();
    let text = text.strip_suffix('\n').unwrap_or(text);
    Secret::new(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

fn missing(listed: &Listed, who: &str) -> Stop {
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
