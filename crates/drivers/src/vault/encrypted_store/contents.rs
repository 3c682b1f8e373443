//! What lies in a strongbox, open and closed.
//!
//! Closed it is three lines: what it is, which key opens it, and the rest. The first two are not
//! secret, and a change of any line is found.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_model::{Code, Digest, Secret, Stop, Timestamp};
use haft_seal::Key;
use serde::{Deserialize, Serialize};

/// What the file says that it is.
const FIRST_LINE: &str = "haft secrets 1";

/// The values, each of one secret and one holder.
#[derive(Default)]
pub(super) struct Contents {
    values: Vec<StoredSecret>,
}

struct StoredSecret {
    slug: String,
    holder: Option<String>,
    value: Secret,
    since: Timestamp,
}

/// Somebody who has a value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Of which secret.
    pub slug: String,
    /// Who; nobody in particular where the value is for all.
    pub holder: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// One value as it is written.
#[derive(Serialize)]
struct Writing<'a> {
    slug: &'a str,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    value: &'a str,
    since: Timestamp,
}

/// One value as it is read.
#[derive(Deserialize)]
struct Reading {
    slug: String,
    #[serde(rename = "for", default)]
    holder: Option<String>,
    value: String,
    since: Timestamp,
}

impl Contents {
    pub(super) fn value(&self, slug: &str, holder: Option<&str>) -> Option<Secret> {
        self.values.iter().find(|stored| stored.is(slug, holder)).map(|stored| stored.value.clone())
    }

    pub(super) fn holders(&self) -> Vec<Holder> {
        let holder = |stored: &StoredSecret| Holder {
            slug: stored.slug.clone(),
            holder: stored.holder.clone(),
            since: stored.since,
        };
        self.values.iter().map(holder).collect()
    }

    pub(super) fn put(
        &mut self,
        slug: &str,
        holder: Option<&str>,
        value: Secret,
        since: Timestamp,
    ) {
        self.remove(slug, holder);
        let (slug, holder) = (slug.to_owned(), holder.map(str::to_owned));
        self.values.push(StoredSecret { slug, holder, value, since });
        self.values
            .sort_by(|one, other| (&one.slug, &one.holder).cmp(&(&other.slug, &other.holder)));
    }

    pub(super) fn remove(&mut self, slug: &str, holder: Option<&str>) -> bool {
        let before = self.values.len();
        self.values.retain(|stored| !stored.is(slug, holder));
        self.values.len() < before
    }

    /// The contents, closed with a key.
    pub(super) fn close(&self, key: &Key) -> io::Result<String> {
        let head = head(key);
        let closed = haft_seal::close(key, head.as_bytes(), self.text()?.expose().as_bytes())?;
        Ok(format!("{head}{}\n", STANDARD.encode(closed)))
    }

    /// The contents of what was closed. Another key, and a file that was changed, are told apart.
    pub(super) fn open(closed: &str, key: &Key, file: &Path) -> Result<Contents, Stop> {
        let broken = |what: &str| {
            let words = format!("`{}` {what}", file.display());
            Stop::new(Code::SetupRequired, words).help("restore the file from a backup")
        };
        let unreadable = || broken("was changed or damaged, and nothing in it is used");
        let lines: Vec<&str> = closed.lines().collect();
        let &[FIRST_LINE, key_line, rest] = lines.as_slice() else {
            return Err(broken("is not a file of secrets that this version can read"));
        };
        if key_line != key_name(key) {
            return Err(broken("was closed with another key")
                .help("bring back the key that it was closed with: see HAFT_SECRETS_KEY"));
        }
        let bytes = STANDARD.decode(rest).map_err(|_| unreadable())?;
        let open = haft_seal::open(key, head(key).as_bytes(), &bytes).ok_or_else(unreadable)?;
        let text = String::from_utf8(open).map(Secret::new).map_err(|_| unreadable())?;
        let values: Result<Vec<Reading>, _> =
            text.expose().lines().map(serde_json::from_str).collect();
        let values =
            values.map_err(|_| unreadable())?.into_iter().map(StoredSecret::from).collect();
        Ok(Contents { values })
    }

    /// The contents as lines of JSON. There is room for them from the start, so that no copy of a
    /// value is left behind where the text grew.
    fn text(&self) -> io::Result<Secret> {
        let room: usize =
            self.values.iter().map(|stored| stored.value.expose().len() * 6 + 500).sum();
        let mut text = Vec::with_capacity(room);
        for stored in &self.values {
            let written = Writing {
                slug: &stored.slug,
                holder: stored.holder.as_deref(),
                value: stored.value.expose(),
                since: stored.since,
            };
            serde_json::to_writer(&mut text, &written)?;
            text.push(b'\n');
        }
        String::from_utf8(text).map(Secret::new).map_err(io::Error::other)
    }
}

impl StoredSecret {
    fn is(&self, slug: &str, holder: Option<&str>) -> bool {
        self.slug == slug && self.holder.as_deref() == holder
    }
}

impl From<Reading> for StoredSecret {
    fn from(read: Reading) -> StoredSecret {
        let Reading { slug, holder, value, since } = read;
        StoredSecret { slug, holder, value: Secret::new(value), since }
    }
}

/// What stands before the closed part, and is protected with it.
fn head(key: &Key) -> String {
    let mut head = String::new();
    let _ = writeln!(head, "{FIRST_LINE}");
    let _ = writeln!(head, "{}", key_name(key));
    head
}

/// By what a key is known to those who do not have it.
fn key_name(key: &Key) -> String {
    let digest = Digest::of_parts(&[b"haft secrets key".as_slice(), key]);
    let name: String = digest.as_str().trim_start_matches("sha256:").chars().take(16).collect();
    format!("key {name}")
}
