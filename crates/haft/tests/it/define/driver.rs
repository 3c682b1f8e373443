//! Driver builder tests: what drivers in Rust state, and what they may not leave out.

use haft::{Args, DefineError, ToolFailure, define_driver};

use crate::define::{Kept, Note, area, codes, host, keep};

fn kept() -> impl Fn(Args<Note>) -> std::future::Ready<Result<Kept, ToolFailure>> {
    |args| std::future::ready(Ok(Kept { length: args.input.text.len() }))
}

#[test]
fn a_driver_says_what_a_file_would_say() {
    let handle = define_driver("host-notes")
        .name("Notes")
        .version("2.0.0")
        .region(["eu"])
        .policy_tags(["local"])
        .implements(["note.keep"])
        .implement(&keep(), kept())
        .define()
        .unwrap();
    let driver = handle.manifest();
    assert_eq!(&*driver.file, "code:driver:host-notes");
    assert_eq!((&*driver.name, &*driver.version), ("Notes", "2.0.0"));
    assert_eq!(
        (driver.region.clone(), driver.policy_tags.clone()),
        (vec!["eu".to_owned()], vec!["local".to_owned()])
    );
    let served: Vec<_> =
        driver.implements.iter().map(|entry| (&*entry.tool, &*entry.range_text)).collect();
    assert_eq!(served, [("note.keep", "^1.0.0")]);
    assert_eq!(driver.raw()["metadata"]["builtin"]["host_id"], "haft");
}

#[test]
fn implemented_tool_without_body_is_rejected() {
    let refused = define_driver("host-notes")
        .implements(["note.keep", "shape.area"])
        .implement(&keep(), kept())
        .define()
        .unwrap_err();
    assert!(
        matches!(&refused, DefineError::NoBody { driver, tool } if driver == "host-notes" && tool == "shape.area"),
        "{refused}"
    );
}

#[test]
fn body_for_undeclared_tool_is_rejected() {
    let refused = define_driver("host-notes")
        .implements(["shape.area"])
        .implement(&keep(), kept())
        .implement(&area(), |_| async { Err(ToolFailure::new("no")) })
        .define()
        .unwrap_err();
    assert!(matches!(&refused, DefineError::NotImplemented { tool, .. } if tool == "note.keep"));
}

#[test]
fn duplicate_bodies_and_empty_driver_are_rejected() {
    let twice = define_driver("host-notes")
        .implement(&keep(), kept())
        .implement(&keep(), kept())
        .define()
        .unwrap_err();
    assert_eq!(codes(&twice), ["D057"]);
    let none = define_driver("host-notes").define().unwrap_err();
    assert_eq!(codes(&none), ["D006"]);
}

#[test]
fn reports_submission_before_any_body_is_rejected() {
    let early = define_driver("host-notes").reports_submission().implement(&keep(), kept());
    assert!(matches!(early.define(), Err(DefineError::NothingToReport { .. })));
}

#[test]
fn nothing_is_shown_of_a_body() {
    assert_eq!(format!("{:?}", host()), "DriverHandle(DriverId(\"host-shapes\"))");
}
