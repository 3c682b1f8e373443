//! Deferred loading tests: schemas that a caller loads onto a surface.

use haft_catalog::{Provider, Visibility};
use haft_model::{Code, ToolKey};

use crate::surface::catalog::{shop, surface, today, view};

#[test]
fn load_takes_loadable_names_and_tells_refusals_apart() {
    let snapshot = shop();
    let own = surface("session:s-1", &["mail.*", "order.*", "stock.*"], 2);
    let own = own.holding([ToolKey::new("order.cancel", 1)].into());
    let seen = view(&own, &snapshot, &[("mail-send-http", Provider::Gone)]);
    let names = [
        "order.get",
        "order.get@1",
        "order.cancel",
        "mail.send",
        "stock.count",
        "payment.refund",
        "x",
    ];
    let loading = own.load(&names, &seen, &snapshot);
    let refused: Vec<(&str, Visibility)> =
        loading.refused.iter().map(|(key, shown)| (key.id.as_str(), *shown)).collect();
    assert_eq!(loading.loaded, [ToolKey::new("order.get", 1)]);
    assert_eq!(loading.already, [ToolKey::new("order.cancel", 1)]);
    assert_eq!(
        refused,
        [
            ("mail.send", Visibility::Pending),
            ("stock.count", Visibility::Blocked("lifecycle_disabled")),
            ("payment.refund", Visibility::Excluded("role_not_allowed")),
        ]
    );
    assert_eq!(loading.missing, ["x"]);

    let entry = snapshot.find("order.get").unwrap();
    let admitted = |surface: &haft_catalog::Surface| {
        surface.admit(entry, &snapshot, today()).map_err(|stop| stop.code)
    };
    assert_eq!(admitted(&own), Err(Code::ToolSchemaNotLoaded));
    assert_eq!(admitted(&loading.surface), Ok(()));
    let again = loading.surface.load(&["x"], &seen, &snapshot);
    assert_eq!(again.loaded, [], "nothing was added");
}
