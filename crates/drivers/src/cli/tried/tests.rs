//! Tests of sandbox violations: whether the contract or the driver keeps an access closed.

use std::path::{Path, PathBuf};

use haft_model::{Approval, Facts, Requires, Risk, Tri};

use super::*;

fn check(tried: RefusedAccess, expected: &str) {
    let effects = EffectProfile {
        mutates: ["workspace:/docs/**".to_owned(), "external:shop".to_owned()].into(),
        mutates_stated: true,
        classes: Default::default(),
        risk: Risk::SCOPED_WRITE,
        requires: Requires { network: ["*.shop.example".to_owned()].into(), ..Default::default() },
        approval: Approval::default(),
        facts: Facts {
            read_only: Tri::No,
            destructive: Tri::Unknown,
            open_world: Tri::Unknown,
            concurrency_safe: Default::default(),
        },
        inferred: Vec::new(),
    };
    let stop = violation(&[tried], "shop", &effects, Path::new("/w")).unwrap();
    assert_eq!(format!("{}: {}", stop.code, stop.message), expected);
}

fn path(path: &str) -> RefusedAccess {
    RefusedAccess::Path { path: PathBuf::from(path), wanted: "write".to_owned() }
}

fn host(host: &str) -> RefusedAccess {
    RefusedAccess::Host { host: host.to_owned(), port: 443, why: "not listed".to_owned() }
}

#[test]
fn undeclared_effect_is_told_apart_from_driver_sandbox_denial() {
    let undeclared = "which the contract does not declare";
    let closed = "which driver `shop` keeps closed";
    for (path_text, expected) in [
        (
            "/w/docs/a.md",
            format!("sandbox.violation: the program wanted to write `docs/a.md`, {closed}"),
        ),
        (
            "/w/src/a.rs",
            format!("effect.undeclared: the program wanted to write `src/a.rs`, {undeclared}"),
        ),
        (
            "/etc/hosts",
            format!("effect.undeclared: the program wanted to write `/etc/hosts`, {undeclared}"),
        ),
    ] {
        check(path(path_text), &expected);
    }
    check(
        host("API.shop.example"),
        &format!("sandbox.violation: the program wanted to reach `API.shop.example:443`, {closed}"),
    );
    check(
        host("other.example"),
        &format!(
            "effect.undeclared: the program wanted to reach `other.example:443`, {undeclared}"
        ),
    );
}
