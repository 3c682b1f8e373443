//! Search ranking tests: which contracts words find.

use haft_catalog::{Index, Text, WordIndex};

use crate::surface::catalog::{found, shop};

#[test]
fn search_finds_contract_by_every_text_field() {
    let snapshot = shop();
    let first = |question: &str| found(&snapshot, question).into_iter().next().unwrap_or_default();
    for (question, id) in [
        ("order.cancel", "order.cancel"),
        ("payment", "payment.refund"),
        ("canceling orders", "order.cancel"),
        ("look up a purchase", "order.get"),
        ("money", "payment.refund"),
        ("give the client his money back", "payment.refund"),
        ("deliver a letter", "mail.send"),
        ("refnud", "payment.refund"),
        ("custmoer letters", "mail.send"),
        ("zyzzyva", ""),
        ("", ""),
    ] {
        assert_eq!(first(question), id, "{question}");
    }
}

#[test]
fn a_question_for_several_things_gets_tools_for_each() {
    let question = "Count the articles that are left. Then send a letter, and cancel the order.";
    let mut found = found(&shop(), question);
    found.sort();
    assert_eq!(found, ["mail.send", "order.cancel", "stock.count"]);
}

#[test]
fn only_what_may_be_shown_is_found() {
    let index = Index::new(&shop());
    let hits = index.search("order", 5, |entry| entry.contract.key().id.as_str() != "order.get");
    let ids: Vec<&str> = hits.iter().map(|hit| hit.found.contract.key().id.as_str()).collect();
    assert_eq!(ids, ["order.cancel", "report.old"]);
    assert_eq!(hits[0].words, ["order"]);
}

#[test]
fn equal_scores_keep_insertion_order() {
    let text = Text { name: "send_mail", ..Text::default() };
    let index = WordIndex::new([text; 4]);
    let places =
        |most| index.rank("mail", most, |_| true).iter().map(|hit| hit.found).collect::<Vec<_>>();
    assert_eq!(places(3), [0, 1, 2]);
    assert_eq!(places(9), [0, 1, 2, 3]);
    assert!(WordIndex::new([]).rank("mail", 3, |_| true).is_empty());
}

#[test]
fn quoted_argument_words_weigh_less_than_action_words() {
    let names = ["walnut_count", "mail_send"];
    let index = WordIndex::new(names.map(|name| Text { name, ..Text::default() }));
    let first = |question| index.rank(question, 1, |_| true)[0].found;
    assert_eq!(first("send walnut"), 0, "one is as good as the other, and the first comes first");
    assert_eq!(first("send \"walnut\""), 1);
}

#[test]
fn longer_result_list_extends_shorter_with_descending_scores() {
    let names: Vec<String> = (0..60).map(|at| format!("send_mail_{}", at % 7)).collect();
    let index = WordIndex::new(names.iter().map(|name| Text { name, ..Text::default() }));
    let rank = |most| index.rank("send a mail. Then 3 of them, and 5.", most, |_| true);
    let (few, many) = (rank(10), rank(60));
    assert_eq!(few, many[..10]);
    assert_eq!(many.len(), 60);
    assert!(many.is_sorted_by(|one, next| one.score >= next.score));
}
