//! Snapshot tests of imports: each source in `fixtures` has its expected import beside it.
//!
//! With `HAFT_BLESS=1` the expected imports are rewritten, for review.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haft_contract::{Report, Source, read};
use haft_import::cli::{self, HelpPage, ProgramEffects};
use haft_import::mcp::{self, OAuth, ServerSource};
use haft_import::{Import, openapi, read_document};
use serde_json::json;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

/// Compares everything that an import is with the answer beside its source.
#[track_caller]
fn check(answer: &str, import: &Import) {
    for file in &import.files {
        let source = Source::new(file.path.as_str(), file.text.as_str());
        let reading = read(&source, Report::new(&source));
        assert!(reading.diagnostics.is_empty(), "{} {:#?}", file.path, reading.diagnostics);
    }
    let told = told(import);
    if std::env::var_os("HAFT_BLESS").is_some() {
        return fs::write(fixture(answer), told).unwrap();
    }
    assert_eq!(told, text(answer), "HAFT_BLESS=1 writes the answer anew; read what changed");
}

fn told(import: &Import) -> String {
    let mut out = format!("import {}\n", import.name);
    for file in &import.files {
        out.push_str(&format!("\n=== {}\n{}", file.path, file.text));
    }
    out.push_str("\n=== guessed\n");
    for guess in &import.guesses {
        let (file, field, value, why) = (&guess.file, &guess.field, &guess.value, &guess.why);
        out.push_str(&format!("{file} {field}: {value} ({why}); {}\n", guess.change));
    }
    out.push_str("\n=== left out\n");
    for skipped in &import.skipped {
        out.push_str(&format!("{}: {}\n", skipped.what, skipped.why));
    }
    out.push_str("\n=== secrets\n");
    for secret in &import.secrets {
        out.push_str(&format!("{} {}: {}\n", secret.slug, secret.variable, secret.description));
    }
    out
}

fn open(name: &str, options: openapi::OpenApiOptions) -> Import {
    let document = read_document(name, &text(name)).unwrap();
    openapi::import(&document, &options).unwrap()
}

#[test]
fn openapi_3_0_document_imports_contracts_and_drivers() {
    let options = openapi::OpenApiOptions { source: "library.yaml".into(), ..Default::default() };
    check("openapi/library.expected", &open("openapi/library.yaml", options));
}

#[test]
fn openapi_3_1_document_imports_contracts_and_drivers() {
    let source = "https://ferries.example/docs/openapi.json".to_owned();
    let options = openapi::OpenApiOptions { source, ..Default::default() };
    check("openapi/ferries.expected", &open("openapi/ferries.json", options));
}

#[test]
fn import_is_limited_to_filtered_and_known_tools() {
    let only = |glob: &str, known: &[&str]| {
        let options = openapi::OpenApiOptions {
            only: Some(haft_model::Glob::new(glob)),
            known: known.iter().map(|id| (*id).to_owned()).collect(),
            ..Default::default()
        };
        let files = open("openapi/library.yaml", options).files;
        let tools = files.into_iter().filter_map(|file| {
            Some(file.path.strip_prefix(".tools/")?.strip_suffix("/TOOL.md")?.to_owned())
        });
        tools.collect::<Vec<_>>()
    };
    assert_eq!(only("listBooks", &[]), ["town-library.list-books"]);
    assert_eq!(
        only("*.lend", &["town-library.remove-book"]),
        ["town-library.remove-book", "town-library.lend"]
    );
    assert_eq!(only("DELETE *", &[]), ["town-library.remove-book"]);
}

#[test]
fn a_server_that_is_named_wins_over_the_document() {
    let options = openapi::OpenApiOptions {
        id: Some("lib".into()),
        server: Some("http://127.0.0.1:8080/x/".into()),
        ..Default::default()
    };
    let import = open("openapi/library.yaml", options);
    let drivers: Vec<&str> = import
        .files
        .iter()
        .filter(|file| file.path.ends_with("DRIVER.md"))
        .flat_map(|file| file.text.lines())
        .filter(|line| line.starts_with("base_url") || line.starts_with("id"))
        .collect();
    let at = "base_url: http://127.0.0.1:8080/x";
    assert_eq!(drivers, ["id: lib", at, "id: lib-public", at]);
}

