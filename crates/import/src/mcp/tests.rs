//! Which values are taken for secrets, and what servers are called.

use super::launch::{looks_secret, program_name};

#[test]
fn what_looks_like_a_secret_is_not_written_down() {
    let long = "a1".repeat(15);
    for (name, value, secret) in [
        ("API_KEY", "x", true),
        ("GITHUB_TOKEN", "x", true),
        ("tokens", "x", true),
        ("DATABASE_URL", "sqlite:notes.db", true),
        ("URL", "https://ana:word@db.example/x", true),
        ("WHATEVER", long.as_str(), true),
        ("USE_AUTH", "true", false),
        ("KEYBOARD", "qwerty", false),
        ("PATH_TO_NOTES", "./notes/of/last/year/and/the/one/before", false),
        ("LOG_LEVEL", "debug", false),
        ("URL", "https://db.example/x", false),
    ] {
        assert_eq!(looks_secret(name, value), secret, "{name}={value}");
    }
}

#[test]
fn a_server_is_called_after_what_it_runs() {
    for (command, name) in [
        ("npx -y @notes/server@1.2.0 --x", "server"),
        ("uvx notes-server", "notes-server"),
        ("python3 -m notes.server", "notes.server"),
        ("python3 tools/notes.py", "notes"),
        ("./bin/notes --stdio", "notes"),
        ("", ""),
    ] {
        let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        assert_eq!(program_name(&command), name, "{command:?}");
    }
}
