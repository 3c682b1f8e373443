//! D-Bus addresses: the sockets that an address list names.

use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use tokio::net::UnixStream;

/// A socket of this machine.
#[derive(Debug, PartialEq, Eq)]
enum Socket {
    Path(Vec<u8>),
    /// A name without a file, which Linux alone has.
    Abstract(Vec<u8>),
}

/// Connects to the first socket of the list that answers.
pub(super) async fn connect(addresses: &str) -> io::Result<UnixStream> {
    let mut fault = io::Error::new(io::ErrorKind::Unsupported, "the bus has no `unix:` address");
    for socket in sockets(addresses) {
        match socket.connect().await {
            Ok(stream) => return Ok(stream),
            Err(next) => fault = next,
        }
    }
    Err(fault)
}

impl Socket {
    async fn connect(self) -> io::Result<UnixStream> {
        match self {
            Socket::Path(path) => {
                UnixStream::connect(PathBuf::from(std::ffi::OsString::from_vec(path))).await
            }
            Socket::Abstract(name) => abstract_socket(&name),
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_socket(name: &[u8]) -> io::Result<UnixStream> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream as Blocking};
    let stream = Blocking::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

#[cfg(not(target_os = "linux"))]
fn abstract_socket(_: &[u8]) -> io::Result<UnixStream> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "abstract sockets are Linux's"))
}

/// The sockets of an address list, in order; other transports are left out.
fn sockets(addresses: &str) -> Vec<Socket> {
    addresses.split(';').filter_map(socket).collect()
}

fn socket(address: &str) -> Option<Socket> {
    let pairs = address.strip_prefix("unix:")?.split(',');
    pairs.filter_map(|pair| pair.split_once('=')).find_map(|(key, value)| match key {
        "path" => unescaped(value).map(Socket::Path),
        "abstract" => unescaped(value).map(Socket::Abstract),
        _ => None,
    })
}

/// A value without its `%XX`.
fn unescaped(value: &str) -> Option<Vec<u8>> {
    let mut parts = value.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_list_yields_its_unix_sockets_in_order() {
        let path = |path: &str| Socket::Path(path.as_bytes().to_vec());
        let hidden = |name: &str| Socket::Abstract(name.as_bytes().to_vec());
        for (addresses, expected) in [
            ("unix:path=/run/user/1000/bus", vec![path("/run/user/1000/bus")]),
            ("unix:guid=12,path=/tmp/a%20b", vec![path("/tmp/a b")]),
            ("tcp:host=x;unix:abstract=/tmp/c;unix:path=/d", vec![hidden("/tmp/c"), path("/d")]),
            ("unix:path=/%2", vec![]),
            ("unix:path=/%zz;autolaunch:", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(sockets(addresses), expected, "{addresses}");
        }
    }
}
