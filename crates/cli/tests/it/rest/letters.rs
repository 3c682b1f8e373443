//! Hidden character tests: models read no invisible or bidirectional characters of a backend, over
//! every edge.

use haft_testkit::{ALLOW, Act, Backend, Keys, READ, Served, Then};
use serde_json::json;

use crate::wire::Server;

#[test]
fn sly_letters_of_an_http_answer_reach_no_model() {
    let backend = Backend::new(Keys::Ignored);
    let folder = Served::by(&backend).at("look", READ, "GET", "/look").with(ALLOW);
    let server = Server::of(&folder);
    let value = json!({ "said": "pay \u{202e}live\u{202c} a\u{200b}b\u{e0041}\u{85}", "n": 1 });
    let is_sly = |letter: char| !haft_model::is_shown(letter) && letter != '\n';
    for provider in ["", "openai", "anthropic", "gemini"] {
        backend.will(Act::commits(Then::json(200, &value.to_string())));
        let (texts, exact) = match provider {
            "" => {
                let answer = server.post("/v1/call", &json!({ "tool": "look" })).json();
                let read = [&answer["model_facing_content"], &answer["summary"]];
                let texts = read.map(|read| read.to_string()).concat()
                    + answer["transcript_search_text"].as_str().unwrap_or_default();
                (texts, answer["structured_content"].clone())
            }
            provider => {
                let reply = match provider {
                    "openai" => {
                        json!([{ "id": "c", "type": "function", "function": { "name": "look", "arguments": "{}" } }])
                    }
                    "anthropic" => {
                        json!([{ "type": "tool_use", "id": "t", "name": "look", "input": {} }])
                    }
                    _ => json!([{ "functionCall": { "name": "look", "args": {} } }]),
                };
                let answer = server.post(&format!("/v1/functions/{provider}"), &reply).json();
                let exact = answer["results"][0]["structured_content"].clone();
                (answer["messages"].to_string(), exact)
            }
        };
        assert!(texts.contains("pay live ab"), "{provider}: {texts}");
        assert!(!texts.contains(is_sly), "{provider}: {texts:?}");
        assert_eq!(exact, value, "{provider}");
    }
}
