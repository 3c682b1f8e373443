//! Tests of the egress allowlist of functions.

use std::sync::Arc;

use haft_driver::{Attempt, Cancel, Driver as _, Link};
use haft_testkit::{Backend, Folder, Keys};
use serde_json::json;

use crate::plans::permit;
use crate::sdk::stage::{Language, Stage};

/// The response that a function gets from a URL, where both sides list these hosts.
async fn fetched(language: Language, backend: &Backend, listed: &str) -> String {
    let stage = Stage::reading(language, "get");
    let (file, code) = match language {
        Language::Python => (
            "lib/web.py",
            "import urllib.request\ndef get(url):\n    return urllib.request.urlopen(url, timeout=5).status\n",
        ),
        Language::Node => (
            "lib/web.mjs",
            "import http from 'node:http';
export const get = ({ url }) => new Promise((done, failed) => {
  const proxy = new URL(process.env.HTTP_PROXY);
  const to = { host: proxy.hostname, port: proxy.port, path: url, headers: { host: new URL(url).host } };
  http.get(to, (answer) => done(answer.statusCode)).on('error', failed);
});",
        ),
    };
    let stage = Stage { folder: Folder::new().file(file, code), ..stage };
    let stage = stage.with("entrypoint", json!(file)).with("network", json!({"egress": [listed]}));
    let url = format!("http://{}/look", backend.host());
    let mut plan = stage.plan(json!({"url": url}));
    let effects = Arc::make_mut(&mut plan.effects);
    effects.requires.network = [listed.to_owned()].into();
    let permit = permit(&plan);
    let (link, _heard) = Link::new();
    let deadline = std::time::Instant::now() + stage.patience;
    let attempt = Attempt::new(&permit, &plan, 1, deadline, Cancel::new(), link).unwrap();
    match stage.driver().run(attempt).await {
        Ok(output) => output.structured.unwrap().to_string(),
        Err(failure) => failure.stop.message,
    }
}

#[tokio::test]
async fn sdk_function_reaches_only_hosts_on_both_egress_allowlists() {
    for language in [Language::Python, Language::Node] {
        let backend = Backend::new(Keys::Ignored);
        assert_eq!(fetched(language, &backend, &backend.host()).await, "200");
        assert_eq!(backend.heard().len(), 1);
        assert_ne!(fetched(language, &backend, "127.0.0.1:1").await, "200");
        assert_eq!(backend.heard().len(), 1, "a host that is not listed hears nothing");
    }
}
