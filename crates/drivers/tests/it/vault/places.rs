//! Tests of secret locations, and of the reasons why one cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haft_drivers::{Keeper, ListedSecret, Per, SecretVariable};
use haft_model::SecretKind;
use haft_testkit::Folder;

use crate::vault::stage::{actor, keep, keeper, listed, opened};

fn at(backend: &str) -> ListedSecret {
    ListedSecret { backend: Some(backend.to_owned()), ..listed("pay/key") }
}

async fn got(folder: &Folder, entry: ListedSecret) -> Result<String, String> {
    let variable = |name: &str| match name {
        "FULL" => Some("from the environment".to_owned()),
        "EMPTY" => Some(String::new()),
        "SHORT" => Some("abc".to_owned()),
        _ => None,
    };
    let keeper = Keeper { variable, ..keeper(folder, vec![entry]) };
    let got = opened(&keeper, &actor("user:ana"), "pay/key", &["pay/key"]).await;
    let shorten = |text: String| folder.filtered(&text);
    got.map(shorten).map_err(shorten)
}

#[tokio::test]
async fn a_value_is_taken_from_where_the_entry_says() {
    let folder = Folder::new();
    let path = folder.path().join("key.txt");
    fs::write(&path, "from a file\n").unwrap();
    let file = format!("file://{}", path.display());
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let open = "setup.required: the secret `pay/key` at `[folder]/key.txt` cannot be used: others may read or write it";
    for (bits, words) in [(0o644, "644"), (0o640, "640"), (0o602, "602")] {
        mode(bits);
        let words = format!("{open} (mode {words}); chmod 600 [folder]/key.txt");
        assert_eq!(got(&folder, at(&file)).await, Err(words));
    }
    for bits in [0o600, 0o400] {
        mode(bits);
        assert_eq!(got(&folder, at(&file)).await, Ok("pay/key: from a file".to_owned()));
    }
    let named = |name: &str| ListedSecret {
        names: vec![SecretVariable { name: name.to_owned(), field: None }],
        ..listed("pay/key")
    };
    let each = ListedSecret { per: Per::Actor, ..at("env://FULL") };
    let short = "credential.missing: the value of the secret `pay/key` is shorter than 4 bytes, so that it could not be kept out of what is shown; `haft secrets set pay/key`";
    let cases = [
        (at("env://FULL"), Ok("pay/key: from the environment")),
        (
            at("env://EMPTY"),
            Err(
                "credential.missing: the secret `pay/key` is not in the environment variable `EMPTY`; set `EMPTY` for the process that runs Haft",
            ),
        ),
        (at("env://SHORT"), Err(short)),
        (named("FULL"), Ok("pay/key: from the environment")),
        (
            named("NONE"),
            Err(
                "credential.missing: there is no value for the secret `pay/key`; haft secrets set pay/key",
            ),
        ),
        (
            at("file:///nowhere/at/all"),
            Err(
                "credential.missing: the secret `pay/key` is not at `/nowhere/at/all`; put it there with mode 600",
            ),
        ),
        (
            at("keyring://shop"),
            Err(
                "setup.required: `keyring://shop` of the secret `pay/key` names no entry of the keyring; write `keyring://SERVICE/USERNAME`",
            ),
        ),
        (
            at("cloud://shop"),
            Err(
                "setup.required: the secret `pay/key` lies at `cloud://shop`, which Haft cannot open; use `keyring://SERVICE/USERNAME`, `env://NAME` or `file:///path`, or leave `backend` out",
            ),
        ),
        (
            each,
            Err(
                "setup.required: the secret `pay/key` is each actor's own, and `env://FULL` is the same for all; leave `backend` out, and let each actor have a value",
            ),
        ),
    ];
    for (entry, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(got(&folder, entry).await, expected);
    }
}

#[tokio::test]
async fn what_is_kept_here_comes_before_the_environment() {
    let folder = Folder::new();
    keep(&folder, "pay/key", None, "kept here");
    let names = vec![SecretVariable { name: "FULL".to_owned(), field: None }];
    let entry = ListedSecret { names, ..listed("pay/key") };
    assert_eq!(got(&folder, entry).await, Ok("pay/key: kept here".to_owned()));
}

#[tokio::test]
async fn a_name_stands_for_its_part_of_a_secret() {
    let folder = Folder::new();
    keep(
        &folder,
        "pay/pair",
        None,
        r#"{"public": "for all", "private": "for nobody", "n": 123456}"#,
    );
    let name = |name: &str, field: &str| SecretVariable {
        name: name.to_owned(),
        field: Some(field.to_owned()),
    };
    let names = vec![name("PRIVATE", "private"), name("NUMBER", "n"), name("NOTHING", "no")];
    let entry = ListedSecret { names, kind: SecretKind::KeyPair, ..listed("pay/pair") };
    let keeper = keeper(&folder, vec![entry]);
    let cases = [
        ("PRIVATE", Ok("pay/pair: for nobody")),
        ("NUMBER", Ok("pay/pair: 123456")),
        (
            "NOTHING",
            Err(
                "credential.missing: the value of the secret `pay/pair` has no `no`; store a JSON object with `no` in it: `haft secrets set pay/pair`",
            ),
        ),
    ];
    for (name, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(opened(&keeper, &actor("user:ana"), name, &["pay/pair"]).await, expected);
    }
}
