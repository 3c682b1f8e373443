//! D-Bus client: method calls to other programs of this session, one at a time.
//!
//! It sends calls and awaits their replies, and that is all: signals are skipped, and no object is
//! offered to others. [`wire`] writes and reads the values, [`address`] finds the socket.

mod address;
pub(super) mod wire;

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use wire::{Reader, Writer};

/// Largest message that is read, in bytes; the bus itself allows 128 MiB.
const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// Longest line of the authentication, in bytes.
const LONGEST_LINE: usize = 4096;

/// BusMessage types.
const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;

/// Header fields.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// Bytes of a header before its fields.
const FIXED_HEADER: usize = 16;

/// Why a call has no reply.
#[derive(Debug)]
pub(super) enum CallError {
    /// The bus or the other program refused: the name of the error and its message.
    Refused(String, String),
    /// The connection broke, or what came is not D-Bus.
    Lost(String),
}

impl From<io::Error> for CallError {
    fn from(fault: io::Error) -> CallError {
        CallError::Lost(fault.to_string())
    }
}

/// A method of an object of another program.
pub(super) struct Method<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
}

/// The arguments of a call: their types and their values.
pub(super) struct Arguments {
    pub(super) signature: &'static str,
    pub(super) body: Writer,
}

/// A connection to the bus.
pub(super) struct Connection {
    stream: UnixStream,
    serial: u32,
}

impl Connection {
    /// Connects to the first address of the list that answers.
    pub(super) async fn open(addresses: &str) -> Result<Connection, CallError> {
        let stream = address::connect(addresses).await?;
        let mut connection = Connection { stream, serial: 0 };
        connection.authenticate().await?;
        let bus = "org.freedesktop.DBus";
        let path = "/org/freedesktop/DBus";
        let hello = Method { destination: bus, path, interface: bus, member: "Hello" };
        let none = Arguments { signature: "", body: Writer::default() };
        connection.call(&hello, none, "s").await?;
        Ok(connection)
    }

    /// Tells the bus which user this is; the kernel confirms it to the other side of the socket.
    async fn authenticate(&mut self) -> Result<(), CallError> {
        let user = rustix::process::geteuid().as_raw().to_string();
        let user: String = user.bytes().map(|digit| format!("{digit:02x}")).collect();
        self.stream.write_all(format!("\0AUTH EXTERNAL {user}\r\n").as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") && answer.len() < LONGEST_LINE {
            answer.push(self.stream.read_u8().await?);
        }
        if !answer.starts_with(b"OK ") {
            return Err(CallError::Lost("the bus refuses this user".to_owned()));
        }
        Ok(self.stream.write_all(b"BEGIN\r\n").await?)
    }

    /// Calls a method and returns the values of its reply, which must be of these types.
    pub(super) async fn call(
        &mut self,
        method: &Method<'_>,
        arguments: Arguments,
        expected: &str,
    ) -> Result<Reader, CallError> {
        self.serial += 1;
        let message = encode(self.serial, method, arguments)?;
        self.stream.write_all(&message).await?;
        loop {
            let message = self.receive().await?;
            if message.reply_serial != Some(self.serial) {
                continue;
            }
            return match message.kind {
                METHOD_RETURN if message.signature == expected => Ok(message.body),
                METHOD_RETURN => Err(CallError::Lost(format!(
                    "it answered with `{}` where `{expected}` is due",
                    message.signature
                ))),
                ERROR => Err(message.refused()),
                _ => continue,
            };
        }
    }

    async fn receive(&mut self) -> Result<BusMessage, CallError> {
        let mut bytes = vec![0; FIXED_HEADER];
        self.stream.read_exact(&mut bytes).await?;
        let whole = BusMessage::length(&bytes).filter(|length| *length <= LARGEST_MESSAGE);
        let whole = whole.ok_or_else(not_dbus)?;
        bytes.resize(whole, 0);
        let rest = bytes.get_mut(FIXED_HEADER..).ok_or_else(not_dbus)?;
        self.stream.read_exact(rest).await?;
        BusMessage::parse(bytes).ok_or_else(not_dbus)
    }
}

fn not_dbus() -> CallError {
    CallError::Lost("what the bus sent is no message of D-Bus".to_owned())
}

