//! Tests of the keyring store, with a real session keyring.

use std::path::Path;
use std::sync::OnceLock;

use haft_drivers::{Keeper, ListedSecret, Per, Token};
use haft_model::{Secret, SecretKind, Stop};
use haft_sandbox::AddressGuard;
use haft_testkit::{Act, Backend, Folder, Keyring, Keys, Then};

use crate::vault::stage::{actor, keeper, listed, opened};
use crate::vault::tokens::token;

/// The bus address of the test's session.
static BUS: OnceLock<String> = OnceLock::new();

const ANA: [&str; 4] = ["service", "shop", "username", "ana"];

fn packages() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("keyring")
}

fn session(keyring: &Keyring) {
    BUS.set(keyring.address().to_owned()).unwrap();
}

/// A vault in that session, whose one secret is in the keyring.
fn vault(folder: &Folder, entry: ListedSecret) -> Keeper {
    let variable = |name: &str| match name {
        "DBUS_SESSION_BUS_ADDRESS" => BUS.get().cloned(),
        _ => None,
    };
    Keeper { variable, ..keeper(folder, vec![entry]) }
}

fn at(backend: &str) -> ListedSecret {
    ListedSecret { backend: Some(backend.to_owned()), ..listed("pay/key") }
}

async fn got(keeper: &Keeper, who: &str) -> Result<String, String> {
    opened(keeper, &actor(who), "pay/key", &["pay/key"]).await
}

