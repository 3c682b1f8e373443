//! Hash chain: each entry is an AIP-7 audit event in canonical JSON that names the hash before it.
//!
//! The appending task builds everything that does not depend on the previous link; only the small
//! rest (`hash`, `prevHash`, `seq`, `ts`) is left to the holder of the chain's head.

use haft_model::{Actor, Canonical, Digest, Event, Fact, Timestamp};
use serde::Serialize;

use crate::{Draft, Error};

/// The `prevHash` of the first link.
pub(crate) const GENESIS: &str = "GENESIS";

/// What precedes the hash in every line.
const BEFORE_HASH: &str = "\"doctype\":\"audit-event\",";

/// Actor of an entry that no other actor is behind.
const HOUSE: &str = "system:haft";

/// Action of an entry that records forgotten bytes.
const FORGOTTEN: &str = "payload.forgotten";

/// Longest id and reference that the published schema allows, in characters.
const LONGEST: usize = 256;

/// Head of the chain: its last link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    pub(crate) ts: Timestamp,
}

/// A line that lacks only its link: `hash`, `prevHash`, `seq` and `ts`.
#[derive(Clone, Debug)]
pub(crate) struct Loose {
    /// From the opening brace to where the hash goes.
    before: String,
    /// From after the hash to where `prevHash` goes.
    after: String,
    /// The subject, which stands between `seq` and `ts`.
    subject: String,
    at: Option<Timestamp>,
}

/// Our own part of an entry's metadata.
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
    /// The digests of the payloads that came with the entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<&'a Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

impl Loose {
    /// Builds the line of a draft. Where a number had to be rounded, the draft's facts become those
    /// of the line, so that the writer continues with the same facts as a later reader.
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

    /// The line that records forgotten bytes. It has the time of the line before it, because no
    /// other time is known here.
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

    /// Links the line after `head` and returns the new head. The line may name the key that signs
    /// the log from here on.
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

/// What precedes our own part of every line.
const HOUSE_OPENS: &str = "\"metadata\":{\"haft\":{";

/// The input of a call is never in the chain; its digest is, in the facts.
const REDACTED: &str =
    "\"input\":{\"$redacted\":true,\"reason\":\"kept beside the log, named by digest\"},";

/// A line without its hash, and the hash; `None` for a line that we did not write.
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

/// Timestamp of a link: whole milliseconds, monotonic along the chain.
fn stamp(at: Option<Timestamp>, head: Option<&Head>) -> Timestamp {
    let least = head.map_or(Timestamp::UNIX_EPOCH, |head| head.ts);
    let at = at.and_then(|at| Timestamp::from_millisecond(at.as_millisecond()).ok());
    at.map_or(least, |at| if head.is_some() { at.max(least) } else { at })
}

/// The parts of an entry beside its facts.
struct About<'a> {
    actor: Option<&'a Actor>,
    action: &'static str,
    /// Whether the entry begins a call.
    planned: bool,
    subject: Subject<'a>,
    at: Option<Timestamp>,
}

/// Subject of an entry.
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

/// Action of an entry about the workspace, by its first fact.
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

/// The roles of an actor joined into one word, because the published schema has one field.
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
