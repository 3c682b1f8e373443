//! Visibility tests: the state of each tool on a surface, and its reason.

use std::collections::{BTreeMap, HashMap};

use haft_catalog::{
    AuthState, DriverState, Mend, ModelAbilities, Moment, Probe, Provider, Revision,
    RoleConstraints, Surface,
};
use haft_model::{DriverId, ToolKey};
use serde_json::json;

use crate::surface::catalog::{SHOP, shop, snapshot_of, standings, surface, today, view};

#[test]
fn each_tool_has_loading_state_with_reason() {
    let mend = Mend { why: "it is not there".to_owned(), run: "haft install".to_owned() };
    let states = HashMap::from([
        (
            DriverId::from("mail-send-http"),
            DriverState { auth: AuthState::LoggedOut, ..DriverState::default() },
        ),
        (
            DriverId::from("order-get-http"),
            DriverState { installed: Probe::Failed(mend), ..DriverState::default() },
        ),
    ]);
    let missing = BTreeMap::from([(DriverId::from("order-cancel-http"), Provider::Connecting)]);
    let own = surface("workspace", &["mail.*", "order.*", "report.*", "stock.*"], 40);
    let moment = Moment { states: Some(&states), ..Moment::on(today(), &missing) };
    let seen = own.view(&shop(), &moment);
    assert_eq!(
        standings(&seen),
        [
            "mail.send blocked (credential_missing)",
            "order.cancel pending_provider (pending_provider)",
            "order.get blocked (setup_required)",
            "payment.refund excluded (role_not_allowed)",
            "report.old loaded",
            "stock.count blocked (lifecycle_disabled)",
        ]
    );
    assert_eq!(seen.counts(), [1, 1, 3, 1]);
}

#[test]
fn what_the_rules_keep_from_a_caller_is_blocked() {
    let snapshot = shop();
    let providers = Default::default();
    let denied = |entry: &haft_catalog::CatalogEntry| {
        (entry.contract.key().id.as_str() == "mail.send").then_some("policy_blocked")
    };
    let moment = Moment { denied: &denied, ..Moment::on(today(), &providers) };
    let seen = Surface::whole("workspace").view(&snapshot, &moment);
    assert_eq!(standings(&seen)[0], "mail.send blocked (policy_blocked)");
}

#[test]
fn model_and_role_constraints_only_narrow_the_surface() {
    let mut tools = SHOP;
    tools[0].3 = "kind: peer_agent_tool";
    let snapshot = snapshot_of(&tools);
    let model = ModelAbilities {
        without_kinds: ["peer_agent_tool".to_owned()].into(),
        ..ModelAbilities::default()
    };
    let role = RoleConstraints { only_reads: true, ..RoleConstraints::default() };
    let own = surface("workspace", &["*"], 1);
    let only_model = own.narrowed(&model, &RoleConstraints::default());
    assert_eq!(
        standings(&view(&only_model, &snapshot, &[]))[..2],
        [
            "mail.send excluded (model_unsupported)",
            "order.cancel deferred (deferred_until_discovered)"
        ]
    );
    assert_eq!(
        standings(&view(&own.narrowed(&model, &role), &snapshot, &[])),
        [
            "mail.send excluded (role_not_allowed)",
            "order.cancel excluded (role_not_allowed)",
            "order.get deferred (deferred_until_discovered)",
            "payment.refund excluded (role_not_allowed)",
            "report.old deferred (deferred_until_discovered)",
            "stock.count blocked (lifecycle_disabled)",
        ]
    );
    let small = ModelAbilities { largest_schema: Some(10), ..ModelAbilities::default() };
    let seen = view(&own.narrowed(&small, &RoleConstraints::default()), &snapshot, &[]);
    assert_eq!(seen.counts(), [0, 0, 0, 6]);
    let plain = ModelAbilities { needs_all_schemas: true, ..ModelAbilities::default() };
    let crowded = surface("workspace", &["*"], 2).narrowed(&plain, &RoleConstraints::default());
    assert_eq!(view(&crowded, &snapshot, &[]).counts(), [5, 0, 1, 0]);
}

