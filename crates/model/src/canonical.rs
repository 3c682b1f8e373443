//! Canonical JSON (RFC 8785): one text for every value, whatever the order of its keys.
//!
//! It writes into one buffer, because every call is hashed several times: an object is written as
//! it comes and sorted in place at its end, and most objects come sorted already.

mod parts;
mod write;

use std::cmp::Ordering;

use serde::Serialize;

/// Largest integer that a double represents exactly along with all smaller ones.
const LARGEST_EXACT: u64 = 1 << 53;

/// The canonical bytes of a value.
///
/// Everything hashed here is made of maps with text keys and finite numbers, which always have a
/// canonical form; should one not, the empty string stands in and equals nothing that has one.
pub fn canonical<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    Canonical::of(value).map(|form| form.text.into_bytes()).unwrap_or_default()
}

/// A value in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// The canonical text.
    pub text: String,
    /// Whether a whole number in it was rounded: canonical JSON only has doubles.
    pub rounded: bool,
}

impl Canonical {
    /// The canonical form of a value; `None` if it has none.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Option<Canonical> {
        let mut text = Text { out: Vec::with_capacity(512), ..Text::default() };
        value.serialize(&mut text).ok()?;
        Some(Canonical { text: String::from_utf8(text.out).ok()?, rounded: text.rounded })
    }
}

/// A canonical text in progress.
#[derive(Default)]
struct Text {
    out: Vec<u8>,
    /// Objects that are still open.
    objects: Vec<OpenObject>,
    /// Properties of the open objects.
    properties: Vec<Property>,
    /// Scratch buffer for sorting properties.
    sorted: Vec<u8>,
    rounded: bool,
}

/// An object that is still open.
#[derive(Clone, Copy)]
struct OpenObject {
    /// Offset of its first property.
    start: usize,
    /// Index of its first property in `properties`.
    first: usize,
    /// Whether its properties came in order so far.
    in_order: bool,
}

/// Offsets of a property: its key, quotes included, and its end.
#[derive(Clone, Copy)]
struct Property {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Text {
    fn begin_object(&mut self) {
        self.out.push(b'{');
        let (start, first) = (self.out.len(), self.properties.len());
        self.objects.push(OpenObject { start, first, in_order: true });
    }

    /// Begins a property: the key follows, then `end_key`, the value and `end_value`.
    fn begin_key(&mut self) {
        if self.objects.last().is_some_and(|object| object.start < self.out.len()) {
            self.out.push(b',');
        }
        let start = self.out.len();
        self.properties.push(Property { start, key_end: start, end: start });
    }

    fn key(&self, property: &Property) -> &[u8] {
        self.out.get(property.start + 1..property.key_end.saturating_sub(1)).unwrap_or_default()
    }

    /// Checks whether the key that just ended sorts after the one before it.
    fn end_key(&mut self) {
        let end = self.out.len();
        self.out.push(b':');
        let Some(property) = self.properties.last_mut() else { return };
        property.key_end = end;
        let Some(OpenObject { first, in_order: true, .. }) = self.objects.last().copied() else {
            return;
        };
        if let Some([.., before, last]) = self.properties.get(first..)
            && compare(self.key(before), self.key(last)) != Ordering::Less
            && let Some(object) = self.objects.last_mut()
        {
            object.in_order = false;
        }
    }

    fn end_value(&mut self) {
        let end = self.out.len();
        if let Some(property) = self.properties.last_mut() {
            property.end = end;
        }
    }

    fn end_object(&mut self) {
        if let Some(object) = self.objects.pop() {
            if !object.in_order {
                self.put_in_order(object);
            }
            self.properties.truncate(object.first);
        }
        self.out.push(b'}');
    }

    fn put_in_order(&mut self, object: OpenObject) {
        let mut properties = std::mem::take(&mut self.properties);
        let mine = properties.get_mut(object.first..).unwrap_or_default();
        mine.sort_by(|one, other| compare(self.key(one), self.key(other)));
        self.sorted.clear();
        for (at, property) in mine.iter().enumerate() {
            if at > 0 {
                self.sorted.push(b',');
            }
            let text = self.out.get(property.start..property.end).unwrap_or_default();
            self.sorted.extend_from_slice(text);
        }
        // The same properties and as many commas: as long as before.
        self.out.truncate(object.start);
        self.out.extend_from_slice(&self.sorted);
        self.properties = properties;
    }
}

/// Keys sort by their UTF-16 code units, which for ASCII are its bytes; they are decoded only where
/// an escape or a non-ASCII byte decides.
fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let plain = |byte: &u8| byte.is_ascii() && *byte != b'\\';
    for (mine, theirs) in one.iter().zip(other) {
        if mine != theirs && plain(mine) && plain(theirs) {
            return mine.cmp(theirs);
        }
        if mine != theirs || *mine == b'\\' {
            return units(one).cmp(&units(other));
        }
    }
    one.len().cmp(&other.len())
}

fn units(key: &[u8]) -> Vec<u16> {
    let quoted = [b"\"", key, b"\""].concat();
    let text: String = serde_json::from_slice(&quoted).unwrap_or_default();
    text.encode_utf16().collect()
}

#[cfg(test)]
mod tests;
