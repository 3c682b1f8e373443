//! Tests of secret authorization: which actor may open which secret.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_drivers::{Keeper, ListedSecret, Per, SecretVariable};
use haft_model::{Actor, Grantee, Role};
use haft_testkit::Folder;

use crate::vault::stage::{TOOL, actor, keep, keeper, listed, opened};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/secrets/who.txt");

/// Every kind of caller.
fn callers() -> [Actor; 5] {
    let with = |id: &str, roles: &[Role]| Actor::new(id, "shop", roles.iter().copied());
    [
        with("agent:coder", &[Role::Agent]),
        with("user:ana", &[Role::Admin, Role::Approver]),
        with("user:bob", &[]),
        with("user:eve", &[Role::Auditor]),
        with("agent:ana", &[Role::Agent]),
    ]
}

/// Every binding that an entry may have, with the secrets that the contract lists.
fn rows() -> Vec<(&'static str, Vec<Grantee>, &'static [&'static str])> {
    let to = |name: &str| name.to_owned();
    let tool = || vec![Grantee::Tool(to(TOOL))];
    vec![
        ("nobody", vec![], &["pay/key"]),
        ("this tool", tool(), &["pay/key"]),
        ("this tool by its key", vec![Grantee::Tool(format!("{TOOL}@1"))], &["pay/key"]),
        ("another major", vec![Grantee::Tool(format!("{TOOL}@2"))], &["pay/key"]),
        ("another tool", vec![Grantee::Tool(to("pay.refund"))], &["pay/key"]),
        ("role agent", vec![Grantee::Role(to("agent"))], &["pay/key"]),
        ("role owner", vec![Grantee::Role(to("owner"))], &["pay/key"]),
        ("role viewer", vec![Grantee::Role(to("viewer"))], &["pay/key"]),
        ("an unknown role", vec![Grantee::Role(to("wizard"))], &["pay/key"]),
        ("user ana", vec![Grantee::User(to("ana"))], &["pay/key"]),
        ("user user:bob", vec![Grantee::User(to("user:bob"))], &["pay/key"]),
        ("a capability", vec![Grantee::Capability(to("cap://pay"))], &["pay/key"]),
        ("a workflow", vec![Grantee::Workflow(to("refund"))], &["pay/key"]),
        (
            "user bob or role viewer",
            vec![Grantee::User(to("bob")), Grantee::Role(to("viewer"))],
            &["pay/key"],
        ),
        ("this tool, not listed", tool(), &[]),
        ("this tool, another listed", tool(), &["pay/other"]),
        ("this tool, listed by variable", tool(), &["PAY_KEY"]),
    ]
}

#[tokio::test]
async fn who_may_open_what_is_the_table_under_review() {
    let folder = Folder::new();
    keep(&folder, "pay/key", None, "open sesame");
    let mut table = "# Who may open a secret: ✔ opened, ✘ permission.denied, – sandbox.violation.\n\
                     # Written by the tests with HAFT_BLESS=1; a change here is a change of power.\n\n"
        .to_owned();
    let _ = write!(table, "{:32}", "access.bind");
    for caller in callers() {
        let _ = write!(table, "{:14}", caller.id.as_str());
    }
    for (name, bind, declared) in rows() {
        let _ = write!(table, "\n{name:32}");
        let names = vec![SecretVariable { name: "PAY_KEY".to_owned(), field: None }];
        let entry = ListedSecret { bind, names, ..listed("pay/key") };
        let keeper = keeper(&folder, vec![entry, listed("pay/other")]);
        for caller in callers() {
            let mark = match opened(&keeper, &caller, "PAY_KEY", declared).await {
                Ok(value) => (value == "pay/key: open sesame").then_some("✔").unwrap(),
                Err(words) if words.starts_with("permission.denied") => "✘",
                Err(words) if words.starts_with("sandbox.violation") => "–",
                Err(words) => panic!("{words}"),
            };
            let _ = write!(table, "{mark:14}");
        }
    }
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if std::env::var_os("HAFT_BLESS").is_some() {
        std::fs::write(TABLE, &table).unwrap();
    }
    assert_eq!(table, std::fs::read_to_string(TABLE).unwrap());
}

#[tokio::test]
async fn a_refusal_says_what_to_add() {
    let folder = Folder::new();
    let closed = ListedSecret { bind: Vec::new(), ..listed("pay/key") };
    let keeper = keeper(&folder, vec![closed]);
    let ana = actor("user:ana");
    let cases = [
        (
            "pay/key",
            &["pay/key"][..],
            "permission.denied: `user:ana` may not have the secret `pay/key` for `pay.charge@1`; add `tool: pay.charge`, or who may use it, to `access.bind` of `pay/key`",
        ),
        (
            "pay/key",
            &[],
            "sandbox.violation: `pay.charge@1` does not list the secret `pay/key`; add `pay/key` to `requires.secrets` of the contract",
        ),
        (
            "PAY_KEY",
            &["pay/key"],
            "credential.missing: no SECRETS.md lists `PAY_KEY`; list it in .secrets/SECRETS.md, with who may use it",
        ),
        (
            "key",
            &["pay/key"],
            "credential.missing: no SECRETS.md lists `key`; did you mean `pay/key`?",
        ),
    ];
    for (name, declared, words) in cases {
        assert_eq!(opened(&keeper, &ana, name, declared).await, Err(words.to_owned()));
    }
}

#[tokio::test]
async fn secret_backend_is_not_queried_before_authorization() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let folder = Folder::new();
    let counted = |bind| {
        let backend = Some("env://PAY_KEY".to_owned());
        let entry = ListedSecret { bind, backend, ..listed("pay/key") };
        let variable = |_: &str| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            Some("open sesame".to_owned())
        };
        Keeper { variable, ..keeper(&folder, vec![entry]) }
    };
    let ana = actor("user:ana");
    let denied = counted(Vec::new());
    opened(&denied, &ana, "pay/key", &["pay/key"]).await.unwrap_err();
    let open = counted(vec![Grantee::User("ana".to_owned())]);
    opened(&open, &ana, "pay/key", &[]).await.unwrap_err();
    assert_eq!(ASKED.load(Ordering::SeqCst), 0);
    opened(&open, &ana, "pay/key", &["pay/key"]).await.unwrap();
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn per_actor_secret_is_never_served_to_another_actor() {
    let folder = Folder::new();
    for slug in ["each/own", "pay/key"] {
        keep(&folder, slug, Some("user:ana"), "of ana");
        keep(&folder, slug, None, "of all");
    }
    let each = ListedSecret { per: Per::Actor, ..listed("each/own") };
    let keeper = keeper(&folder, vec![each, listed("pay/key")]);
    let missing = "credential.missing: `user:bob` has no value of their own for the secret `each/own`; haft secrets set each/own --for user:bob";
    let cases = [
        ("user:ana", "each/own", Ok("each/own: of ana")),
        ("user:bob", "each/own", Err(missing)),
        ("user:ana", "pay/key", Ok("pay/key: of ana")),
        ("user:bob", "pay/key", Ok("pay/key: of all")),
    ];
    for (who, slug, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(opened(&keeper, &actor(who), slug, &[slug]).await, expected);
    }
}

#[tokio::test]
async fn a_name_means_one_secret() {
    let folder = Folder::new();
    let called = |slug: &str, name: &str| ListedSecret {
        names: vec![SecretVariable { name: name.to_owned(), field: None }],
        ..listed(slug)
    };
    for slug in ["pay/one", "pay/two", "gh-token", "pay/gh"] {
        keep(&folder, slug, None, &format!("the value of {slug}"));
    }
    let inventory = vec![
        called("pay/one", "SHARED"),
        called("pay/two", "SHARED"),
        listed("gh-token"),
        called("pay/gh", "GITHUB"),
    ];
    let all = ["pay/one", "pay/two", "gh-token", "pay/gh"];
    let keeper = keeper(&folder, inventory);
    let cases = [
        (
            "SHARED",
            Err(
                "credential.missing: `SHARED` may mean `pay/one` or `pay/two`; let one secret alone go by that name",
            ),
        ),
        ("GH_TOKEN", Ok("gh-token: the value of gh-token")),
        ("GITHUB", Ok("pay/gh: the value of pay/gh")),
    ];
    for (name, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(opened(&keeper, &actor("user:ana"), name, &all).await, expected);
    }
}
