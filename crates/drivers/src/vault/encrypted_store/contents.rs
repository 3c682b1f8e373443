//! File format of the encrypted store: a header of two lines, and the encrypted values as base64.
//!
//! The header names the format and the key. It is not secret, and it is authenticated with the
//! values.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_model::{Code, Digest, Secret, Stop, Timestamp};
use haft_seal::Key;
use serde::{Deserialize, Serialize};

/// The format line of the file.
const FIRST_LINE: &str = "haft secrets 1";

/// The values, one for each secret and holder.
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

/// A value of the store, without the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The slug of the secret.
    pub slug: String,
    /// The actor whose value it is; `None` for the shared value.
    pub holder: Option<String>,
    /// When the value was stored.
    pub since: Timestamp,
}

/// One value, for serialization.
#[derive(Serialize)]
struct Writing<'a> {
    slug: &'a str,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    value: &'a str,
    since: Timestamp,
}

/// One value, for deserialization.
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

    /// Encrypts the contents with a key.
    pub(super) fn close(&self, key: &Key) -> io::Result<String> {
        let head = head(key);
        let closed = haft_seal::close(key, head.as_bytes(), self.text()?.expose().as_bytes())?;
        Ok(format!("{head}{}\n", STANDARD.encode(closed)))
    }

    /// Decrypts the contents. A wrong key is distinguished from a damaged file.
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

    /// The contents as JSON lines. The buffer is allocated in full, so that growing it leaves no
    /// copy of a value behind.
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

/// The header, which is authenticated with the encrypted values.
fn head(key: &Key) -> String {
    let mut head = String::new();
    let _ = writeln!(head, "{FIRST_LINE}");
    let _ = writeln!(head, "{}", key_name(key));
    head
}

/// The fingerprint of a key, which does not reveal it.
fn key_name(key: &Key) -> String {
    let digest = Digest::of_parts(&[b"haft secrets key".as_slice(), key]);
    let name: String = digest.as_str().trim_start_matches("sha256:").chars().take(16).collect();
    format!("key {name}")
}
