//! Request validation by Prism: `prism mock` refuses every request that its document does not
//! allow, and answers the others as the document says.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::backends::packages;
use crate::stage::{command, finished, started};

/// A server that mocks a document, until it is dropped.
struct Prism {
    child: Child,
    address: String,
}

impl Prism {
    fn of(document: &Path) -> Prism {
        // It cannot report its port, so it is given a free one.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = packages().join("node_modules/@stoplight/prism-cli/dist/index.js");
        let mut node = Command::new("node");
        node.arg(program).args(["mock", "--errors", "--host", "127.0.0.1", "--port"]);
        node.arg(port.to_string()).arg(document);
        let mut child = node.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = format!("http://127.0.0.1:{port}");
        let prism = Prism { child, address };
        assert!(said.any(|line| line.is_ok_and(|line| line.contains("is listening on"))));
        // Drain its output, or it blocks.
        thread::spawn(move || said.for_each(drop));
        prism
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A workspace with a document in it, all of whose requests go to its mock.
struct Imported {
    folder: Folder,
    id: &'static str,
    _prism: Prism,
}

impl Imported {
    fn of(document: &str, id: &'static str, more: &str) -> Imported {
        let document = packages().join("node_modules").join(document);
        let prism = Prism::of(&document);
        let folder = Folder::new().file("haft.toml", "");
        let document = document.display();
        let line = format!("add openapi {document} --id {id} --server {} {more}", prism.address);
        let added = finished(started(command(&folder, &line)), &line);
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        Imported { folder, id, _prism: prism }
    }

    /// What a command comes to, with a value for each secret of these documents.
    fn said(&self, line: &str) -> Value {
        let mut command = command(&self.folder, line);
        for name in ["PETSTORE_API_KEY", "PETSTORE_PETSTORE_AUTH", "TRAINS_OAUTH2"] {
            command.env(name, "value-of-a-test");
        }
        let ended = finished(started(command), line);
        let said = String::from_utf8(ended.stdout).unwrap();
        serde_json::from_str(&said)
            .unwrap_or_else(|_| panic!("haft {line}\n{said}{:?}", String::from_utf8(ended.stderr)))
    }

    /// Calls a tool, and approves it where needed.
    fn called(&self, tool: &str, input: &Value) -> Value {
        let file = self.folder.path().join("input.json");
        fs::write(&file, input.to_string()).unwrap();
        let (id, file) = (self.id, file.display());
        let first = self.said(&format!("call {id}.{tool} --input @{file} --no-wait --json"));
        match first["approval_id"].as_str().filter(|_| first["status"] == "pending") {
            Some(question) => self.said(&format!("approve {question} --json")),
            None => first,
        }
    }

    /// The mock took the request, and its answer is what the contract promises.
    #[track_caller]
    fn takes(&self, tool: &str, input: Value) -> Value {
        let envelope = self.called(tool, &input);
        assert_eq!(envelope["status"], "succeeded", "{tool} {input}\n{envelope:#}");
        envelope["structured_content"].clone()
    }
}

#[test]
fn requests_to_the_petstore_are_those_of_its_document() {
    let store = Imported::of("@readme/oas-examples/3.0/json/petstore.json", "petstore", "");
    let pet = store.takes("get-pet-by-id", json!({"petId": 7}));
    assert!(pet["name"].is_string(), "{pet}");
    let found = store.takes("find-pets-by-status", json!({"status": ["sold", "pending"]}));
    assert!(found["items"].is_array(), "{found}");
    let order = json!({"petId": 7, "quantity": 1, "status": "placed", "complete": false});
    let placed = store.takes("place-order", order);
    assert!(placed["id"].is_number(), "{placed}");
}

/// Proves the others: a driver that sends something else is found out.
#[test]
fn mock_rejects_request_that_violates_the_document() {
    let store = Imported::of("@readme/oas-examples/3.0/json/petstore.json", "petstore", "");
    let driver = store.folder.path().join(".drivers/petstore/DRIVER.md");
    let text = fs::read_to_string(&driver).unwrap();
    let wrong = text.replace("{ status: \"${input.status}\" }", "{ status: unheard-of }");
    assert_ne!(text, wrong);
    fs::write(driver, wrong).unwrap();
    let refused = store.called("find-pets-by-status", &json!({"status": ["sold"]}));
    assert_eq!(refused["status"], "failed", "{refused:#}");
}

#[test]
fn requests_for_trains_are_those_of_their_document() {
    let trains = Imported::of("@readme/oas-examples/3.1/json/train-travel.json", "trains", "");
    trains.takes("get-stations", json!({}));
    let station = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e";
    let trip = json!({"origin": station, "destination": "b2e783e1-c824-4d63-b37a-d8d698862f1d",
        "date": "2026-02-01T09:00:00Z", "dogs": true});
    trains.takes("get-trips", trip);
    let booking = json!({"trip_id": station, "passenger_name": "Ada", "has_dog": true});
    let booked = trains.takes("create-booking", booking);
    assert!(booked.is_object(), "{booked}");
}

#[test]
fn parameters_are_serialized_in_styles_of_the_document() {
    let document = "@readme/oas-examples/3.0/json/parameters-style.json";
    let styles = Imported::of(document, "styles", "");
    let all = json!({"primitive": "one", "array": ["one", "two"], "object": {"name": "n"}});
    for tool in ["query-standard", "query-form-non-exploded", "query-form-exploded"] {
        styles.takes(tool, all.clone());
    }
    // Lists with spaces or pipes between them are left out: the mock itself breaks over them.
    styles.takes("query-deep-object-non-exploded", json!({"object": {"name": "n"}}));
    // In a path, a header or a cookie a list is one text.
    let texts = json!({"primitive": "one", "array": "one,two", "object": "name,n"});
    for tool in ["headers-standard", "headers-simple-exploded", "paths-standard"] {
        styles.takes(tool, texts.clone());
    }
    // In a body of parts a list is several parts and an object is JSON; the mock understands neither
    // (see `every.rs`).
    styles.takes("form-data-standard", json!({"primitive": "one"}));
}

fn of_github(document: &str) -> PathBuf {
    packages().join("node_modules/@octokit/openapi/generated").join(document)
}

/// Calls a server of GitHub as its document says.
fn github_is_called(document: &Path) {
    let github = Imported::of(document.to_str().unwrap(), "github", "--only issues/*");
    let repo = |more: Value| {
        let mut input = json!({"owner": "octocat", "repo": "hello"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let issues = json!({"state": "all", "per_page": 2});
    let issues = github.takes("issues.list-for-repo", repo(issues));
    assert!(issues["items"].is_array(), "{issues}");
    let label = json!({"name": "bug", "color": "f29513", "description": "It does not work"});
    let made = github.takes("issues.create-label", repo(label));
    assert!(made["id"].is_number(), "{made}");
}

#[test]
fn requests_to_github_are_those_of_its_document() {
    github_is_called(&of_github("api.github.com.json"));
}

#[test]
fn requests_to_github_enterprise_cloud_match_its_document() {
    // It refers to files that were not published with it, and the mock does not start without them.
    let folder = Folder::new();
    let missing = ["actions", "advisory-db", "packages"];
    let folder = missing.iter().fold(folder, |folder, name| {
        folder.file(&format!("server-statistics-{name}.yaml"), "type: object\n")
    });
    let document = folder.path().join("ghec.json");
    std::fs::copy(of_github("ghec.json"), &document).unwrap();
    github_is_called(&document);
}

#[test]
fn requests_to_githubs_servers_are_those_of_their_documents() {
    for document in ["ghes-3.17.json", "ghes-3.18.json", "ghes-3.19.json"] {
        github_is_called(&of_github(document));
    }
}
