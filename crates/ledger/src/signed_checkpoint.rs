//! Checkpoint of the hash chain: an Ed25519 signature over its last entry, so that a cut tail
//! shows.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use haft_model::{Timestamp, canonical};
use serde::{Deserialize, Serialize};

use crate::chain::Head;

/// File of the last signed checkpoint.
pub(crate) const HEAD: &str = "audit-head.json";
/// File of the public keys.
pub(crate) const KEYS: &str = "audit-keys.json";
/// File of the secret key.
const SECRET: &str = "audit.key";

/// A signed checkpoint: the head of the chain and its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedHead {
    #[serde(flatten)]
    pub(crate) head: CheckpointClaim,
    pub(crate) signature: Block,
}

/// The signed content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointClaim {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    pub(crate) at: Timestamp,
    pub(crate) key: String,
}

/// A signature in the form of AIP-7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Block {
    alg: String,
    value: String,
    public_key_ref: String,
}

/// The published keys, by their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Keyring {
    keys: BTreeMap<String, PublicKey>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublicKey {
    alg: String,
    public_key: String,
}

/// The signer of a folder.
pub(crate) struct Signer {
    key: SigningKey,
    fingerprint: String,
    id: String,
}

impl Signer {
    /// The signer of a folder. Creates its key if it is missing, and publishes the public key
    /// beside it.
    pub(crate) fn load_or_make(folder: &Path) -> io::Result<Signer> {
        let key = SigningKey::from_bytes(&haft_seal::load_or_make(&folder.join(SECRET))?);
        let fingerprint = fingerprint(&key.verifying_key().to_bytes());
        let id = id(&fingerprint);
        let signer = Signer { key, fingerprint, id };
        signer.publish(folder)?;
        Ok(signer)
    }

    /// The fingerprint of its key.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn publish(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(KEYS);
        let mut ring = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other)?,
            Err(fault) if fault.kind() == ErrorKind::NotFound => Keyring::default(),
            Err(fault) => return Err(fault),
        };
        if ring.keys.contains_key(&self.id) {
            return Ok(());
        }
        let public_key = base64url(self.key.verifying_key().as_bytes());
        ring.keys.insert(self.id.clone(), PublicKey { alg: "Ed25519".to_owned(), public_key });
        haft_seal::replace(&path, &canonical(&ring))
    }

    /// Signs a head.
    pub(crate) fn sign(&self, head: &Head) -> SignedHead {
        let Head { seq, hash, ts } = head.clone();
        let head = CheckpointClaim { seq, hash, at: ts, key: self.id.clone() };
        let signature = self.key.sign(&canonical(&head));
        let signature = Block {
            alg: "Ed25519".to_owned(),
            value: base64url(&signature.to_bytes()),
            public_key_ref: self.id.clone(),
        };
        SignedHead { head, signature }
    }
}

impl Keyring {
    /// The published keys of a folder; empty when the file is missing or malformed.
    pub(crate) fn load(folder: &Path) -> Keyring {
        let bytes = fs::read(folder.join(KEYS)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The fingerprint of the key that signed a checkpoint; `None` where none of these keys did. A
    /// key that is published under the name of another counts for nothing.
    pub(crate) fn signer(&self, signed: &SignedHead) -> Option<String> {
        let valid = || {
            let public = from_base64url(&self.keys.get(&signed.head.key)?.public_key)?;
            let fingerprint = fingerprint(&public);
            if id(&fingerprint) != signed.head.key {
                return None;
            }
            let public = VerifyingKey::from_bytes(&public.try_into().ok()?).ok()?;
            let value = from_base64url(&signed.signature.value)?;
            let signature = Signature::from_slice(&value).ok()?;
            public.verify_strict(&canonical(&signed.head), &signature).ok()?;
            Some(fingerprint)
        };
        valid().filter(|_| signed.signature.alg == "Ed25519")
    }
}

/// Fingerprint of a public key: the SHA-256 of its bytes, in hexadecimal.
fn fingerprint(public: &[u8]) -> String {
    let digest = haft_model::Digest::of_bytes(public);
    digest.as_str().trim_start_matches("sha256:").to_owned()
}

/// Key id in files: the beginning of its fingerprint.
fn id(fingerprint: &str) -> String {
    fingerprint.chars().take(16).collect()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64url without padding, as AIP-7 writes signatures.
fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = number >> (18 - 6 * place) & 63;
            text.push(char::from(LETTERS.get(index as usize).copied().unwrap_or(b'A')));
        }
    }
    text
}

fn from_base64url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let mut number = 0_u32;
        for letter in chunk {
            let value = LETTERS.iter().position(|known| known == letter)?;
            number = number << 6 | u32::try_from(value).ok()?;
        }
        let number = number << (6 * (4 - chunk.len()));
        bytes.extend(number.to_be_bytes().into_iter().skip(1).take(chunk.len().checked_sub(1)?));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use haft_testkit::Folder;

    use super::*;

    #[test]
    fn base64url_is_that_of_everybody_else() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("~~?", "fn4_")]
        {
            assert_eq!(base64url(bytes.as_bytes()), text);
            assert_eq!(from_base64url(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(from_base64url("a"), Some(Vec::new()));
        assert_eq!(from_base64url("!!"), None);
    }

    #[test]
    fn signed_checkpoint_verifies_only_with_its_own_keys() {
        let [ours, theirs] = [Folder::new(), Folder::new()];
        let signer = Signer::load_or_make(ours.path()).unwrap();
        Signer::load_or_make(theirs.path()).unwrap();
        let head = Head { seq: 7, hash: "00".repeat(32), ts: Timestamp::UNIX_EPOCH };
        let signed = signer.sign(&head);
        let forged = SignedHead {
            head: CheckpointClaim { seq: 6, ..signed.head.clone() },
            ..signed.clone()
        };
        let ring = Keyring::load(ours.path());
        assert_eq!(ring.signer(&signed).as_deref(), Some(signer.fingerprint()));
        assert_eq!(ring.signer(&forged), None);
        assert_eq!(Keyring::load(theirs.path()).signer(&signed), None);
        // A foreign key under the name of ours is not ours.
        let mut swapped = Keyring::load(theirs.path());
        let key = swapped.keys.values().next().unwrap().clone();
        swapped.keys.insert(signed.head.key.clone(), key);
        assert_eq!(swapped.signer(&signed), None);
        // Loading again finds the same key.
        assert_eq!(Signer::load_or_make(ours.path()).unwrap().sign(&head), signed);
    }

    #[cfg(unix)]
    #[test]
    fn signing_key_file_is_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        Signer::load_or_make(folder.path()).unwrap();
        let mode = fs::metadata(folder.path().join(SECRET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
