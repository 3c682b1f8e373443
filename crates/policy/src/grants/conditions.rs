//! Conditions of grants and requirements: evaluates business hours, IP ranges, recent MFA and
//! approvals.

use std::net::IpAddr;

use haft_model::{Needs, Signer, Timestamp, weekday_and_hour};
use serde_json::Value;

use crate::Circumstances;

/// Business hours: Monday to Friday, from 9 to 17, in the time zone.
const WORKDAYS: std::ops::RangeInclusive<i8> = 1..=5;
const HOURS: std::ops::Range<i8> = 9..17;

/// Result of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConditionOutcome {
    /// The condition holds.
    Yes,
    /// The condition holds once these people approve.
    Once(Needs),
    /// The condition does not hold or cannot be evaluated, with the reason.
    No(String),
}

/// Evaluates one condition. INVARIANT: a missing parameter, a missing fact and an unknown kind all
/// fail.
pub(super) fn judge(
    kind: &str,
    parameters: &Value,
    circumstances: &Circumstances,
    now: Timestamp,
) -> ConditionOutcome {
    let word = |name: &str| parameters.get(name).and_then(Value::as_str);
    let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
    let held = match kind {
        "during-business-hours" => word("timezone").map(|zone| business_hours(zone, now)),
        "ip-range" => word("cidr").map(|range| ip_range(range, circumstances.ip)),
        "mfa-recent" => {
            number("within_seconds").map(|within| mfa_recent(within, circumstances.mfa_at, now))
        }
        "approval-from" => word("role").zip(number("count")).map(|(role, count)| {
            let signers = vec![Signer::Role(role.to_owned())];
            ConditionOutcome::Once(Needs { count: count.max(1), signers, not_the_caller: true })
        }),
        "signed-by" => word("role").map(|role| {
            let signers = vec![Signer::Role(role.to_owned())];
            ConditionOutcome::Once(Needs { count: 1, signers, not_the_caller: false })
        }),
        _ => return ConditionOutcome::No(format!("unknown condition `{kind}`")),
    };
    held.unwrap_or_else(|| ConditionOutcome::No(format!("`{kind}` does not say what it needs")))
}

fn when(holds: bool, why: impl Into<String>) -> ConditionOutcome {
    if holds { ConditionOutcome::Yes } else { ConditionOutcome::No(why.into()) }
}

fn business_hours(zone: &str, now: Timestamp) -> ConditionOutcome {
    match weekday_and_hour(now, zone) {
        Some((day, hour)) => when(
            WORKDAYS.contains(&day) && HOURS.contains(&hour),
            format!("these are no business hours in `{zone}`"),
        ),
        None => ConditionOutcome::No(format!("unknown time zone `{zone}`")),
    }
}

fn ip_range(range: &str, ip: Option<IpAddr>) -> ConditionOutcome {
    match ip {
        Some(ip) => when(within(range, ip).unwrap_or(false), format!("`{ip}` is not in `{range}`")),
        None => ConditionOutcome::No("the caller's address is unknown".to_owned()),
    }
}

fn mfa_recent(within: u64, proved: Option<Timestamp>, now: Timestamp) -> ConditionOutcome {
    let Some(proved) = proved else {
        return ConditionOutcome::No("the caller proved no second factor".to_owned());
    };
    let age = u64::try_from(now.duration_since(proved).as_secs()).ok();
    let recent = proved <= now && age.is_some_and(|age| age <= within);
    when(recent, format!("the second factor is not from the last {within} seconds"))
}

/// Returns true if an address is in a CIDR range such as `10.0.0.0/8`; `None` for an invalid range.
fn within(range: &str, ip: IpAddr) -> Option<bool> {
    let (base, bits) = range.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    match (base.parse().ok()?, ip.to_canonical()) {
        (IpAddr::V4(base), IpAddr::V4(ip)) => {
            let apart = 32_u32.checked_sub(bits)?;
            Some(base.to_bits().checked_shr(apart) == ip.to_bits().checked_shr(apart))
        }
        (IpAddr::V6(base), IpAddr::V6(ip)) => {
            let apart = 128_u32.checked_sub(bits)?;
            Some(base.to_bits().checked_shr(apart) == ip.to_bits().checked_shr(apart))
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_the_addresses_that_share_its_bits() {
        let cases = [
            ("10.0.0.0/8", "10.200.3.4", Some(true)),
            ("10.0.0.0/8", "11.0.0.1", Some(false)),
            ("10.1.2.3/32", "10.1.2.3", Some(true)),
            ("0.0.0.0/0", "203.0.113.9", Some(true)),
            ("10.0.0.0/8", "::ffff:10.1.1.1", Some(true)),
            ("fd00::/8", "fd12::1", Some(true)),
            ("::/0", "2001:db8::1", Some(true)),
            ("fd00::/8", "10.0.0.1", Some(false)),
            ("10.0.0.0/33", "10.0.0.0", None),
            ("10.0.0.0", "10.0.0.0", None),
        ];
        for (range, ip, expected) in cases {
            assert_eq!(within(range, ip.parse().unwrap()), expected, "{range} {ip}");
        }
    }
}
