//! Privilege drop: the limits, capabilities and Landlock rights that the init process gives up.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use super::syscalls::Door;
use super::{Orders, Report, doing};
use crate::{Access, Bounds};

/// The Landlock version that this program knows; an older kernel enforces what it supports.
const KNOWN: ABI = ABI::V7;

/// Drops privileges, and lists the layers in force.
pub(super) fn give_up(orders: &Orders, door: Door) -> Result<Vec<String>, Report> {
    bound(&orders.bounds).map_err(|fault| doing("limits could not be set")(fault.into()))?;
    powerless().map_err(|fault| doing("capabilities could not be dropped")(fault.into()))?;
    let landlock = confine(orders, door)?;
    Ok(vec!["limits".to_owned(), "no capabilities".to_owned(), landlock])
}

fn bound(bounds: &Bounds) -> rustix::io::Result<()> {
    let wanted = [
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::Data, bounds.memory),
        (Resource::Nofile, bounds.files),
        (Resource::Nproc, bounds.processes),
        (Resource::Fsize, bounds.file_size),
        (Resource::Core, 0),
    ];
    for (resource, most) in wanted {
        // A limit of our own process cannot be raised.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |own| own.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Drops every capability, and prevents regaining any through exec.
fn powerless() -> rustix::io::Result<()> {
    set_no_new_privs(true)?;
    // Without `SETPCAP` there is none to drop, and `no_new_privs` keeps it that way.
    if capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        unattainable()?;
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // No process inside may inspect the init process that watches it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Closes the ways back through exec: locks the secure bits and empties the bounding set.
fn unattainable() -> rustix::io::Result<()> {
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    for number in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // One more than this kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// Landlock, as a second layer over the mounts.
fn confine(orders: &Orders, door: Door) -> Result<String, Report> {
    let status = ruleset(orders, door)
        .map_err(|fault| Report::Unenforced(format!("landlock could not be set up: {fault}")))?;
    match status {
        Some(abi) => Ok(format!("landlock v{}", abi as i32)),
        None => Err(Report::Unenforced(
            "the kernel has no landlock; it needs 5.13 or newer with `landlock` among its `lsm`"
                .into(),
        )),
    }
}

fn ruleset(orders: &Orders, door: Door) -> Result<Option<ABI>, RulesetError> {
    let everything = AccessFs::from_all(KNOWN);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut open = vec![("/".into(), AccessFs::from_read(KNOWN)), ("/tmp".into(), everything)];
    open.push(("/dev".into(), device));
    let written = orders.shown.iter().filter(|shown| shown.access == Access::Write);
    open.extend(written.map(|shown| (shown.path.clone(), everything)));
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    for (path, rights) in open {
        // A file takes only file rights, not those of folders.
        let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(KNOWN) };
        let Ok(place) = PathFd::new(&path) else { continue };
        rules = rules.add_rule(PathBeneath::new(place, rights))?;
    }
    if let Door::At(port) = door {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    let status = rules.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi),
        (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => None,
    })
}
