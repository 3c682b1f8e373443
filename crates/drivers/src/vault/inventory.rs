//! The secrets that a workspace lists, and by which names they are wanted.

use haft_model::{Code, Grantee, SecretKind, Stop};

/// One secret as a SECRETS.md lists it; never what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSecret {
    /// Its name for machines.
    pub slug: String,
    /// Its form.
    pub kind: SecretKind,
    /// Who may have it put into a process; any one of them is enough, and none is nobody.
    pub bind: Vec<Grantee>,
    /// Who may replace it, beside those who run the workspace.
    pub rotate: Vec<Grantee>,
    /// The environment variables that it goes by.
    pub names: Vec<SecretVariable>,
    /// The vault that keeps it; the workspace's own where none is named.
    pub backend: Option<String>,
    /// Whose its values are.
    pub per: Per,
}

/// An environment variable, and the part of a secret that stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretVariable {
    /// The variable.
    pub name: String,
    /// The part, for a secret that has parts.
    pub field: Option<String>,
}

/// Whose the values of a secret are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// One for all, unless somebody has their own.
    #[default]
    Workspace,
    /// Each has their own, and nobody uses another's.
    Actor,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResolvedSecret<'a> {
    pub(super) listed: &'a ListedSecret,
    /// The part that is wanted, where the name says so.
    pub(super) field: Option<&'a str>,
}

/// What a name stands for: a slug; else the one secret that names this variable; else the slug that
/// the variable's name spells in lower case with dashes.
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