fn encode(serial: u32, method: &Method, arguments: Arguments) -> Result<Vec<u8>, CallError> {
    let body = arguments.body.into_bytes().ok_or_else(not_dbus)?;
    let mut message = Writer::default();
    [wire::LITTLE_ENDIAN, METHOD_CALL, 0, 1].into_iter().for_each(|byte| message.byte(byte));
    message.number(u32::try_from(body.len()).map_err(|_| not_dbus())?);
    message.number(serial);
    let texts = [
        (PATH, "o", method.path),
        (INTERFACE, "s", method.interface),
        (MEMBER, "s", method.member),
        (DESTINATION, "s", method.destination),
    ];
    message.array(8, |fields| {
        for (field, signature, value) in texts {
            fields.align(8);
            fields.byte(field);
            fields.signature(signature);
            fields.text(value);
        }
        if !arguments.signature.is_empty() {
            fields.align(8);
            fields.byte(SIGNATURE);
            fields.signature("g");
            fields.signature(arguments.signature);
        }
    });
    message.align(8);
    let mut message = message.into_bytes().ok_or_else(not_dbus)?;
    message.extend(body);
    Ok(message)
}

/// A message from the bus.
struct BusMessage {
    kind: u8,
    reply_serial: Option<u32>,
    error: Option<String>,
    signature: String,
    body: Reader,
}

impl BusMessage {
    /// The length of a message whose fixed header this is.
    fn length(header: &[u8]) -> Option<usize> {
        let mut reader = Reader::new(header.to_vec())?;
        reader.skip(4)?;
        let body = usize::try_from(reader.number()?).ok()?;
        reader.skip(4)?;
        let fields = usize::try_from(reader.number()?).ok()?.checked_next_multiple_of(8)?;
        FIXED_HEADER.checked_add(fields)?.checked_add(body)
    }

    fn parse(bytes: Vec<u8>) -> Option<BusMessage> {
        let kind = *bytes.get(1)?;
        let mut reader = Reader::new(bytes)?;
        reader.skip(12)?;
        let (mut reply_serial, mut error, mut signature) = (None, None, String::new());
        let end = reader.array(8)?;
        while reader.position() < end {
            reader.align(8)?;
            let field = reader.byte()?;
            match (field, reader.signature()?.as_str()) {
                (REPLY_SERIAL, "u") => reply_serial = Some(reader.number()?),
                (ERROR_NAME, "s") => error = Some(reader.text()?),
                (SIGNATURE, "g") => signature = reader.signature()?,
                (_, "s" | "o") => drop(reader.text()?),
                (_, "g") => drop(reader.signature()?),
                (_, "u") => drop(reader.number()?),
                _ => return None,
            }
        }
        reader.align(8)?;
        Some(BusMessage { kind, reply_serial, error, signature, body: reader.rest()? })
    }

    fn refused(mut self) -> CallError {
        let text = if self.signature.starts_with('s') { self.body.text() } else { None };
        CallError::Refused(self.error.unwrap_or_default(), text.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_call_is_encoded_as_the_specification_says() {
        let method = Method { destination: "a.b", path: "/c", interface: "d.e", member: "F" };
        let mut body = Writer::default();
        body.text("hi");
        let message = encode(7, &method, Arguments { signature: "s", body }).unwrap();
        let expected = b"l\x01\x00\x01\x07\0\0\0\x07\0\0\0\x47\0\0\0\
            \x01\x01o\0\x02\0\0\0/c\0\0\0\0\0\0\
            \x02\x01s\0\x03\0\0\0d.e\0\0\0\0\0\
            \x03\x01s\0\x01\0\0\0F\0\0\0\0\0\0\0\
            \x06\x01s\0\x03\0\0\0a.b\0\0\0\0\0\
            \x08\x01g\0\x01s\0\0\x02\0\0\0hi\0";
        assert_eq!(message, expected);
        assert_eq!(BusMessage::length(&message), Some(message.len()));
    }

    #[test]
    fn message_cut_short_or_garbled_is_refused() {
        let method = Method { destination: "a", path: "/", interface: "b", member: "C" };
        let arguments = Arguments { signature: "", body: Writer::default() };
        let whole = encode(1, &method, arguments).unwrap();
        assert!(BusMessage::parse(whole.clone()).is_some());
        for length in 0..whole.len() {
            let cut = whole.get(..length).unwrap().to_vec();
            assert!(BusMessage::parse(cut).is_none(), "{length}");
        }
        for at in 0..whole.len() {
            let mut garbled = whole.clone();
            garbled[at] = 0xff;
            let _ = (BusMessage::length(&garbled), BusMessage::parse(garbled));
        }
    }
}
