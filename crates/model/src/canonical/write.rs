//! Canonical JSON serializer: writes strings in runs instead of byte by byte.
//!
//! It is no formatter of `serde_json`, because every call's record is made here and that formatter
//! takes strings apart byte by byte, which costs half of the time.

use std::fmt::{self, Display, Write as _};

use serde::ser::{Error, Serialize, Serializer};

use super::parts::{CompoundKind, List, Object};
use super::{LARGEST_EXACT, Text};

/// Marker names by which `serde_json` passes raw JSON, and numbers as digits.
const RAW: &str = "$serde_json::private::RawValue";
const NUMBER: &str = "$serde_json::private::Number";

/// The value has no canonical form.
#[derive(Debug)]
pub(super) struct Formless;

impl Display for Formless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no canonical form")
    }
}

impl std::error::Error for Formless {}

impl Error for Formless {
    fn custom<T: Display>(_: T) -> Formless {
        Formless
    }
}

pub(super) type WriteResult = Result<(), Formless>;

impl Text {
    pub(super) fn put(&mut self, bytes: &[u8]) -> WriteResult {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn string(&mut self, text: &str) -> WriteResult {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        self.fragment(text);
        self.out.push(b'"');
        Ok(())
    }

    /// A part of a string, without quotes.
    fn fragment(&mut self, text: &str) {
        if is_plain(text.as_bytes()) {
            self.out.extend_from_slice(text.as_bytes());
            return;
        }
        for byte in text.bytes() {
            match byte {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                0x08 => self.out.extend_from_slice(b"\\b"),
                0x0c => self.out.extend_from_slice(b"\\f"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'\r' => self.out.extend_from_slice(b"\\r"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                0..0x20 => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.out.push(byte),
            }
        }
    }

    fn whole(&mut self, magnitude: u64, negative: bool) -> WriteResult {
        if magnitude > LARGEST_EXACT {
            let number = magnitude as f64;
            let at = self.out.len();
            self.number(if negative { -number } else { number })?;
            let written = self.out.get(at + usize::from(negative)..).unwrap_or_default();
            self.rounded |= written != magnitude.to_string().as_bytes();
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
            self.out.push(b'-');
        }
        self.put(digits.get(at..).unwrap_or_default())
    }

    pub(super) fn number(&mut self, number: f64) -> WriteResult {
        if !number.is_finite() {
            return self.put(b"null");
        }
        let text = serde_json_canonicalizer::to_vec(&number).map_err(|_| Formless)?;
        self.put(&text)
    }

    pub(super) fn property<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> WriteResult {
        self.begin_key();
        self.string(key)?;
        self.end_key();
        value.serialize(&mut *self)?;
        self.end_value();
        Ok(())
    }

    fn begin_variant(&mut self, variant: &str) -> WriteResult {
        self.begin_object();
        self.begin_key();
        self.string(variant)?;
        self.end_key();
        Ok(())
    }

    pub(super) fn end_variant(&mut self) -> WriteResult {
        self.end_value();
        self.end_object();
        Ok(())
    }
}

/// Whether a string needs no escaping; checks eight bytes at a time.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let below = |bytes: u64, least: u8| bytes.wrapping_sub(ONES * u64::from(least)) & !bytes & TOPS;
    let (eights, rest) = text.as_chunks::<8>();
    eights.iter().all(|eight| {
        let bytes = u64::from_ne_bytes(*eight);
        let quote = bytes ^ (ONES * u64::from(b'"'));
        let backslash = bytes ^ (ONES * u64::from(b'\\'));
        below(bytes, 0x20) | below(quote, 1) | below(backslash, 1) == 0
    }) && rest.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\')
}

/// A writer for string fragments, as they are formatted.
struct Fragments<'t>(&'t mut Text);

impl fmt::Write for Fragments<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.fragment(text);
        Ok(())
    }
}

/// A map key that may not be a string; compound keys are refused.
pub(super) struct Key<'k, T: ?Sized>(pub(super) &'k T);

impl<T: Serialize + ?Sized> Display for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

macro_rules! whole {
    ($($name:ident: $number:ty),*) => {
        $(fn $name(self, value: $number) -> WriteResult {
            self.whole(u64::from(value), false)
        })*
    };
}

macro_rules! signed {
    ($($name:ident: $number:ty),*) => {
        $(fn $name(self, value: $number) -> WriteResult {
            self.whole(u64::from(value.unsigned_abs()), value < 0)
        })*
    };
}

impl<'t> Serializer for &'t mut Text {
    type Ok = ();
    type Error = Formless;
    type SerializeSeq = List<'t>;
    type SerializeTuple = List<'t>;
    type SerializeTupleStruct = List<'t>;
    type SerializeTupleVariant = List<'t>;
    type SerializeMap = Object<'t>;
    type SerializeStruct = Object<'t>;
    type SerializeStructVariant = Object<'t>;

    whole!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);
    signed!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);

    fn serialize_i128(self, value: i128) -> WriteResult {
        self.rounded |= value.unsigned_abs() > LARGEST_EXACT.into();
        self.number(value as f64)
    }

    fn serialize_u128(self, value: u128) -> WriteResult {
        self.rounded |= value > LARGEST_EXACT.into();
        self.number(value as f64)
    }

    fn serialize_f32(self, value: f32) -> WriteResult {
        self.number(value.into())
    }

    fn serialize_f64(self, value: f64) -> WriteResult {
        self.number(value)
    }

    fn serialize_bool(self, value: bool) -> WriteResult {
        self.put(if value { b"true" } else { b"false" })
    }

    fn serialize_char(self, value: char) -> WriteResult {
        self.string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> WriteResult {
        self.string(value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> WriteResult {
        self.out.push(b'"');
        write!(Fragments(self), "{value}").map_err(|_| Formless)?;
        self.put(b"\"")
    }

    fn serialize_bytes(self, value: &[u8]) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_none(self) -> WriteResult {
        self.put(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_unit(self) -> WriteResult {
        self.put(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> WriteResult {
        self.put(b"null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        self.begin_variant(variant)?;
        value.serialize(&mut *self)?;
        self.end_variant()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'t>, Formless> {
        self.out.push(b'[');
        Ok(List { text: self, first: true, within: false })
    }

    fn serialize_tuple(self, length: usize) -> Result<List<'t>, Formless> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<List<'t>, Formless> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<List<'t>, Formless> {
        self.begin_variant(variant)?;
        Ok(List { within: true, ..self.serialize_seq(Some(length))? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'t>, Formless> {
        self.begin_object();
        Ok(Object { text: self, kind: CompoundKind::Plain })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'t>, Formless> {
        let kind = match name {
            RAW => CompoundKind::Raw,
            NUMBER => CompoundKind::Number,
            _ => return self.serialize_map(None),
        };
        Ok(Object { text: self, kind })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'t>, Formless> {
        self.begin_variant(variant)?;
        self.begin_object();
        Ok(Object { text: self, kind: CompoundKind::Variant })
    }
}
