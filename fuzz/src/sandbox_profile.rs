//! Fuzz target for sandbox profiles: a mount point stays where it says, and a checked address is
//! the one reached.

use haft_contract::{Source, mount_point, read};
use haft_sandbox::AddressGuard;

use crate::halves;

/// Reads the text before the first byte 0 as a mount point and as a SANDBOX.md, the rest as an address.
pub fn sandbox_profile(data: &[u8]) {
    let (profile, address) = halves(data);
    if let Ok(at) = std::str::from_utf8(profile)
        && let Some(point) = mount_point(at)
    {
        assert!(point.starts_with('/'), "{at:?} is mounted at {point:?}");
        assert!(!point.split('/').any(|step| step == ".."), "{at:?} is mounted at {point:?}");
        assert_eq!(
            mount_point(&point).as_ref(),
            Some(&point),
            "a plain form is its own plain form"
        );
    }
    let (source, report) = Source::from_bytes("SANDBOX.md", profile.to_vec(), 1 << 20);
    read(&source, report);
    if let Ok(text) = std::str::from_utf8(address) {
        checked_address(text);
    }
}

/// What was checked is what is reached: the checked form passes the check again and stays the same.
fn checked_address(text: &str) {
    let guard = AddressGuard::public();
    let Ok(checked) = guard.check_url(text) else { return };
    let again = guard.check_url(checked.as_str());
    assert_eq!(again.as_ref(), Ok(&checked), "{text:?}");
}
