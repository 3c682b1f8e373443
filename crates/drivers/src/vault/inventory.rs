//! Secret inventory: the secrets that SECRETS.md files list, and how a name resolves to one.

use haft_model::{Code, Grantee, SecretKind, Stop};

/// One secret as a SECRETS.md lists it, without its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSecret {
    /// Its unique id.
    pub slug: String,
    /// Whether it is opaque text, a login, a key pair or JSON.
    pub kind: SecretKind,
    /// Who may have it put into a process; any match suffices, and an empty list denies all.
    pub bind: Vec<Grantee>,
    /// Who may replace it, beside the operators of the workspace.
    pub rotate: Vec<Grantee>,
    /// The environment variables that it goes by.
    pub names: Vec<SecretVariable>,
    /// The backend URI; `None` for the encrypted store of the workspace.
    pub backend: Option<String>,
    /// Whether its value is shared or per actor.
    pub per: Per,
}

/// An environment variable, and the field of a secret that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretVariable {
    /// The name of the variable.
    pub name: String,
    /// The field of a structured secret; `None` for the whole value.
    pub field: Option<String>,
}

/// Whether the values of a secret are shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// One value for all actors, unless an actor has their own.
    #[default]
    Workspace,
    /// Each actor has their own value, and never uses another's.
    Actor,
}

/// The secret that a name resolves to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResolvedSecret<'a> {
    pub(super) listed: &'a ListedSecret,
    /// The selected field, where the name selects one.
    pub(super) field: Option<&'a str>,
}

/// Resolves a name: by slug; else by the one secret that lists this variable; else by the slug that
/// the variable spells in lower case with dashes.
pub(super) fn find<'a>(
    inventory: &'a [ListedSecret],
    name: &str,
) -> Result<ResolvedSecret<'a>, Stop> {
    if let Some(listed) = by_slug(inventory, name) {
        return Ok(ResolvedSecret { listed, field: None });
    }
    let mut named = inventory.iter().flat_map(|listed| {
        let names = listed.names.iter().filter(|named| named.name == name);
        names.map(move |named| ResolvedSecret { listed, field: named.field.as_deref() })
    });
    if let Some(found) = named.next() {
        return match named.find(|other| other.listed.slug != found.listed.slug) {
            None => Ok(found),
            Some(other) => Err(ambiguous(name, &found, &other)),
        };
    }
    let spelt = name.to_ascii_lowercase().replace('_', "-");
    match by_slug(inventory, &spelt) {
        Some(listed) => Ok(ResolvedSecret { listed, field: None }),
        None => Err(unlisted(inventory, name)),
    }
}

fn by_slug<'a>(inventory: &'a [ListedSecret], slug: &str) -> Option<&'a ListedSecret> {
    inventory.iter().find(|listed| listed.slug == slug)
}

fn ambiguous(name: &str, one: &ResolvedSecret<'_>, other: &ResolvedSecret<'_>) -> Stop {
    let (one, other) = (&one.listed.slug, &other.listed.slug);
    let words = format!("`{name}` may mean `{one}` or `{other}`");
    Stop::new(Code::CredentialMissing, words).help("let one secret alone go by that name")
}

fn unlisted(inventory: &[ListedSecret], name: &str) -> Stop {
    let stop = Stop::new(Code::CredentialMissing, format!("no SECRETS.md lists `{name}`"));
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase().replace('_', "-");
    match inventory.iter().find(|listed| listed.slug.ends_with(&last)) {
        Some(near) => stop.help(format!("did you mean `{}`?", near.slug)),
        None => stop.help("list it in .secrets/SECRETS.md, with who may use it"),
    }
}
