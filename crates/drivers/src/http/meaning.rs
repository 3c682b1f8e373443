//! Status map: the error code and the effect state that an entry's `status_map` assigns to an HTTP
//! status.

use haft_model::{Code, EffectState};

/// The meaning of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) error: Option<NamedError>,
    /// The effect state that the manifest vouches for; `None` for the default of the status.
    pub(super) effect: Option<EffectState>,
}

/// An error, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamedError {
    Ours(Code),
    /// An error that the contract defines.
    Own(String),
}

impl Meaning {
    /// Parses `CODE`, `not_committed`, or both. `effect.partial` implies its own effect state.
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
                // Names of a contract's own errors have a prefix.
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
