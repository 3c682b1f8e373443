//! Hash chain: each entry is an AIP-7 audit event in canonical JSON that names the hash before it.
//!
//! Everything that needs no knowledge of the link before is made by whoever appends; only the small
//! rest (`hash`, `prevHash`, `seq`, `ts`) is left for the one who holds the end of the chain.

use haft_model::{Actor, Canonical, Digest, Event, Fact, Timestamp};
use serde::Serialize;

use crate::{Draft, Error};

/// What the first link names as the one before it.
pub(crate) const GENESIS: &str = "GENESIS";

/// What stands before the hash in every line.
const BEFORE_HASH: &str = "\"doctype\":\"audit-event\",";

/// Who is named where nobody else is behind an entry.
const HOUSE: &str = "system:haft";

/// The action of an entry that says which bytes were forgotten.
const FORGOTTEN: &str = "payload.forgotten";

/// The longest id and reference that the published schema takes.
const LONGEST: usize = 256;

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    pub(crate) ts: Timestamp,
}

/// A line that lacks nothing but its place in the chain.
#[derive(Clone, Debug)]
pub(crate) struct Loose {
    /// From the opening brace to where the hash goes.
    before: String,
    /// From behind the hash to where `prevHash` goes.
    after: String,
    /// The subject, which stands between `seq` and `ts`.
    subject: String,
    at: Option<Timestamp>,
}

/// What an entry holds in our own name.
#[derive(Serialize)]
struct Metadata<'a> {
    haft: &'a House<'a>,
}

#[derive(Serialize)]
struct House<'a> {
    facts: &'a [Fact],
    #[serde(skip_serializing_if = "Option::is_none")]
    forgot: Option<&'a Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<&'a str>,
    /// The digests of the bytes that came with the entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<&'a Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

impl Loose {
    /// The line of a draft. Where a number had to be rounded, the draft's facts become those that
    /// the line says: nobody may go on with others than whoever reads them later.
    pub(crate) fn of(draft: &mut Draft) -> Result<Loose, Error> {
        let (loose, rounded) = Loose::exact_or_rounded(draft)?;
        if let Some(metadata) = rounded {
            draft.facts = crate::line::facts(&metadata).map_err(|_| formless())?;
        }
        Ok(loose)
    }

    fn exact_or_rounded(draft: &Draft) -> Result<(Loose, Option<String>), Error> {
        let house = House {
            facts: &draft.facts,
            forgot: None,
            invocation: draft.invocation.as_ref().map(|id| id.as_str()),
            kept: draft.blobs.iter().map(|blob| &blob.digest).collect(),
            tenant: draft.actor.as_ref().map(|actor| &*actor.tenant),
        };
        let action = match draft.invocation {
            Some(_) => "tool.call",
            None => draft.facts.first().map_or("audit.note", |fact| action(&fact.event)),
        };
        let planned = draft.facts.iter().any(|fact| matches!(fact.event, Event::Planned(_)));
        let at = draft.facts.iter().map(|fact| fact.at).max();
        let actor = draft.actor.as_ref();
        Loose::written(&About { actor, action, planned, subject: subject(draft), at }, &house)
    }

    /// The line that says that bytes were forgotten. It has the time of the line before it, since
    /// nobody here knows another.
    pub(crate) fn forgetting(invocation: &str, digest: &Digest) -> Result<Loose, Error> {
        let house = House {
            facts: &[],
            forgot: Some(digest),
            invocation: Some(invocation).filter(|id| !id.is_empty()),
            kept: Vec::new(),
            tenant: None,
        };
        let subject = Subject { kind: "payload", reference: Some(digest.as_str()) };
        let about = About { actor: None, action: FORGOTTEN, planned: false, subject, at: None };
        Loose::written(&about, &house).map(|(loose, _)| loose)
    }

    fn written(about: &About<'_>, house: &House<'_>) -> Result<(Loose, Option<String>), Error> {
        let About { actor, action, planned, subject, at } = about;
        let Canonical { text: metadata, rounded } =
            Canonical::of(&Metadata { haft: house }).ok_or_else(formless)?;
        let id = actor.map_or(HOUSE, |actor| actor.id.as_str());
        let id = text(&cut(if id.is_empty() { HOUSE } else { id }))?;
        let role = actor.and_then(role).map(|role| format!(",\"role\":\"{role}\""));
        let role = role.unwrap_or_default();
        let input = if *planned { REDACTED } else { "" };
        let reference = match subject.reference {
            Some(reference) => format!(",\"ref\":{}", text(&cut(reference))?),
            None => String::new(),
        };
        let loose = Loose {
            before: format!(
                "{{\"$schema\":\"agentgovernance/v1\",\"action\":\"{action}\",\
                 \"actor\":{{\"id\":{id}{role}}},{BEFORE_HASH}"
            ),
            after: format!("\"hashAlg\":\"sha256\",{input}\"metadata\":{metadata},"),
            subject: format!("\"subject\":{{\"kind\":\"{}\"{reference}}}", subject.kind),
            at: *at,
        };
        Ok((loose, rounded.then_some(metadata)))
    }

