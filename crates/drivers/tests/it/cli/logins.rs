//! Tests of credential injection: a program's secrets are in its environment or a file, nowhere
//! else.

use haft_model::{Code, EffectState};
use haft_testkit::Folder;
use serde_json::json;

use crate::cli::stage::Stage;

fn logging_in(script: &str, auth: serde_json::Value, secrets: &[(&str, &str)]) -> Stage {
    let pairs = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Stage { secrets: pairs.collect(), ..Stage::script(script).with("auth", auth) }
}

#[test]
fn login_reaches_environment_and_one_of_several_suffices() {
    let show = "echo \"[$DEMO_TOKEN] [$OTHER_TOKEN]\"";
    let auth = json!({"state": {"env": ["DEMO_TOKEN", "OTHER_TOKEN"]}});
    let both = logging_in(show, auth.clone(), &[("DEMO_TOKEN", "one"), ("OTHER_TOKEN", "two")]);
    assert_eq!(both.run(json!({})).text(), "[one] [two]\n");
    let one = logging_in(show, auth.clone(), &[("OTHER_TOKEN", "two")]);
    assert_eq!(one.run(json!({})).text(), "[] [two]\n");
    let nobody = logging_in(show, auth, &[]).run(json!({}));
    assert_eq!(nobody.fate(), (Code::CredentialMissing, EffectState::NotSubmitted, 0));
}

#[test]
fn program_with_its_own_login_needs_no_secret() {
    let beyond = Folder::new().file("login", "a login\n");
    let login = beyond.path().join("login").display().to_string();
    let auth = json!({"state": {"env": ["DEMO_TOKEN"], "paths": [login]}});
    let stage = logging_in(&format!("cat {login}"), auth, &[]);
    assert_eq!(stage.run(json!({})).text(), "a login\n");
}

#[test]
fn secret_file_is_readable_without_touching_disk() {
    let stage =
        logging_in("cat \"$DEMO_KEY_FILE\"; echo; ls -l out", json!({}), &[("DEMO_KEY", "s3")]);
    let stage = stage.haft("secret_files", json!({"DEMO_KEY_FILE": "DEMO_KEY"}));
    let text = stage.run(json!({})).text();
    assert!(text.starts_with("s3\n") && text.ends_with("kept\n"), "{text}");
    let closed = Stage { secrets: Default::default(), ..stage };
    assert_eq!(closed.run(json!({})).fate().0, Code::CredentialMissing);
}

#[test]
fn a_secret_in_a_command_line_is_refused() {
    for (field, template) in
        [("argv", json!(["--key=${secrets.KEY}"])), ("stdin", json!("${secrets.KEY}"))]
    {
        let stop =
            Stage::reading("echo", &[]).cli(field, template).preflight(json!({})).unwrap_err();
        let words =
            format!("driver `demo`: `metadata.cli.{field}` holds a secret, which others would see");
        assert_eq!((stop.code, stop.message), (Code::SetupRequired, words));
    }
}
