//! Token conformance: issued, found by hash, and revoked.

use haft_ledger::{Draft, Guard, Store};
use haft_model::{ActorId, Digest, Event, Token, TokenId, TokenRevoked};

use crate::conformance::cases::{add, all, parsed, refused};
use crate::sample::*;

pub(crate) async fn a_token_is_found_by_its_hash_until_it_is_taken_back(store: &dyn Store) {
    let issued = |number: u8| Token {
        id: TokenId::from(format!("tok_{number}").as_str()),
        hash: Digest::of_bytes(&[number]),
        actor: ActorId::from("agent:coder"),
        tenant: "default".to_owned(),
        label: (number == 1).then(|| "laptop".to_owned()),
        by: ActorId::from("user:bo"),
        at: at(5),
        expires: (number == 2).then(|| at(9)),
    };
    let [one, two] = [issued(1), issued(2)];
    for token in [&two, &one] {
        let fact = fact(5, Event::TokenIssued(Box::new(token.clone())));
        add(store, Draft { facts: vec![fact], ..Draft::default() }).await;
    }
    assert_eq!(store.tokens().await.unwrap(), [one.clone(), two.clone()]);
    assert_eq!(store.token(&one.hash).await.unwrap(), Some(one.clone()));
    assert_eq!(store.token(&Digest::of_bytes(b"nobody's")).await.unwrap(), None);
    let revoking = || {
        let revoked = TokenRevoked { id: one.id.clone(), by: ActorId::from("user:bo") };
        Draft {
            facts: vec![fact(6, Event::TokenRevoked(revoked))],
            guards: vec![Guard::Issued(one.id.clone())],
            ..Draft::default()
        }
    };
    add(store, revoking()).await;
    refused(store, revoking()).await;
    assert_eq!(store.token(&one.hash).await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), [two]);
    let actions: Vec<_> =
        all(store).await.iter().map(|entry| parsed(entry)["action"].clone()).collect();
    assert_eq!(actions, ["token.issued", "token.issued", "token.revoked"]);
}
