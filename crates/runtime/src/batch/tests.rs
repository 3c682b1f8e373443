//! Tests of batch ids and dependencies; randomized scheduling is in `model`.

mod model;

use haft_model::{Actor, Call};
use serde_json::json;

use super::BatchCall;
use super::order::{Order, order};

fn calls(members: &[(Option<&str>, &[&str])]) -> Vec<BatchCall> {
    let actor = Actor::new("ann", "local", []);
    let member = |(id, depends_on): &(Option<&str>, &[&str])| BatchCall {
        id: id.map(str::to_owned),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        ..BatchCall::from(Call::new(actor.clone(), "note.show", json!({})))
    };
    members.iter().map(member).collect()
}

#[test]
fn dependencies_resolve_by_id_or_index_and_order_calls() {
    let found = order(&calls(&[
        (Some("a"), &["c"]),
        (None, &[]),
        (Some("c"), &["1"]),
        (None, &["a", "0", "c"]),
    ]));
    let after = vec![vec![2], vec![], vec![1], vec![0, 2]];
    assert_eq!(found, Ok(Order { after, rank: vec![2, 0, 1, 3] }));
}

#[test]
fn invalid_batch_is_rejected_as_a_whole() {
    let told = |members| order(&calls(members)).unwrap_err().message;
    assert_eq!(
        [
            told(&[(Some("a"), &[]), (None, &["b"])]),
            told(&[(Some("a"), &["1"]), (Some("b"), &["a"])]),
            told(&[(None, &["0"])]),
            told(&[(Some("a"), &[]), (Some("a"), &[])]),
            told(&[(None, &["7"])]),
        ],
        [
            "call 1 depends on `b`, and the batch has no such call",
            "call 0 depends on itself, or on calls that wait for each other",
            "call 0 depends on itself, or on calls that wait for each other",
            "calls 0 and 1 both have the id `a`",
            "call 0 depends on `7`, and the batch has no such call",
        ]
    );
}
