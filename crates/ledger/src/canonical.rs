//! Canonical JSON (RFC 8785) in one pass: keys are put in order as each object ends.
//!
//! It gives the same bytes as `haft_model::canonical`, which makes a tree of small buffers and is
//! too slow for something that every call pays for several times.

use std::cmp::Ordering;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// The largest whole number up to which canonical JSON tells all from each other.
const EXACT: u64 = 1 << 53;

/// A value in canonical form.
#[derive(Debug, PartialEq)]
pub(crate) struct Canonical {
    /// Its text.
    pub(crate) text: String,
    /// Whether a number in it was rounded: canonical JSON knows doubles only.
    pub(crate) rounded: bool,
}

/// The canonical form of a value; none if it has none.
pub(crate) fn canonical<T: Serialize + ?Sized>(value: &T) -> Option<Canonical> {
    let mut sorted = Sorted { out: Vec::with_capacity(4096), ..Sorted::default() };
    // The formatter keeps what is written; nothing goes to the writer.
    let mut serializer = Serializer::with_formatter(io::sink(), Pen(&mut sorted));
    value.serialize(&mut serializer).ok()?;
    Some(Canonical { text: String::from_utf8(sorted.out).ok()?, rounded: sorted.rounded })
}

/// What was written so far.
#[derive(Default)]
struct Sorted {
    out: Vec<u8>,
    /// The entries of all objects that have not ended, one object after the other.
    entries: Vec<Entry>,
    /// Where each object that has not ended begins: in the text, and among the entries.
    open: Vec<(usize, usize)>,
    spare: Vec<u8>,
    rounded: bool,
}

/// One key and its value, as places in the text.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    key_end: usize,
    end: usize,
    /// Whether the key is the same in every spelling.
    plain: bool,
}

impl Entry {
    /// The key as it is written, without its quotes.
    fn key<'a>(&self, out: &'a [u8]) -> &'a [u8] {
        out.get(self.start + 1..self.key_end.saturating_sub(1)).unwrap_or_default()
    }
}

/// The order of two keys: that of their UTF-16 units, which for plain ones is that of their bytes.
fn compare(one: &Entry, other: &Entry, out: &[u8]) -> Ordering {
    let (key, next) = (one.key(out), other.key(out));
    if one.plain && other.plain {
        return key.cmp(next);
    }
    let units = |key: &[u8]| -> Vec<u16> {
        let quoted = [b"\"", key, b"\""].concat();
        let text: String = serde_json::from_slice(&quoted).unwrap_or_default();
        text.encode_utf16().collect()
    };
    units(key).cmp(&units(next))
}

impl Sorted {
    fn end_object(&mut self) -> io::Result<()> {
        let Some((from, first)) = self.open.pop() else { return Err(io::ErrorKind::Other.into()) };
        let entries = self.entries.get_mut(first..).unwrap_or_default();
        let out = &self.out;
        let rising = |one: &Entry, other: &Entry| compare(one, other, out) == Ordering::Less;
        if !entries.is_sorted_by(rising) {
            entries.sort_unstable_by(|one, other| compare(one, other, out));
            if !entries.is_sorted_by(rising) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a key stands twice"));
            }
            self.spare.clear();
            for entry in entries.iter() {
                if !self.spare.is_empty() {
                    self.spare.push(b',');
                }
                self.spare.extend_from_slice(out.get(entry.start..entry.end).unwrap_or_default());
            }
            self.out.truncate(from);
            self.out.extend_from_slice(&self.spare);
        }
        self.entries.truncate(first);
        self.out.push(b'}');
        Ok(())
    }

    fn whole(&mut self, negative: bool, size: u64) -> io::Result<()> {
        if size > EXACT {
            let from = self.out.len();
            let number = size as f64;
            self.number(if negative { -number } else { number })?;
            let digits = self.out.get(from + usize::from(negative)..).unwrap_or_default();
            self.rounded |= digits != size.to_string().as_bytes();
            return Ok(());
        }
        if negative {
            self.out.push(b'-');
        }
        write!(self.out, "{size}")
    }

    /// The few numbers that are not whole, or too large, are left to the slow way.
    fn number(&mut self, number: f64) -> io::Result<()> {
        self.out.extend_from_slice(&haft_model::canonical(&number));
        Ok(())
    }
}

/// Writes into what was written so far.
struct Pen<'a>(&'a mut Sorted);

macro_rules! whole_numbers {
    ($($signed:ident $unsigned:ident $i:ty, $u:ty;)*) => {
        $(fn $signed<W: ?Sized + Write>(&mut self, _: &mut W, value: $i) -> io::Result<()> {
            self.0.whole(value < 0, u64::from(value.unsigned_abs()))
        }

        fn $unsigned<W: ?Sized + Write>(&mut self, _: &mut W, value: $u) -> io::Result<()> {
            self.0.whole(false, u64::from(value))
        })*
    };
}

