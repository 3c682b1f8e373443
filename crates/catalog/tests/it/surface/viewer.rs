//! Viewer tests: which caller gets which surface.

use haft_catalog::{Surface, Viewer};
use haft_model::Code;

use crate::surface::catalog::{agent_of, shop, standings, surface, today, view};

fn scope_of(all: &[Surface], within: &[&str]) -> (String, String) {
    let within: Vec<String> = within.iter().map(|scope| (*scope).to_owned()).collect();
    let actor = agent_of("shop");
    let own = Surface::for_viewer(all, &Viewer { actor: &actor, within: &within });
    let first = standings(&view(&own, &shop(), &[])).into_iter();
    let mine: Vec<String> = first
        .filter(|line| !line.contains("excluded"))
        .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
        .collect();
    (own.scope, mine.join(" "))
}

#[test]
fn caller_gets_first_surface_whose_scope_matches() {
    let all = [
        surface("skill:refunds", &["payment.*"], 40),
        surface("peer_agent", &["mail.*"], 40),
        surface("model_request:small", &["stock.*"], 40),
        surface("role:auditor", &["report.*"], 40),
        surface("role:agent", &["order.get"], 40),
        surface("workspace", &["*"], 40),
    ];
    let is = |within: &[&str], scope: &str, tools: &str| {
        assert_eq!(scope_of(&all, within), (scope.to_owned(), tools.to_owned()), "{within:?}");
    };
    is(&[], "role:agent", "order.get");
    is(&["skill:refunds"], "skill:refunds", "payment.refund");
    is(&["skill:other", "peer_agent:bob"], "peer_agent", "mail.send");
    is(&["model_request:small"], "model_request:small", "stock.count");
    is(&["session:s-1", "skill:refunds"], "session:s-1", "payment.refund");
    is(&["session:s-1", "task:t-2", "turn:9"], "turn:9", "order.get");
    assert_eq!(scope_of(&[], &["task:t-2"]).0, "task:t-2");
}

#[test]
fn tool_on_other_tenants_surface_is_unknown() {
    let all = [
        surface("tenant:shop", &["order.*", "mail.*"], 40),
        surface("tenant:bank", &["payment.*", "mail.*"], 40),
        surface("role:agent", &["order.*", "payment.*"], 40),
    ];
    let seen_by = |tenant: &str| {
        let actor = agent_of(tenant);
        let own = Surface::for_viewer(&all, &Viewer { actor: &actor, within: &[] });
        let refund = shop();
        let entry = refund.find("payment.refund").unwrap();
        let admitted = own.admit(entry, &refund, today()).map_err(|stop| stop.code);
        (standings(&view(&own, &shop(), &[])), admitted)
    };
    let (shop, admitted) = seen_by("shop");
    let excluded = "mail.send excluded (role_not_allowed)".to_owned();
    assert_eq!(shop, [&excluded, "order.cancel loaded", "order.get loaded"]);
    assert_eq!(admitted, Err(Code::ToolUnknown));
    let (bank, admitted) = seen_by("bank");
    assert_eq!(bank, [&excluded, "payment.refund loaded"]);
    assert_eq!(admitted, Ok(()));
    let (nobody, admitted) = seen_by("third");
    let rest =
        ["report.old excluded (role_not_allowed)", "stock.count excluded (role_not_allowed)"];
    assert_eq!(nobody, rest);
    assert_eq!(admitted, Err(Code::ToolUnknown));
}
