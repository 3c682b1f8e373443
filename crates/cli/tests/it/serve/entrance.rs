//! Admission tests: where a server listens, under which host names, and which callers need a token.

use crate::serve::{token, workspace};
use crate::stage::{check, command, finished, started};
use crate::wire::Server;

#[test]
fn public_address_requires_tokens_before_listening() {
    let folder = workspace();
    let ran = finished(started(command(&folder, "serve --listen 0.0.0.0:0")), "serve");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    let reason = "can be reached from outside and callers would not have to authenticate; make a \
                  token with `haft token new ID` or set [server.oauth], or listen on 127.0.0.1";
    assert!(said.contains(reason), "{said}");
    // An expired token admits no caller either.
    token(&folder, "agent:coder --expires 1s");
    let (text, id) = token(&folder, "agent:coder");
    let server = Server::at(&folder, "0.0.0.0:0");
    let answer = |headers: &[(&str, &str)]| server.ask("GET", "/v1/catalog", headers, None);
    assert_eq!(answer(&[("Authorization", &format!("Bearer {text}"))]).status, 200);
    for path in ["/v1/catalog", "/v1/health", "/mcp", "/metrics", "/nowhere"] {
        let refused = server.get(path);
        assert_eq!(refused.status, 401, "{path}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"haft\""), "{path}");
    }
    check(&folder, &format!("token revoke {id}"), "exit 0\nrevoked tok_[id]");
    assert_eq!(answer(&[("Authorization", &format!("Bearer {text}"))]).status, 401);
}

#[test]
fn external_host_name_requires_tokens_on_loopback_too() {
    let folder = workspace();
    let settings = folder.read("haft.toml") + "[server]\nhosts = [\"tools.example\"]\n";
    let folder = folder.file("haft.toml", settings);
    let ran = finished(started(command(&folder, "serve --listen 127.0.0.1:0")), "serve");
    assert_eq!(ran.status.code(), Some(1));
    let (text, _) = token(&folder, "agent:coder");
    let server = Server::of(&folder);
    let shown = format!("Bearer {text}");
    assert_eq!(server.get("/v1/catalog").status, 401);
    let by = |host: &str| {
        server.ask_as(host, "GET", "/v1/catalog", &[("Authorization", &shown)], None).status
    };
    assert_eq!(["tools.example", "Tools.example:443", "localhost"].map(by), [200; 3]);
    assert_eq!(["other.example", "tools.example.evil.example"].map(by), [403; 2]);
}

#[test]
fn proxied_requests_never_count_as_local_caller() {
    let folder = workspace();
    let server = Server::of(&folder);
    assert_eq!(server.get("/v1/catalog").status, 200);
    for name in [
        "X-Forwarded-For",
        "Forwarded",
        "Via",
        "X-Real-IP",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Anything-Else",
        "CF-Connecting-IP",
        "CF-Ray",
        "True-Client-IP",
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "Fastly-Client-IP",
        "X-Original-Host",
        "X-Envoy-External-Address",
        "CDN-Loop",
    ] {
        let answer = server.ask("GET", "/v1/catalog", &[(name, "198.51.100.7")], None);
        assert_eq!(answer.status, 401, "{name}");
    }
}

#[test]
fn a_page_from_elsewhere_reaches_nothing() {
    let folder = workspace();
    let server = Server::of(&folder);
    let port = server.address.port();
    let paths = ["/mcp", "/v1/health", "/v1/catalog", "/metrics", "/a2a", "/nowhere"];
    for path in paths {
        for host in ["evil.example", "", &format!("127.0.0.1.evil.example:{port}"), "10.0.0.1"] {
            let answer = server.ask_as(host, "GET", path, &[], None);
            assert_eq!(answer.status, 403, "{path} of {host}");
        }
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://"] {
            let answer = server.ask("POST", path, &[("Origin", origin)], Some("{}"));
            assert_eq!(answer.status, 403, "{path} from {origin}");
        }
    }
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
        let at = |origin: &str| {
            server.ask_as(&host, "GET", "/v1/catalog", &[("Origin", origin)], None).status
        };
        assert_eq!(at(&format!("http://{host}")), 200, "{host}");
        // Another program of this machine serves pages too.
        let other = format!("http://{}:{}", host.split(':').next().unwrap(), port ^ 1);
        assert_eq!([at(&other), at(&format!("https://{host}"))], [403; 2], "{host}");
    }
}

#[test]
fn request_with_two_hosts_is_refused() {
    let folder = workspace();
    let server = Server::of(&folder);
    let own = server.address.to_string();
    for path in ["/mcp", "/v1/health", "/metrics", "/a2a", "/nowhere"] {
        for second in [own.as_str(), "evil.example"] {
            let answer = server.ask("POST", path, &[("Host", second)], Some("{}"));
            assert_eq!(answer.status, 400, "{path} {second}");
        }
        let answer = server.ask("GET", &format!("http://localhost:1{path}"), &[], None);
        assert_eq!(answer.status, 400, "{path}");
    }
    assert_eq!(server.ask("GET", &format!("http://{own}/v1/health"), &[], None).status, 200);
}
