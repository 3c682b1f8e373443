//! HTTP method semantics: the effects that a method implies, the most that is known of an
//! operation.

use std::borrow::Cow;

use super::unsafe_get::UnsafeGet;

/// A method that a driver of kind http can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// The effects that a method implies.
pub(super) struct MethodEffects {
    pub(super) changes: bool,
    pub(super) risk: u8,
    pub(super) approval: &'static str,
    /// Whether a second request has no further effect.
    pub(super) idempotent: bool,
    pub(super) class: Option<&'static str>,
    pub(super) why: Cow<'static, str>,
}

impl Verb {
    pub(super) const ALL: [Verb; 5] = [Verb::Get, Verb::Post, Verb::Put, Verb::Patch, Verb::Delete];

    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
        }
    }

    /// The field of a path that holds the operation.
    pub(super) fn field(self) -> String {
        self.name().to_ascii_lowercase()
    }

    pub(super) fn effects(self) -> MethodEffects {
        let (idempotent, approval, class) = (true, "on-mutate", None);
        match self {
            Verb::Get => MethodEffects {
                changes: false,
                risk: 0,
                approval: "auto",
                idempotent,
                class: Some("read-only"),
                why: "HTTP says that GET only reads".into(),
            },
            Verb::Put => MethodEffects {
                changes: true,
                risk: 2,
                approval,
                idempotent,
                class,
                why: "PUT writes, and HTTP says that twice is as good as once".into(),
            },
            Verb::Delete => MethodEffects {
                changes: true,
                risk: 3,
                approval: "always",
                idempotent,
                class: Some("irreversible"),
                why: "DELETE takes something away, and nothing says that it can be had back".into(),
            },
            Verb::Post | Verb::Patch => MethodEffects {
                changes: true,
                risk: 2,
                approval,
                idempotent: false,
                class,
                why: "POST and PATCH write, and twice may be more than once".into(),
            },
        }
    }
}

impl MethodEffects {
    /// The effects of a GET that says that it changes something; nothing says that twice is as good
    /// as once.
    pub(super) fn of_unsafe_get(found: &UnsafeGet) -> MethodEffects {
        let UnsafeGet { verb, place } = found;
        let why =
            format!("it is a GET, and `{verb}` in its {place} says that it changes something");
        let like = if found.is_irreversible() { Verb::Delete } else { Verb::Post };
        MethodEffects { idempotent: false, why: why.into(), ..like.effects() }
    }
}