    /// The line as the next link after `head`, and the new end of the chain. It may name the key that
    /// signs the log from here on.
    pub(crate) fn link(&self, head: Option<&Head>, key: Option<&str>) -> (String, Head) {
        let seq = head.map_or(0, |head| head.seq + 1);
        let ts = stamp(self.at, head);
        let previous = head.map_or(GENESIS, |head| head.hash.as_str());
        let Loose { before, after, subject, .. } = self;
        let named = key.map(|key| {
            // The first key of the map in the order of canonical JSON.
            let named = format!("{HOUSE_OPENS}\"audit_key\":\"{key}\",");
            after.replacen(HOUSE_OPENS, &named, 1)
        });
        let after = named.as_ref().unwrap_or(after);
        let rest = format!(
            "{after}\"prevHash\":\"{previous}\",\"seq\":{seq},{subject},\"ts\":\"{ts:.3}\"}}"
        );
        let mut line = String::with_capacity(before.len() + rest.len() + 80);
        line.push_str(before);
        line.push_str(&rest);
        let hash = hash(&line);
        line.truncate(before.len());
        line.push_str("\"hash\":\"");
        line.push_str(&hash);
        line.push_str("\",");
        line.push_str(&rest);
        (line, Head { seq, hash, ts })
    }
}

/// What stands before our own part of every line.
const HOUSE_OPENS: &str = "\"metadata\":{\"haft\":{";

/// The input of a call is never in the chain; its digest is, in the facts.
const REDACTED: &str =
    "\"input\":{\"$redacted\":true,\"reason\":\"kept beside the log, named by digest\"},";

/// A line without its hash, and the hash; none when the line is not of our making.
pub(crate) fn unhashed(line: &str) -> Option<(String, &str)> {
    let at = line.find(BEFORE_HASH)? + BEFORE_HASH.len();
    let (before, rest) = line.split_at_checked(at)?;
    let (hash, rest) = rest.strip_prefix("\"hash\":\"")?.split_once("\",")?;
    Some((format!("{before}{rest}"), hash))
}

/// The hash of a line that lacks it.
pub(crate) fn hash(unhashed: &str) -> String {
    let digest = Digest::of_bytes(unhashed.as_bytes());
    digest.as_str().trim_start_matches("sha256:").to_owned()
}

/// The time of a link: whole milliseconds, and never before the link before it.
fn stamp(at: Option<Timestamp>, head: Option<&Head>) -> Timestamp {
    let least = head.map_or(Timestamp::UNIX_EPOCH, |head| head.ts);
    let at = at.and_then(|at| Timestamp::from_millisecond(at.as_millisecond()).ok());
    at.map_or(least, |at| if head.is_some() { at.max(least) } else { at })
}

/// What an entry says beside its facts.
struct About<'a> {
    actor: Option<&'a Actor>,
    action: &'static str,
    /// Whether a call came in with it.
    planned: bool,
    subject: Subject<'a>,
    at: Option<Timestamp>,
}

/// What an entry is about.
struct Subject<'a> {
    kind: &'static str,
    reference: Option<&'a str>,
}

fn subject(draft: &Draft) -> Subject<'_> {
    if let Some(contract) = &draft.subject {
        return Subject { kind: "tool", reference: Some(contract) };
    }
    let house = draft.facts.first().filter(|_| draft.invocation.is_none());
    match house.map(|fact| &fact.event) {
        Some(Event::SurfaceCreated(seen) | Event::SurfaceUpdated(seen)) => {
            Subject { kind: "surface", reference: Some(&seen.surface) }
        }
        Some(Event::Note(_)) => Subject { kind: "log", reference: None },
        _ => Subject { kind: "tool", reference: None },
    }
}

/// The action of an entry that is about the house, by its first fact.
fn action(event: &Event) -> &'static str {
    match event {
        Event::Declared(_) => "tool.declared",
        Event::SurfaceCreated(_) => "tool.surface.created",
        Event::SurfaceUpdated(_) => "tool.surface.updated",
        Event::DeferredDiscovered(_) => "tool.deferred.discovered",
        Event::DeferredLoaded(_) => "tool.deferred.loaded",
        Event::StandingGiven(_) => "approval.standing",
        Event::StandingRevoked(_) => "approval.revoked",
        Event::TokenIssued(_) => "token.issued",
        Event::TokenRevoked(_) => "token.revoked",
        Event::PermissionRequested(_) => "approval.requested",
        Event::Answered(_) => "approval.answered",
        Event::Closed(_) => "approval.closed",
        _ => "audit.note",
    }
}

/// The roles of an actor in one word, as the published schema has room for one.
fn role(actor: &Actor) -> Option<String> {
    let names = actor.roles.iter().map(|role| role.name());
    let names = names.collect::<Vec<_>>().join("+");
    (!names.is_empty()).then_some(names)
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The canonical text of a value.
fn text<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    Canonical::of(value).map(|canonical| canonical.text).ok_or_else(formless)
}

fn formless() -> Error {
    Error::Unwritable { cause: "a fact has no canonical form".to_owned() }
}
