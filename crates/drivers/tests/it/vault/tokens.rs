//! Tests of login tokens: what the driver gets, and how they are renewed.

use haft_drivers::{Keeper, ListedSecret, Token};
use haft_model::{Secret, SecretKind, Span, Timestamp};
use haft_sandbox::AddressGuard;
use haft_testkit::{Act, Backend, Folder, Keys, Then};

use crate::vault::stage::{actor, keep, keeper, listed, opened, strongbox};

/// A token that is valid for a number of seconds from now.
pub(crate) fn token(access: &str, seconds: i64, server: &Backend) -> Token {
    Token {
        access: Secret::new(access.to_owned()),
        refresh: Some(Secret::new("refresh one".to_owned())),
        until: Some(Timestamp::now().checked_add(Span::new().seconds(seconds)).unwrap()),
        endpoint: Some(format!("http://{}/token", server.host())),
        client: Some("haft".to_owned()),
        server: None,
    }
}

fn vault(folder: &Folder, server: &Backend) -> Keeper {
    let entry = ListedSecret { kind: SecretKind::OAuth, ..listed("pay/login") };
    let guard = AddressGuard::public().allowing("127.0.0.1", server.port());
    Keeper { guard, ..keeper(folder, vec![entry]) }
}

async fn got(keeper: &Keeper, who: &str) -> Result<String, String> {
    opened(keeper, &actor(who), "pay/login", &["pay/login"]).await
}

#[tokio::test]
async fn only_the_access_token_is_handed_over() {
    let (folder, server) = (Folder::new(), Backend::new(Keys::Ignored));
    keep(&folder, "pay/login", None, token("access one", 3600, &server).written().expose());
    assert_eq!(got(&vault(&folder, &server), "user:ana").await, Ok("pay/login: access one".into()));
    keep(&folder, "pay/login", None, "a token by itself");
    let bare = got(&vault(&folder, &server), "user:ana").await;
    assert_eq!((bare, server.heard().len()), (Ok("pay/login: a token by itself".into()), 0));
}

#[tokio::test]
async fn expiring_token_is_refreshed_once_and_persisted() {
    let (folder, server) = (Folder::new(), Backend::new(Keys::Ignored));
    let answer =
        r#"{"access_token": "access two", "refresh_token": "refresh two", "expires_in": 3600}"#;
    server.will(Act::commits(Then::json(200, answer)));
    let kept = token("access one", 30, &server).written();
    keep(&folder, "pay/login", Some("user:ana"), kept.expose());
    let keeper = vault(&folder, &server);
    let both = tokio::join!(got(&keeper, "user:ana"), got(&keeper, "user:ana"));
    let renewed = Ok("pay/login: access two".to_owned());
    assert_eq!(both, (renewed.clone(), renewed));
    let [asked] = &server.heard()[..] else { panic!("{:?}", server.heard()) };
    assert_eq!(
        (asked.path.as_str(), asked.body.clone()),
        ("/token", "grant_type=refresh_token&refresh_token=refresh%20one&client_id=haft".into())
    );
    let now_kept = strongbox(&folder).value("pay/login", Some("user:ana")).unwrap().unwrap();
    let now_kept = Token::parse(&now_kept).unwrap();
    assert_eq!(now_kept.refresh.unwrap().expose(), "refresh two");
    assert_eq!(strongbox(&folder).value("pay/login", None).unwrap(), None);
}

#[tokio::test]
async fn unrefreshable_token_works_until_expiry_then_credential_missing() {
    let (folder, server) = (Folder::new(), Backend::new(Keys::Ignored));
    for _ in 0..2 {
        server.will(Act::refuses(Then::json(400, r#"{"error": "invalid_grant"}"#)));
    }
    keep(&folder, "pay/login", None, token("access one", 30, &server).written().expose());
    let keeper = vault(&folder, &server);
    assert_eq!(got(&keeper, "user:ana").await, Ok("pay/login: access one".into()));
    keep(&folder, "pay/login", None, token("access one", -1, &server).written().expose());
    assert_eq!(
        got(&keeper, "user:ana").await,
        Err("credential.missing: the login of the secret `pay/login` has run out: its server answered 400 (invalid_grant); log in again with `haft login`".into())
    );
}
