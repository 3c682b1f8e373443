//! Byte encoding of results: UTF-8 text where possible, else base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes in a form that JSON can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EncodedBytes {
    pub(super) content: String,
    pub(super) encoding: &'static str,
    /// How many of the bytes it holds.
    pub(super) bytes: usize,
}

/// Whether the bytes are complete or truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteEnd {
    Whole,
    Cut,
}

/// Encodes bytes. A character that is cut in two is left for the next part, unless it is all there
/// is.
pub(super) fn show(mut bytes: Vec<u8>, end: ByteEnd) -> EncodedBytes {
    if let Err(fault) = std::str::from_utf8(&bytes) {
        let cut_in_two = end == ByteEnd::Cut && fault.error_len().is_none();
        if cut_in_two && fault.valid_up_to() > 0 {
            bytes.truncate(fault.valid_up_to());
        }
    }
    let count = bytes.len();
    match String::from_utf8(bytes) {
        Ok(content) => EncodedBytes { content, encoding: "utf-8", bytes: count },
        Err(fault) => {
            let content = STANDARD.encode(fault.as_bytes());
            EncodedBytes { content, encoding: "base64", bytes: count }
        }
    }
}

/// Decodes base64.
pub(super) fn unwrapped(base64: &str) -> Option<Vec<u8>> {
    STANDARD.decode(base64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_shows_as_text_uncut_and_rest_as_base64() {
        let cases = [
            (b"plain".as_slice(), ByteEnd::Whole, ("plain", "utf-8", 5)),
            ("né".as_bytes(), ByteEnd::Cut, ("né", "utf-8", 3)),
            (b"n\xc3", ByteEnd::Cut, ("n", "utf-8", 1)),
            (b"n\xc3", ByteEnd::Whole, ("bsM=", "base64", 2)),
            (b"\xc3", ByteEnd::Cut, ("ww==", "base64", 1)),
            (b"\xa9n", ByteEnd::Cut, ("qW4=", "base64", 2)),
        ];
        for (bytes, end, (content, encoding, count)) in cases {
            let expected = EncodedBytes { content: content.to_owned(), encoding, bytes: count };
            assert_eq!(show(bytes.to_vec(), end), expected, "{bytes:?} {end:?}");
        }
        assert_eq!(unwrapped("bsM="), Some(b"n\xc3".to_vec()));
        assert_eq!(unwrapped("not base64"), None);
    }
}