fn value(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn words(stop: Stop) -> String {
    format!("{}: {}", stop.code, stop.message)
}

#[tokio::test]
async fn keyring_value_is_shared_with_other_programs() {
    let (folder, keyring) = (Folder::new(), Keyring::unlocked(packages()));
    session(&keyring);
    let entry = at("keyring://shop/ana");
    let keeper = vault(&folder, entry.clone());
    let missing = "credential.missing: the secret `pay/key` is not in the keyring (service `shop`, username `ana`); haft secrets set pay/key";
    assert_eq!(got(&keeper, "user:bob").await, Err(missing.to_owned()));
    keeper.keep(&entry, None, value("kept by us")).await.unwrap();
    assert_eq!(keyring.lookup(&ANA), "kept by us");
    keyring.store(&ANA, "kept by others");
    assert_eq!(got(&keeper, "user:bob").await, Ok("pay/key: kept by others".to_owned()));
    keeper.keep(&entry, None, value("kept by us again")).await.unwrap();
    assert_eq!(keyring.lookup(&ANA), "kept by us again");
    let gone = [keeper.forget(&entry, None).await, keeper.forget(&entry, None).await];
    assert_eq!((gone, keyring.lookup(&ANA)), ([Ok(true), Ok(false)], String::new()));
}

#[tokio::test]
async fn keyring_denies_other_actors_entry_and_refuses_ambiguous_entries() {
    let (folder, keyring) = (Folder::new(), Keyring::unlocked(packages()));
    session(&keyring);
    let each = ListedSecret { per: Per::Actor, ..at("keyring://shop") };
    let keeper = vault(&folder, each.clone());
    keeper.keep(&each, Some("user:ana"), value("of ana")).await.unwrap();
    assert_eq!(got(&keeper, "user:ana").await, Ok("pay/key: of ana".to_owned()));
    let missing = "credential.missing: the secret `pay/key` is not in the keyring (service `shop`, username `user:bob`); haft secrets set pay/key --for user:bob";
    assert_eq!(got(&keeper, "user:bob").await, Err(missing.to_owned()));
    let whose = keeper.keep(&each, None, value("of nobody")).await.map_err(words);
    let said = "setup.required: each actor has their own `pay/key` in the keyring";
    assert_eq!(whose, Err(said.to_owned()));
    keyring.store(&ANA, "the one");
    keyring.store(&[&ANA[..], &["program", "another"]].concat(), "the other");
    let several = "setup.required: the secret `pay/key` lies in the keyring, and cannot be used: it has several entries of service `shop` and username `ana`; leave one of them, in the program that manages the keyring";
    let keeper = vault(&folder, at("keyring://shop/ana"));
    assert_eq!(got(&keeper, "user:ana").await, Err(several.to_owned()));
}

#[tokio::test]
async fn locked_keyring_fails_without_fallback_to_encrypted_store() {
    let (folder, keyring) = (Folder::new(), Keyring::unlocked(packages()));
    session(&keyring);
    let entry = at("keyring://shop/ana");
    let keeper = vault(&folder, entry.clone());
    crate::vault::stage::keep(&folder, "pay/key", None, "kept in the strongbox");
    let locked = "setup.required: the secret `pay/key` lies in the keyring, and cannot be used: it is locked";
    keyring.lock();
    let made = keeper.keep(&entry, None, value("never kept")).await.map_err(words);
    assert_eq!(made, Err(locked.to_owned()));
    assert_eq!(
        got(&keeper, "user:ana").await.map_err(|said| said.split("; ").next().unwrap().to_owned()),
        Err(locked.to_owned())
    );
}

#[tokio::test]
async fn an_entry_of_a_locked_keyring_is_not_opened() {
    let (folder, keyring) = (Folder::new(), Keyring::unlocked(packages()));
    session(&keyring);
    keyring.store(&ANA, "in the keyring");
    keyring.lock();
    let entry = at("keyring://shop/ana");
    let keeper = vault(&folder, entry.clone());
    let locked = "setup.required: the secret `pay/key` lies in the keyring, and cannot be used: it is locked; unlock it: log in to the desktop, open it in its own program, or pipe its password into `gnome-keyring-daemon --unlock`";
    assert_eq!(got(&keeper, "user:ana").await, Err(locked.to_owned()));
    assert!(keeper.keep(&entry, None, value("another")).await.is_err());
    assert!(keeper.forget(&entry, None).await.is_err());
}

#[tokio::test]
async fn a_session_without_a_keyring_says_so() {
    let (folder, keyring) = (Folder::new(), Keyring::absent(packages()));
    session(&keyring);
    let keeper = vault(&folder, at("keyring://shop/ana"));
    let none = "setup.required: the secret `pay/key` lies in the keyring, and cannot be used: no keyring is running in this session; start one that offers the Secret Service: gnome-keyring, KWallet or KeePassXC";
    assert_eq!(got(&keeper, "user:ana").await, Err(none.to_owned()));
    let nowhere = Keeper { variable: |_| None, ..keeper };
    let none = "setup.required: the secret `pay/key` lies in the keyring, and cannot be used: this process has no session bus to reach it by; run Haft in the session of the person whose keyring it is (`DBUS_SESSION_BUS_ADDRESS`), or under `dbus-run-session`";
    assert_eq!(got(&nowhere, "user:ana").await, Err(none.to_owned()));
}

#[tokio::test]
async fn expiring_oauth_token_in_keyring_is_refreshed_in_place() {
    let (folder, keyring) = (Folder::new(), Keyring::unlocked(packages()));
    session(&keyring);
    let server = Backend::new(Keys::Ignored);
    let answer = r#"{"access_token": "access two", "expires_in": 3600}"#;
    server.will(Act::commits(Then::json(200, answer)));
    let entry = ListedSecret { kind: SecretKind::OAuth, ..at("keyring://shop/ana") };
    let guard = AddressGuard::public().allowing("127.0.0.1", server.port());
    let keeper = Keeper { guard, ..vault(&folder, entry.clone()) };
    let kept = token("access one", 30, &server).written();
    keeper.keep(&entry, None, kept).await.unwrap();
    for _ in 0..2 {
        assert_eq!(got(&keeper, "user:ana").await, Ok("pay/key: access two".to_owned()));
    }
    let kept = Token::parse(&value(&keyring.lookup(&ANA))).unwrap();
    assert_eq!((kept.access.expose(), server.heard().len()), ("access two", 1));
}
