//! Canonical JSON (RFC 8785): one text for every value, whatever the order of its keys.
//!
//! Written in one buffer, because every call is hashed several times: an object is put down as it
//! comes and sorted in place at its end, and most come sorted already.

use std::cmp::Ordering;
use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

/// Whole numbers beyond this are not exact in the numbers that JSON means.
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
    /// Its text.
    pub text: String,
    /// Whether a whole number in it was rounded: canonical JSON knows doubles only.
    pub rounded: bool,
}

impl Canonical {
    /// The canonical form of a value; none if it has none.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Option<Canonical> {
        let mut text = Text { out: Vec::with_capacity(512), ..Text::default() };
        let mut serializer = serde_json::Serializer::with_formatter(io::sink(), Writer(&mut text));
        value.serialize(&mut serializer).ok()?;
        Some(Canonical { text: String::from_utf8(text.out).ok()?, rounded: text.rounded })
    }
}

/// A text under way.
#[derive(Default)]
struct Text {
    out: Vec<u8>,
    /// The objects that are open.
    objects: Vec<Open>,
    /// The properties of the objects that are open.
    properties: Vec<Property>,
    /// Where properties are put in order.
    sorted: Vec<u8>,
    rounded: bool,
}

/// An object that is open.
#[derive(Clone, Copy)]
struct Open {
    /// Where its first property begins.
    start: usize,
    /// The same in `properties`.
    first: usize,
    /// Whether its properties came in order so far.
    in_order: bool,
}

/// Where a property lies: its key, quotes included, and its end.
#[derive(Clone, Copy)]
struct Property {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Text {
    fn key(&self, property: &Property) -> &[u8] {
        self.out.get(property.start + 1..property.key_end.saturating_sub(1)).unwrap_or_default()
    }

    /// Looks whether the key that just ended comes after the one before it.
    fn end_key(&mut self) {
        let end = self.out.len();
        let Some(property) = self.properties.last_mut() else { return };
        property.key_end = end;
        let Some(Open { first, in_order: true, .. }) = self.objects.last().copied() else { return };
        if let Some([.., before, last]) = self.properties.get(first..)
            && compare(self.key(before), self.key(last)) != Ordering::Less
            && let Some(object) = self.objects.last_mut()
        {
            object.in_order = false;
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

    fn put_in_order(&mut self, object: Open) {
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

/// Keys are ordered by their UTF-16 code units, which for plain ASCII are its bytes; they are read as
/// such only where the first difference is something else.
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

/// Hands everything to the text; the writer that serde_json passes along goes nowhere.
struct Writer<'t>(&'t mut Text);

impl Writer<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.out.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn comma(&mut self, first: bool) {
        if !first {
            self.0.out.push(b',');
        }
    }

    fn whole(&mut self, magnitude: u64, negative: bool) -> io::Result<()> {
        if magnitude > LARGEST_EXACT {
            let number = magnitude as f64;
            let at = self.0.out.len();
            self.number(if negative { -number } else { number })?;
            let written = self.0.out.get(at + usize::from(negative)..).unwrap_or_default();
            self.0.rounded |= written != magnitude.to_string().as_bytes();
            return Ok(());
        }
        let mut digits = [0; 20];
        let mut rest = magnitude;
        let mut at = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            at -= 1;
            if rest == 0 {
                break;
            }
        }
        if negative {
            self.0.out.push(b'-');
        }
        self.put(digits.get(at..).unwrap_or_default())
    }

    fn number(&mut self, number: f64) -> io::Result<()> {
        let text = serde_json_canonicalizer::to_vec(&number).map_err(io::Error::other)?;
        self.put(&text)
    }
}

impl Formatter for Writer<'_> {
    fn write_null<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"null")
    }

    fn write_bool<W: ?Sized + io::Write>(&mut self, _: &mut W, value: bool) -> io::Result<()> {
        self.put(if value { b"true" } else { b"false" })
    }

    fn write_i8<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i8) -> io::Result<()> {
        self.write_i64(writer, value.into())
    }

    fn write_i16<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i16) -> io::Result<()> {
        self.write_i64(writer, value.into())
    }

    fn write_i32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i32) -> io::Result<()> {
        self.write_i64(writer, value.into())
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i64) -> io::Result<()> {
        self.whole(value.unsigned_abs(), value < 0)
    }

    fn write_i128<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i128) -> io::Result<()> {
        self.0.rounded |= value.unsigned_abs() > LARGEST_EXACT.into();
        self.number(value as f64)
    }

    fn write_u8<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u8) -> io::Result<()> {
        self.whole(value.into(), false)
    }

    fn write_u16<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u16) -> io::Result<()> {
        self.whole(value.into(), false)
    }

    fn write_u32<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u32) -> io::Result<()> {
        self.whole(value.into(), false)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u64) -> io::Result<()> {
        self.whole(value, false)
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u128) -> io::Result<()> {
        self.0.rounded |= value > LARGEST_EXACT.into();
        self.number(value as f64)
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, _: &mut W, value: f32) -> io::Result<()> {
        self.number(value.into())
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: f64) -> io::Result<()> {
        self.number(value)
    }

    fn write_number_str<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        value: &str,
    ) -> io::Result<()> {
        let number: f64 = value.parse().map_err(io::Error::other)?;
        self.number(number)
    }

    #[inline]
    fn begin_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    #[inline]
    fn end_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    #[inline]
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.put(fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Quote => self.put(b"\\\""),
            CharEscape::ReverseSolidus => self.put(b"\\\\"),
            CharEscape::Solidus => self.put(b"/"),
            CharEscape::Backspace => self.put(b"\\b"),
            CharEscape::FormFeed => self.put(b"\\f"),
            CharEscape::LineFeed => self.put(b"\\n"),
            CharEscape::CarriageReturn => self.put(b"\\r"),
            CharEscape::Tab => self.put(b"\\t"),
            CharEscape::AsciiControl(byte) => self.put(format!("\\u{byte:04x}").as_bytes()),
        }
    }

    #[inline]
    fn begin_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"[")
    }

    #[inline]
    fn end_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"]")
    }

    #[inline]
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.comma(first);
        Ok(())
    }

    #[inline]
    fn begin_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b'{');
        let (start, first) = (self.0.out.len(), self.0.properties.len());
        self.0.objects.push(Open { start, first, in_order: true });
        Ok(())
    }

    #[inline]
    fn end_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.end_object();
        Ok(())
    }

    #[inline]
    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.comma(first);
        let start = self.0.out.len();
        self.0.properties.push(Property { start, key_end: start, end: start });
        Ok(())
    }

    #[inline]
    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.end_key();
        Ok(())
    }

    #[inline]
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b":")
    }

    #[inline]
    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.0.out.len();
        if let Some(property) = self.0.properties.last_mut() {
            property.end = end;
        }
        Ok(())
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let value: serde_json::Value = serde_json::from_str(fragment).map_err(io::Error::other)?;
        let text = canonical(&value);
        self.put(&text)
    }
}

#[cfg(test)]
mod tests;
