//! Tests of the encrypted store: unreadable without its key, and consistent after every change.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use haft_drivers::{KeyPlace, Strongbox};
use haft_model::{Secret, Stop, Timestamp};
use haft_testkit::Folder;

use crate::vault::stage::{file, keep, key, strongbox};

fn words(folder: &Folder, stop: Stop) -> String {
    folder.filtered(&format!("{}: {}; {}", stop.code, stop.message, stop.help.unwrap_or_default()))
}

#[test]
fn nothing_of_it_can_be_read_without_the_key() {
    let folder = Folder::new();
    keep(&folder, "pay/key", Some("user:ana"), "open sesame");
    let closed = fs::read_to_string(file(&folder)).unwrap();
    assert_eq!(closed.lines().count(), 3);
    for part in ["open sesame", "pay/key", "user:ana"] {
        assert!(!closed.contains(part), "{closed}");
    }
    for path in [file(&folder), key(&folder).file.unwrap()] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
    }
    let left = fs::read_dir(folder.path().join(".haft")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["secrets.lock", "secrets.sealed"]);
    assert_eq!(fs::read(folder.path().join(".haft/secrets.lock")).unwrap(), b"");
}

#[test]
fn a_value_is_replaced_and_forgotten() {
    let folder = Folder::new();
    let strongbox = strongbox(&folder);
    let there =
        |holder| strongbox.value("pay/key", holder).unwrap().map(|value| value.expose().to_owned());
    assert_eq!(there(None), None);
    keep(&folder, "pay/key", None, "first");
    keep(&folder, "pay/key", Some("user:ana"), "of ana");
    keep(&folder, "pay/key", None, "second");
    assert_eq!(
        (there(None), there(Some("user:ana"))),
        (Some("second".into()), Some("of ana".into()))
    );
    let holders = strongbox.holders().unwrap();
    let holders: Vec<_> = holders.iter().map(|one| (&*one.slug, one.holder.as_deref())).collect();
    assert_eq!(holders, [("pay/key", None), ("pay/key", Some("user:ana"))]);
    let removed = |holder| strongbox.change().unwrap().remove("pay/key", holder).unwrap();
    assert_eq!((removed(None), removed(None)), (true, false));
    assert_eq!((there(None), there(Some("user:ana"))), (None, Some("of ana".into())));
}

#[test]
fn wrong_key_opens_nothing_and_is_distinguished_from_damage() {
    let folder = Folder::new();
    keep(&folder, "pay/key", None, "open sesame");
    let other = KeyPlace { given: Some(Secret::new("7".repeat(64))), file: None };
    let other = Strongbox::new(file(&folder), other);
    let another = "setup.required: `[folder]/.haft/secrets.sealed` was closed with another key; bring back the key that it was closed with: see HAFT_SECRETS_KEY";
    assert_eq!(words(&folder, other.value("pay/key", None).unwrap_err()), another);
    let Err(stop) = other.change() else { panic!("another key changes nothing") };
    assert_eq!(words(&folder, stop), another);
    let bad = KeyPlace { given: Some(Secret::new("no key".into())), file: None };
    assert_eq!(
        words(&folder, Strongbox::new(file(&folder), bad).holders().unwrap_err()),
        "setup.required: the key of the secrets is not 64 hexadecimal digits; bring back the key as it was written"
    );
    fs::remove_file(key(&folder).file.unwrap()).unwrap();
    let gone = "setup.required: the key of the secrets is not at `[folder]/config/secrets.key`; bring back the key that they were closed with, or set HAFT_SECRETS_KEY";
    assert_eq!(words(&folder, strongbox(&folder).value("pay/key", None).unwrap_err()), gone);
    let Err(stop) = strongbox(&folder).change() else {
        panic!("no new key is made over old values")
    };
    assert_eq!(words(&folder, stop), gone);
}

#[test]
fn a_change_of_any_part_is_found() {
    let folder = Folder::new();
    keep(&folder, "pay/key", None, "open sesame");
    let closed = fs::read(file(&folder)).unwrap();
    for at in 0..closed.len() {
        let mut changed = closed.clone();
        changed[at] ^= 1;
        fs::write(file(&folder), &changed).unwrap();
        assert!(strongbox(&folder).value("pay/key", None).is_err(), "byte {at}");
    }
    for keep in [0, 20, closed.len() / 2, closed.len() - 2] {
        fs::write(file(&folder), &closed[..keep]).unwrap();
        assert!(strongbox(&folder).value("pay/key", None).is_err(), "{keep} bytes");
    }
    fs::write(file(&folder), &closed).unwrap();
    assert!(strongbox(&folder).value("pay/key", None).unwrap().is_some());
}

#[test]
fn a_key_that_others_may_read_is_not_used() {
    let folder = Folder::new();
    keep(&folder, "pay/key", None, "open sesame");
    let path = key(&folder).file.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(
        words(&folder, strongbox(&folder).value("pay/key", None).unwrap_err()),
        "setup.required: the key of the secrets at `[folder]/config/secrets.key` cannot be used: others may read or write it (mode 640); chmod 600 [folder]/config/secrets.key"
    );
}

#[test]
fn concurrent_writes_to_encrypted_store_lose_nothing() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                for turn in 0..5 {
                    let slug = format!("pay/key-{writer}-{turn}");
                    let strongbox = strongbox(folder);
                    let change = strongbox.change().unwrap();
                    change.put(&slug, None, Secret::new(slug.clone()), Timestamp::now()).unwrap();
                }
            });
        }
    });
    let strongbox = strongbox(&folder);
    assert_eq!(strongbox.holders().unwrap().len(), 40);
    for holder in strongbox.holders().unwrap() {
        let value = strongbox.value(&holder.slug, None).unwrap().unwrap();
        assert_eq!(value.expose(), holder.slug);
    }
}