#[test]
fn invalid_openapi_document_is_refused_with_reason() {
    let refused = |text: &str| {
        let document = read_document("x", text);
        let ended = document.and_then(|document| openapi::import(&document, &Default::default()));
        ended.unwrap_err().to_string()
    };
    let wanted = "this is not an OpenAPI document of version 3, nor one of Swagger 2.0:";
    assert_eq!(
        refused("swagger: '1.2'"),
        format!("{wanted} it is Swagger 1.2; convert it to OpenAPI 3 first")
    );
    assert_eq!(refused("openapi: 4.0.0"), format!("{wanted} it says `openapi: 4.0.0`"));
    assert_eq!(refused("{}"), format!("{wanted} it does not say `openapi: 3.…`"));
    assert_eq!(refused("[]"), format!("{wanted} it does not say `openapi: 3.…`"));
    assert_eq!(refused("a: [1"), "this cannot be read: line 1: unclosed bracket '['");
    assert_eq!(
        refused("openapi: 3.1.0"),
        "there is nothing to import: the document has no operation that can be called"
    );
}

#[test]
fn mcp_tools_are_imported_as_untrusted_contracts() {
    let list = read_document("x", &text("mcp/notes.json")).unwrap();
    let command =
        ["npx", "-y", "@notes/server@1.2.0", "--folder", "notes", "--api-key", "not-a-real-one"];
    let server = ServerSource::Program {
        command: command.map(str::to_owned).to_vec(),
        env: BTreeMap::from([
            ("NOTES_TOKEN".to_owned(), "not a real one either".to_owned()),
            ("LOG_LEVEL".to_owned(), "debug".to_owned()),
        ]),
    };
    check("mcp/notes.expected", &mcp::import(&list, &server, &Default::default()).unwrap());
}

#[test]
fn remote_mcp_import_keeps_address_and_omits_key() {
    let list = read_document("x", r#"{"result":{"tools":[{"name":"go"}]}}"#).unwrap();
    let server = ServerSource::Remote {
        url: "https://mcp.example/v1?key=not-a-real-one".into(),
        headers: BTreeMap::from([("Authorization".into(), "Bearer not-a-real-one".into())]),
        sse: false,
        login: None,
    };
    let options = mcp::McpOptions { id: Some("far".into()), ..mcp::McpOptions::default() };
    let import = mcp::import(&list, &server, &options).unwrap();
    assert!(import.files.iter().all(|file| !file.text.contains("not-a-real-one")));
    check("mcp/far.expected", &import);
}

#[test]
fn mcp_import_with_oauth_names_its_secrets() {
    let list = read_document("x", r#"{"result":{"tools":[{"name":"go"}]}}"#).unwrap();
    let server = ServerSource::Remote {
        url: "https://mcp.example/v1".into(),
        headers: BTreeMap::new(),
        sse: false,
        login: Some(OAuth {
            client_id: Some("us".into()),
            client_secret: true,
            document: Some("https://us.example/client.json".into()),
        }),
    };
    let options = mcp::McpOptions { id: Some("guarded".into()), ..mcp::McpOptions::default() };
    check("mcp/guarded.expected", &mcp::import(&list, &server, &options).unwrap());
    let asked = mcp::asked(&server).unwrap();
    let expected =
        json!({ "client_id": "us", "client_metadata_url": "https://us.example/client.json" });
    assert_eq!(asked["server"]["auth"], expected, "nothing secret is asked with");
}

#[test]
fn help_in_each_of_five_styles_becomes_a_contract() {
    for style in ["clap", "argparse", "gnu", "git"] {
        let page = HelpPage { command: vec![], text: text(&format!("cli/{style}.txt")) };
        let import = cli::import(style, &[page], &Default::default()).unwrap();
        check(&format!("cli/{style}.expected"), &import);
    }
    let pages = [
        HelpPage { command: vec![], text: text("cli/cobra.txt") },
        HelpPage { command: vec!["sail".into()], text: text("cli/cobra-sail.txt") },
    ];
    let options = cli::CliOptions { id: None, effects: ProgramEffects::ReadOnly };
    check("cli/cobra.expected", &cli::import("ship", &pages, &options).unwrap());
    let listed = cli::Help::read(&text("cli/cobra.txt")).subcommands;
    let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["load", "sail"]);
}
