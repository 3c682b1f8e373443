//! Protocol buffers: writes and reads the fields of one message.
//!
//! Numbers, bytes and nested messages are all that OTLP spans are made of.

/// Wire types.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

/// A message that is being written, field by field.
#[derive(Default)]
pub(super) struct EncodedMessage(Vec<u8>);

impl EncodedMessage {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED_64);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | LENGTH);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    pub(super) fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub(super) fn message(&mut self, field: u64, value: &EncodedMessage) {
        self.bytes(field, &value.0);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The fields of a message that is being read, up to the first that cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

/// The value of a field.
enum FieldValue<'a> {
    Integer(u64),
    Bytes(&'a [u8]),
    Other,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields(message)
    }

    /// The first field of this number, if it is a number.
    pub(super) fn integer(self, field: u64) -> Option<u64> {
        match self.value(field)? {
            FieldValue::Integer(value) => Some(value),
            FieldValue::Bytes(_) | FieldValue::Other => None,
        }
    }

    /// The first field of this number, if it is bytes, a text or a message.
    pub(super) fn bytes(self, field: u64) -> Option<&'a [u8]> {
        match self.value(field)? {
            FieldValue::Bytes(value) => Some(value),
            FieldValue::Integer(_) | FieldValue::Other => None,
        }
    }

    fn value(mut self, field: u64) -> Option<FieldValue<'a>> {
        loop {
            let (found, value) = self.next()?;
            if found == field {
                return Some(value);
            }
        }
    }

    fn next(&mut self) -> Option<(u64, FieldValue<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            VARINT => FieldValue::Integer(self.varint()?),
            LENGTH => {
                let length = self.varint()?;
                FieldValue::Bytes(self.take(length)?)
            }
            FIXED_64 => self.take(8).map(|_| FieldValue::Other)?,
            FIXED_32 => self.take(4).map(|_| FieldValue::Other)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}