macro_rules! marks {
    ($($method:ident $mark:literal;)*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
            self.0.out.extend_from_slice($mark);
            Ok(())
        })*
    };
}

impl Formatter for Pen<'_> {
    whole_numbers! {
        write_i8 write_u8 i8, u8;
        write_i16 write_u16 i16, u16;
        write_i32 write_u32 i32, u32;
        write_i64 write_u64 i64, u64;
    }

    marks! {
        write_null b"null";
        begin_string b"\"";
        end_string b"\"";
        begin_array b"[";
        end_array b"]";
        end_array_value b"";
        begin_object_value b":";
    }

    fn write_bool<W: ?Sized + Write>(&mut self, _: &mut W, value: bool) -> io::Result<()> {
        self.0.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn write_f32<W: ?Sized + Write>(&mut self, _: &mut W, value: f32) -> io::Result<()> {
        self.0.number(f64::from(value))
    }

    fn write_f64<W: ?Sized + Write>(&mut self, _: &mut W, value: f64) -> io::Result<()> {
        self.0.number(value)
    }

    fn write_number_str<W: ?Sized + Write>(&mut self, _: &mut W, text: &str) -> io::Result<()> {
        self.0.number(text.parse().map_err(io::Error::other)?)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.0.out.extend_from_slice(fragment.as_bytes());
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let short: &[u8] = match escape {
            CharEscape::Quote => b"\\\"",
            CharEscape::ReverseSolidus => b"\\\\",
            CharEscape::Solidus => b"/",
            CharEscape::Backspace => b"\\b",
            CharEscape::FormFeed => b"\\f",
            CharEscape::LineFeed => b"\\n",
            CharEscape::CarriageReturn => b"\\r",
            CharEscape::Tab => b"\\t",
            CharEscape::AsciiControl(byte) => return write!(self.0.out, "\\u{byte:04x}"),
        };
        self.0.out.extend_from_slice(short);
        Ok(())
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        if !first {
            self.0.out.push(b',');
        }
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b'{');
        self.0.open.push((self.0.out.len(), self.0.entries.len()));
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.end_object()
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        if !first {
            self.0.out.push(b',');
        }
        let start = self.0.out.len();
        self.0.entries.push(Entry { start, key_end: start, end: start, plain: true });
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let at = self.0.out.len();
        if let Some(entry) = self.0.entries.last_mut() {
            entry.key_end = at;
            let plain = |byte: &u8| byte.is_ascii() && *byte != b'\\';
            entry.plain = entry.key(&self.0.out).iter().all(plain);
        }
        Ok(())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let at = self.0.out.len();
        if let Some(entry) = self.0.entries.last_mut() {
            entry.end = at;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_quick_way_gives_the_bytes_of_the_slow_way() {
        let mut nasty = json!({
            "z": {"b": [], "a": {}, "": null, "a b": 1, "a": 2, "a!": 3, "ab": 4},
            "numbers": [0, -1, 1.5, 1e21, 1e-7, -0.0, 100.0, u64::MAX, i64::MIN, 9_007_199_254_740_993_u64],
            "text": "q\"b\\s/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}ü€😀",
            "\u{fb33}": "after in UTF-8, before in UTF-16", "😀": "the other way round",
            "\n": 1, "\"": 2, "\\": 3, "\u{1}": 4, "é": 5, "e\u{301}": 6,
            "flags": [true, false, null],
        });
        for depth in 0..4 {
            let slow = String::from_utf8(haft_model::canonical(&nasty)).unwrap();
            assert_eq!(canonical(&nasty).unwrap().text, slow, "depth {depth}");
            let list = canonical(&json!(["x", nasty.clone()])).unwrap();
            assert_eq!(list.text, format!("[\"x\",{slow}]"));
            nasty = json!({"y": nasty.clone(), "x": [nasty, {"b": 1, "a": 2}], "w": 0});
        }
    }

    #[test]
    fn a_number_beyond_doubles_is_said_to_be_rounded() {
        let rounded = |value: Value| canonical(&value).unwrap().rounded;
        assert!(!rounded(json!([EXACT, -(EXACT as i64), 0.1, 1e300, 10_000_000_000_000_000_u64])));
        assert!(rounded(json!({"a": EXACT + 1})) && rounded(json!(u64::MAX)));
        assert!(rounded(json!(i64::MIN)), "written as -9223372036854776000");
    }

    #[test]
    fn a_key_that_stands_twice_has_no_canonical_form() {
        #[derive(Serialize)]
        struct Twice {
            a: u8,
            #[serde(flatten)]
            rest: Value,
        }
        let once = canonical(&Twice { a: 1, rest: json!({"b": 2}) }).unwrap();
        assert_eq!(once.text, r#"{"a":1,"b":2}"#);
        assert_eq!(canonical(&Twice { a: 1, rest: json!({"a": 2}) }), None);
    }
}
