//! HTTP driver tests: `haft call` and `haft why` with a real server.

use haft_testkit::{Act, Backend, Folder, Keys, Then};

use crate::call::shop;
use crate::stage::{check, run, tool};

/// A workspace with one tool that looks something up at a backend.
fn with_backend(backend: &Backend, requires: &str) -> Folder {
    let host = backend.host();
    let fields = format!(
        "mutates: []\nrisk_level: 0\napproval: auto\n{requires}\n\
         inputs: {{ type: object, properties: {{ order: {{ type: string }} }}, required: [order] }}"
    );
    let driver = format!(
        "---\nname: orders\nid: orders\ndescription: Orders.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\nimplements:\n  \
         - {{ tool: order.get, version: ^1, metadata: {{ http: {{ method: GET, \
         endpoint: \"/orders/${{input.order}}\" }} }} }}\n---\n"
    );
    shop()
        .file(".tools/order.get/TOOL.md", tool("order.get", "1.0.0", &fields))
        .file(".drivers/orders/DRIVER.md", driver)
}

#[test]
fn call_reaches_backend_through_http_driver() {
    let backend = Backend::new(Keys::Ignored);
    let requires = format!("requires: {{ network: [\"{}\"] }}", backend.host());
    let folder = with_backend(&backend, &requires);
    backend.will(Act::refuses(Then::json(200, "{\"state\":\"open\"}")));
    check(
        &folder,
        "call order.get order=o1",
        r#"
exit 0
{
  "state": "open"
}
! ✔ order.get@1 succeeded by orders in [time]; nothing changed  inv_[id]
"#,
    );
    backend.will(Act::refuses(Then::json(404, "{}")));
    let missing = run(&folder, "call order.get order=o2");
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("`127.0.0.1` answered 404 Not Found"), "{said}");
    let paths: Vec<_> = backend.heard().into_iter().map(|heard| heard.path).collect();
    assert_eq!(paths, ["/orders/o1", "/orders/o2"]);
}

#[test]
fn host_missing_from_contract_is_not_reached() {
    let backend = Backend::new(Keys::Ignored);
    let folder = with_backend(&backend, "");
    let host = backend.host();
    let refused = run(&folder, "call order.get order=o1");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("its contract does not list that host"), "{said}");
    assert!(said.contains(&format!("add `{host}` to `requires.network`")), "{said}");
    assert_eq!(backend.connections(), 0);
}