#[test]
fn schemas_are_deferred_above_tool_count_or_bytes() {
    let snapshot = shop();
    let counts = |surface: &Surface| {
        let seen = view(surface, &snapshot, &[]).counts();
        let [loaded, deferred, ..] = seen;
        (loaded, deferred)
    };
    let own = |most| surface("workspace", &["*"], most);
    assert_eq!(counts(&own(6)), (5, 0));
    assert_eq!(counts(&own(5)), (0, 5));
    assert_eq!(counts(&own(6).deferring_above_bytes(100_000)), (5, 0));
    assert_eq!(counts(&own(6).deferring_above_bytes(100)), (0, 5));
}

#[test]
fn surface_revision_increments_only_when_visible_content_changes() {
    let snapshot = shop();
    let own = surface("session:s-1", &["*"], 2);
    let first = view(&own, &snapshot, &[]);
    let one = Revision::after(None, &first);
    assert_eq!(one.number, 1);
    let again = Revision::after(Some(&one), &view(&own, &shop(), &[]));
    assert_eq!(again, one, "the same content again");

    let mut told_otherwise = SHOP;
    told_otherwise[2].1 = "Shows an order.";
    let hidden = Revision::after(Some(&one), &view(&own, &snapshot_of(&told_otherwise), &[]));
    assert_eq!(hidden, one, "what a deferred tool says of itself is not seen");

    let loaded = own.load(&["order.get"], &first, &snapshot).surface;
    let two = Revision::after(Some(&one), &view(&loaded, &snapshot, &[]));
    let other = snapshot_of(&told_otherwise);
    let three = Revision::after(Some(&two), &view(&loaded, &other, &[]));
    let gone = view(&loaded, &other, &[("order-get-http", Provider::Gone)]);
    let four = Revision::after(Some(&three), &gone);
    assert_eq!([two.number, three.number, four.number], [2, 3, 4]);
}

#[test]
fn surface_record_holds_four_disjoint_tool_sets() {
    let snapshot = shop();
    let own = surface("session:s-1", &["mail.*", "order.*", "stock.*"], 2);
    let own = own.holding([ToolKey::new("order.get", 1)].into());
    let seen = view(&own, &snapshot, &[("mail-send-http", Provider::Gone)]);
    let revision = Revision::after(None, &seen);
    let deferred = |id: &str, name: &str, namespace: &str, state: &str, reason: &str| {
        json!({
            "schema_version": "0.2.0", "tool_id": id, "name": name, "namespace": namespace,
            "schema_visibility": "deferred", "loading_state": state, "reason": reason,
            "selection_ref": format!("select:{id}"),
            "native_ref": { "wire_name": format!("{namespace}_{name}") },
        })
    };
    let mut mail = deferred("mail.send@1", "send", "mail", "pending_provider", "pending_provider");
    mail["pending_provider_or_server"] = json!("mail-send-http");
    let order =
        deferred("order.cancel@1", "cancel", "order", "deferred", "deferred_until_discovered");
    assert_eq!(
        seen.record(&revision, "2026-01-01T00:00:00Z"),
        json!({
            "schema_version": "0.2.0",
            "surface_id": "srf_session_s-1",
            "revision": 1,
            "digest": seen.digest().as_str(),
            "scope": "session:s-1",
            "created_at": "2026-01-01T00:00:00Z",
            "producer": "haft",
            "tool_refs": [
                "mail.send@1", "order.cancel@1", "order.get@1", "payment.refund@1",
                "report.old@1", "stock.count@1",
            ],
            "loaded_tools": ["order.get@1"],
            "deferred_tools": [mail, order],
            "blocked_tools": [{ "tool_id": "stock.count@1", "reason": "lifecycle_disabled" }],
            "excluded_tools": [
                { "tool_id": "payment.refund@1", "reason": "role_not_allowed" },
                { "tool_id": "report.old@1", "reason": "role_not_allowed" },
            ],
            "selection_policy": { "defer_above": 2, "defer_above_bytes": null },
            "default_tool_choice": "auto",
            "model_capabilities": {
                "needs_all_schemas": false, "largest_schema": null,
                "without_kinds": [],
            },
            "role_constraints": { "only_reads": false, "nobody_there": false },
        })
    );
}
