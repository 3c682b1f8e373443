//! Version tests: two majors of one tool beside each other.

use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{READS, check, check_own, driver, json as answer, tool};

fn two_majors(second: &str) -> Folder {
    Folder::new()
        .file(".tools/v1/mail.send/TOOL.md", tool("mail.send", "1.4.0", READS))
        .file(".tools/v2/mail.send/TOOL.md", tool("mail.send", second, READS))
        .file(".drivers/old/DRIVER.md", driver("old", &[("mail.send", "^1")]))
        .file(".drivers/new/DRIVER.md", driver("new", &[("mail.send", ">=2.0.0-0")]))
}

#[test]
fn each_major_is_served_by_drivers_with_matching_range() {
    let folder = two_majors("2.0.0");
    check(
        &folder,
        "check",
        r"
exit 0
checked 4 manifests: no errors, no warnings
",
    );
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL       VERSION  RISK  STATE  DRIVERS  ABOUT
mail.send  1.4.0    0     ready  old      Does what mail.send says.
mail.send  2.0.0    0     ready  new      Does what mail.send says.
",
    );
    for (name, key, driver) in [
        ("mail.send@1", "mail.send@1", "old"),
        ("mail.send@2", "mail.send@2", "new"),
        ("mail.send", "mail.send@2", "new"),
    ] {
        let (exit, said) = answer(&folder, &format!("why {name} --json"));
        assert_eq!(
            (exit, &said["tool"], &said["driver"]),
            (0, &json!(key), &json!(driver)),
            "{name}"
        );
    }
}

#[test]
fn a_bare_id_means_the_highest_stable_major() {
    let folder = two_majors("2.0.0-beta.1");
    for (name, key, driver) in
        [("mail.send@2", "mail.send@2", "new"), ("mail.send", "mail.send@1", "old")]
    {
        let (exit, said) = answer(&folder, &format!("why {name} --json"));
        assert_eq!(
            (exit, &said["tool"], &said["driver"]),
            (0, &json!(key), &json!(driver)),
            "{name}"
        );
    }
}
