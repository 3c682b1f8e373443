//! D-Bus marshalling: the values of a message, aligned to their sizes.
//!
//! Offsets count from the start of a message, and a body starts at a multiple of eight, so that a
//! body of its own has the same alignments.

/// The mark of the byte order that we write, and of the other one.
pub(in crate::vault::keyring) const LITTLE_ENDIAN: u8 = b'l';
const BIG_ENDIAN: u8 = b'B';

/// Values that are being written.
#[derive(Default)]
pub(in crate::vault::keyring) struct Writer {
    bytes: Vec<u8>,
    /// A value was too long for its length field.
    overflowed: bool,
}

impl Writer {
    /// What was written; `None` where a value was too long.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        (!self.overflowed).then_some(self.bytes)
    }

    pub(in crate::vault::keyring) fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    pub(in crate::vault::keyring) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(in crate::vault::keyring) fn number(&mut self, value: u32) {
        self.align(4);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(in crate::vault::keyring) fn flag(&mut self, value: bool) {
        self.number(value.into());
    }

    /// A string or an object path.
    pub(in crate::vault::keyring) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
        self.bytes.push(0);
    }

    /// An array of bytes.
    pub(in crate::vault::keyring) fn bytes(&mut self, value: &[u8]) {
        let length = u32::try_from(value.len());
        self.overflowed |= length.is_err();
        self.number(length.unwrap_or_default());
        self.bytes.extend(value);
    }

    pub(in crate::vault::keyring) fn signature(&mut self, value: &str) {
        let length = u8::try_from(value.len());
        self.overflowed |= length.is_err();
        self.bytes.push(length.unwrap_or_default());
        self.bytes.extend(value.as_bytes());
        self.bytes.push(0);
    }

    /// An array whose elements are aligned so.
    pub(in crate::vault::keyring) fn array(&mut self, to: usize, fill: impl FnOnce(&mut Writer)) {
        self.number(0);
        let length_at = self.bytes.len() - 4;
        self.align(to);
        let start = self.bytes.len();
        fill(self);
        let length = u32::try_from(self.bytes.len() - start);
        self.overflowed |= length.is_err();
        let length = length.unwrap_or_default().to_le_bytes();
        let field = self.bytes.iter_mut().skip(length_at);
        field.zip(length).for_each(|(to, from)| *to = from);
    }
}

/// Values that are being read; `None` where there is no such value.
#[derive(Debug)]
pub(in crate::vault::keyring) struct Reader {
    bytes: Vec<u8>,
    at: usize,
    big_endian: bool,
}

impl Reader {
    /// Reads a whole message, whose first byte tells the order of the others.
    pub(super) fn new(message: Vec<u8>) -> Option<Reader> {
        let big_endian = match *message.first()? {
            LITTLE_ENDIAN => false,
            BIG_ENDIAN => true,
            _ => return None,
        };
        Some(Reader { bytes: message, at: 0, big_endian })
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// What is left, as a body of its own.
    pub(super) fn rest(mut self) -> Option<Reader> {
        let rest = self.bytes.get(self.at..)?.to_vec();
        (self.bytes, self.at) = (rest, 0);
        Some(self)
    }

    pub(super) fn align(&mut self, to: usize) -> Option<()> {
        let at = self.at.checked_next_multiple_of(to)?;
        (at <= self.bytes.len()).then(|| self.at = at)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        self.align(4)?;
        let big_endian = self.big_endian;
        let bytes: [u8; 4] = self.take(4)?.try_into().ok()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A string or an object path.
    pub(in crate::vault::keyring) fn text(&mut self) -> Option<String> {
        let text = String::from_utf8(self.byte_array()?).ok()?;
        (self.byte()? == 0).then_some(text)
    }

    pub(in crate::vault::keyring) fn byte_array(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length).map(<[u8]>::to_vec)
    }

    pub(super) fn signature(&mut self) -> Option<String> {
        let length = self.byte()?;
        let text = String::from_utf8(self.take(length.into())?.to_vec()).ok()?;
        (self.byte()? == 0).then_some(text)
    }

    /// Starts an array whose elements are aligned so; returns where it ends.
    pub(super) fn array(&mut self, to: usize) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        self.align(to)?;
        let end = self.at.checked_add(length)?;
        (end <= self.bytes.len()).then_some(end)
    }

    /// An array of strings or object paths.
    pub(in crate::vault::keyring) fn texts(&mut self) -> Option<Vec<String>> {
        let end = self.array(4)?;
        let mut texts = Vec::new();
        while self.at < end {
            texts.push(self.text()?);
        }
        Some(texts)
    }

    /// Starts a struct.
    pub(in crate::vault::keyring) fn structure(&mut self) -> Option<()> {
        self.align(8)
    }

    /// A variant that holds a string or an object path.
    pub(in crate::vault::keyring) fn text_variant(&mut self) -> Option<String> {
        matches!(self.signature()?.as_str(), "s" | "o").then(|| self.text())?
    }

    /// A variant that holds a boolean.
    pub(in crate::vault::keyring) fn flag_variant(&mut self) -> Option<bool> {
        (self.signature()? == "b").then(|| self.number())?.map(|number| number == 1)
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}
