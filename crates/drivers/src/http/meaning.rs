//! What a status means, beyond what HTTP says of it: the `status_map` of an entry.

use haft_model::{Code, EffectState};

/// What a status means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) error: Option<NamedError>,
    /// What it vouches for.
    pub(super) effect: Option<EffectState>,
}

/// An error by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamedError {
    Ours(Code),
    /// One of the contract's own.
    Own(String),
}

impl Meaning {
    /// `CODE`, `not_committed`, or both. An error that tells of half an effect says so by itself.
    pub(super) fn read(text: &str) -> Option<Meaning> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let not_committed = words.last() == Some(&"not_committed");
        if not_committed {
            words.pop();
        }
        let error = match words[..] {
            [] if not_committed => None,
            [name] => match Code::parse(name) {
                Some(code) => Some(NamedError::Ours(code)),
                // Errors of a contract's own have a prefix.
                None if name.contains(':') => Some(NamedError::Own(name.to_owned())),
                None => return None,
            },
            _ => return None,
        };
        let partial = error == Some(NamedError::Ours(Code::EffectPartial));
        let effect = match (partial, not_committed) {
            (true, true) => return None,
            (true, false) => Some(EffectState::PartiallyCommitted),
            (false, true) => Some(EffectState::NotCommitted),
            (false, false) => None,
        };
        Some(Meaning { error, effect })
    }
}
