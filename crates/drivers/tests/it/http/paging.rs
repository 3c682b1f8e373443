//! Tests of pagination: pages are requested in order and returned as one result.

use haft_model::{Code, Content, EffectState};
use haft_testkit::{Act, Then};
use serde_json::{Value, json};

use crate::http::stage::{Ended, Stage};

const JSON: &str = "Content-Type: application/json\r\n";

fn paged(http: Value, pagination: Value, answers: &[Value]) -> (Stage, Ended) {
    let stage = Stage::reading(http).haft(json!({"pagination": pagination}));
    for answer in answers {
        let body = answer.to_string().into_bytes();
        stage.backend.will(Act::refuses(Then::Answer(200, JSON, body)));
    }
    let ended = stage.run(json!({}));
    (stage, ended)
}

fn paths(stage: &Stage) -> Vec<String> {
    stage.backend.heard().into_iter().map(|heard| heard.path).collect()
}

#[test]
fn cursor_pagination_merges_items_into_last_page() {
    let (stage, ended) = paged(
        json!({"query_template": {"q": "x"}}),
        json!({"items": "$.data.list", "next": "$.next", "param": "cursor", "limit_param": "n", "limit": 2}),
        &[
            json!({"data": {"list": [1, 2]}, "next": "a&b"}),
            json!({"data": {"list": [3]}, "next": 7}),
            json!({"data": {"list": []}, "next": null}),
        ],
    );
    let told = ["page 1, 2 items so far", "page 2, 3 items so far", "page 3, 3 items so far"];
    assert_eq!(ended.progress, told);
    let output = ended.output();
    assert_eq!(output.structured, Some(json!({"data": {"list": [1, 2, 3]}, "next": null})));
    assert_eq!((output.content.as_slice(), output.effect), ([].as_slice(), EffectState::None));
    let asked = ["/look?q=x&n=2", "/look?q=x&n=2&cursor=a%26b", "/look?q=x&n=2&cursor=7"];
    assert_eq!(paths(&stage), asked);
}

#[test]
fn pages_and_items_are_counted() {
    let (stage, ended) = paged(
        json!({"response_extract": "$.list"}),
        json!({"style": "page", "items": "$.list", "param": "page"}),
        &[json!({"list": [1, 2]}), json!({"list": [3]}), json!({"list": []})],
    );
    assert_eq!(ended.output().structured, Some(json!([1, 2, 3])));
    assert_eq!(paths(&stage), ["/look?page=1", "/look?page=2", "/look?page=3"]);
    let (stage, ended) = paged(
        json!({}),
        json!({"style": "offset", "items": "$", "param": "from", "start": 5, "limit": 2}),
        &[json!([1, 2]), json!([3])],
    );
    assert_eq!(ended.output().structured, Some(json!([1, 2, 3])));
    assert_eq!(paths(&stage), ["/look?from=5", "/look?from=7"]);
}

#[test]
fn links_are_followed_at_the_same_host_alone() {
    let stage = Stage::reading(json!({"headers": {"X-Note": "mine"}}))
        .haft(json!({"pagination": {"style": "link", "items": "$"}}));
    let here = format!("{JSON}Link: <http://{}/more?p=2>; rel=\"next\"\r\n", stage.backend.host());
    stage.backend.will(Act::refuses(Then::Answer(200, here.leak(), b"[1]".to_vec())));
    stage.backend.will(Act::refuses(Then::Answer(200, JSON, b"[2]".to_vec())));
    assert_eq!(stage.run(json!({})).output().structured, Some(json!([1, 2])));
    assert_eq!(paths(&stage), ["/look", "/more?p=2"]);
    assert_eq!(stage.backend.heard()[1].header("x-note"), Some("mine"));
    for elsewhere in ["http://127.0.0.1:1/x", "//localhost/x", "file:///etc/passwd"] {
        let next = json!({"style": "link", "items": "$.list", "next": "$.next"});
        let answer = json!({"list": [1], "next": elsewhere});
        let (stage, ended) = paged(json!({}), next, &[answer]);
        assert_eq!(ended.fate().0, Code::SandboxViolation, "{elsewhere}");
        assert_eq!(stage.backend.heard().len(), 1);
    }
}

#[test]
fn pagination_stops_at_page_limit_and_reports_more() {
    let cursor = json!({"items": "$.list", "next": "$.next", "param": "c", "most_pages": 2});
    let page = |next: &str| json!({"list": [1], "next": next});
    let (stage, ended) = paged(json!({}), cursor.clone(), &[page("a"), page("b"), page("c")]);
    let output = ended.output();
    assert_eq!(output.structured, Some(json!({"list": [1, 1], "next": "b"})));
    let value = Content::StructuredContent { data: json!({"list": [1, 1], "next": "b"}) };
    let words = Content::text("there are more pages; the first 2 are here");
    assert_eq!(output.content, [value, words]);
    assert_eq!(stage.backend.heard().len(), 2);

    let cursor = json!({"items": "$.list", "next": "$.next", "param": "c"});
    let (stage, ended) = paged(json!({}), cursor.clone(), &[page("a"), page("b"), page("a")]);
    let failure = ended.failure();
    assert_eq!(
        (failure.stop.code, failure.stop.message.as_str()),
        (Code::OutputInvalid, "`127.0.0.1` points to a page that it gave already")
    );
    assert_eq!((failure.native.len(), stage.backend.heard().len()), (1, 3));
    let empty = json!({"list": [], "next": "a"});
    let (_, ended) = paged(json!({}), cursor.clone(), &[page("a"), empty]);
    assert_eq!(ended.output().structured, Some(json!({"list": [1], "next": "a"})));

    let (_, ended) = paged(json!({}), cursor, &[json!({"list": 7})]);
    let words = "`127.0.0.1` answered, and `pagination.items` finds no list in it";
    assert_eq!(ended.failure().stop.message, words);
}

#[test]
fn pages_together_obey_the_response_size_limit() {
    let cursor = json!({"items": "$.list", "next": "$.next", "param": "c"});
    let page = |next: &str| json!({"list": ["x".repeat(3 << 20)], "next": next});
    let (_, ended) = paged(json!({}), cursor, &[page("a"), page("b")]);
    assert_eq!(ended.fate(), (Code::ResultTooLarge, EffectState::None, 0));
}
