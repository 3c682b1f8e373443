//! Whom a confined program may reach, by name and port.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use crate::AddressGuard;

/// Looks a name up.
pub(super) type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// Whom a confined program may reach, by names and ports; everything else is refused and told.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "nothing serves it yet, and whoever asks for it is refused")]
pub struct Gate {
    hosts: Vec<String>,
    guard: AddressGuard,
    lookup: Lookup,
}

impl Gate {
    /// Opens these hosts: `host`, `host:port` or `*.host`, where the star is one label. Their
    /// addresses have to be ones that the guard leaves open, unless a host of one's own network is
    /// listed as what it is: its address, or a name that can mean nothing else.
    pub fn new(hosts: Vec<String>, guard: AddressGuard) -> Gate {
        Gate { hosts, guard, lookup: by_the_system }
    }

    /// Looks names up in another way than the system's.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Gate {
        Gate { lookup, ..self }
    }
}

fn by_the_system(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.collect())
}
