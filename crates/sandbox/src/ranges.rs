//! Address ranges: which IP addresses are public, and what the others are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses: its first address, its prefix length, and what it is.
type Range<A> = (A, u32, &'static str);

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32, what: &'static str) -> Range<Ipv4Addr> {
    (Ipv4Addr::new(a, b, c, d), bits, what)
}

const fn v6(a: u16, b: u16, c: u16, bits: u32, what: &'static str) -> Range<Ipv6Addr> {
    (Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits, what)
}

/// The IPv4 ranges that are not public. The last entries are public by number and private by use.
const CLOSED_V4: &[Range<Ipv4Addr>] = &[
    v4(0, 0, 0, 0, 8, "this machine"),
    v4(10, 0, 0, 0, 8, "a private address"),
    v4(100, 64, 0, 0, 10, "an address inside a carrier's network"),
    v4(127, 0, 0, 0, 8, "this machine"),
    v4(169, 254, 0, 0, 16, "a link-local address, as cloud metadata has"),
    v4(172, 16, 0, 0, 12, "a private address"),
    v4(192, 0, 0, 0, 24, "reserved for protocols"),
    v4(192, 0, 2, 0, 24, "for documentation"),
    v4(192, 88, 99, 0, 24, "a relay into IPv6"),
    v4(192, 168, 0, 0, 16, "a private address"),
    v4(198, 18, 0, 0, 15, "for benchmarks"),
    v4(198, 51, 100, 0, 24, "for documentation"),
    v4(203, 0, 113, 0, 24, "for documentation"),
    v4(224, 0, 0, 0, 4, "a multicast address"),
    v4(255, 255, 255, 255, 32, "the broadcast address"),
    v4(240, 0, 0, 0, 4, "reserved"),
    v4(168, 63, 129, 16, 32, "a cloud's metadata"),
];

/// The IPv6 ranges that are not public, the narrower range first where two overlap.
///
/// Addresses that embed an IPv4 address are blocked as a whole: if the embedded one is public, it
/// can be reached directly.
const CLOSED_V6: &[Range<Ipv6Addr>] = &[
    (Ipv6Addr::LOCALHOST, 128, "this machine"),
    (Ipv6Addr::UNSPECIFIED, 128, "this machine"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "an IPv4 address inside IPv6"),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4 address inside IPv6"),
    v6(0x64, 0xff9b, 0, 32, "an IPv4 address behind NAT64"),
    v6(0x100, 0, 0, 64, "for discarding"),
    v6(0x2001, 0xdb8, 0, 32, "for documentation"),
    v6(0x2001, 0, 0, 32, "an IPv4 address inside a Teredo tunnel"),
    v6(0x2001, 2, 0, 48, "for benchmarks"),
    v6(0x2001, 0, 0, 23, "reserved for protocols"),
    v6(0x2002, 0, 0, 16, "an IPv4 address inside 6to4"),
    v6(0x3fff, 0, 0, 20, "for documentation"),
    v6(0xfc00, 0, 0, 7, "a private address"),
    v6(0xfe80, 0, 0, 10, "a link-local address"),
    v6(0xfec0, 0, 0, 10, "a private address"),
    v6(0xff00, 0, 0, 8, "a multicast address"),
];

/// The only IPv6 range in which public addresses are assigned.
const OPEN_V6: Range<Ipv6Addr> = v6(0x2000, 0, 0, 3, "given out");

/// What an address is, if it is not public.
pub(crate) fn closed(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let found = CLOSED_V4.iter().find(|range| holds_v4(range, address));
            found.map(|(_, _, what)| *what)
        }
        IpAddr::V6(address) => {
            let found = CLOSED_V6.iter().find(|range| holds_v6(range, address));
            found
                .map(|(_, _, what)| *what)
                .or_else(|| (!holds_v6(&OPEN_V6, address)).then_some("not given out"))
        }
    }
}

fn holds_v4((first, bits, _): &Range<Ipv4Addr>, address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= *bits
}

fn holds_v6((first, bits, _): &Range<Ipv6Addr>, address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= *bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(address: &str) -> Option<&'static str> {
        closed(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_open() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00::1",
            "3ffe::1",
        ];
        for address in public {
            assert_eq!(what(address), None, "{address}");
        }
    }

    #[test]
    fn closed_ranges_include_first_and_last_address() {
        for (first, bits, about) in CLOSED_V4 {
            let rest = u32::MAX.checked_shr(*bits).unwrap_or(0);
            let last = Ipv4Addr::from_bits(first.to_bits() | rest);
            assert!(closed(IpAddr::V4(*first)).is_some(), "{first} {about}");
            assert!(closed(IpAddr::V4(last)).is_some(), "{last} {about}");
        }
        for (first, bits, about) in CLOSED_V6 {
            let rest = u128::MAX.checked_shr(*bits).unwrap_or(0);
            let last = Ipv6Addr::from_bits(first.to_bits() | rest);
            assert!(closed(IpAddr::V6(*first)).is_some(), "{first} {about}");
            assert!(closed(IpAddr::V6(last)).is_some(), "{last} {about}");
        }
    }

    #[test]
    fn each_closed_address_is_described_by_kind() {
        let cases = [
            ("0.0.0.0", "this machine"),
            ("10.1.2.3", "a private address"),
            ("100.100.100.200", "an address inside a carrier's network"),
            ("127.9.9.9", "this machine"),
            ("169.254.169.254", "a link-local address, as cloud metadata has"),
            ("172.31.255.255", "a private address"),
            ("192.168.1.1", "a private address"),
            ("198.19.0.1", "for benchmarks"),
            ("203.0.113.7", "for documentation"),
            ("224.0.0.251", "a multicast address"),
            ("255.255.255.255", "the broadcast address"),
            ("250.0.0.1", "reserved"),
            ("168.63.129.16", "a cloud's metadata"),
            ("::1", "this machine"),
            ("::", "this machine"),
            ("::ffff:8.8.8.8", "an IPv4 address inside IPv6"),
            ("::127.0.0.1", "an IPv4 address inside IPv6"),
            ("64:ff9b::7f00:1", "an IPv4 address behind NAT64"),
            ("64:ff9b:1::a00:1", "an IPv4 address behind NAT64"),
            ("2002:7f00:1::", "an IPv4 address inside 6to4"),
            ("2001:0:4136:e378::", "an IPv4 address inside a Teredo tunnel"),
            ("2001:db8::1", "for documentation"),
            ("2001:2::1", "for benchmarks"),
            ("2001:20::1", "reserved for protocols"),
            ("3fff:1::", "for documentation"),
            ("fc00::1", "a private address"),
            ("fd00:ec2::254", "a private address"),
            ("fe80::1", "a link-local address"),
            ("fec0::1", "a private address"),
            ("ff02::1", "a multicast address"),
            ("4000::1", "not given out"),
        ];
        for (address, expected) in cases {
            assert_eq!(what(address), Some(expected), "{address}");
        }
    }
}
