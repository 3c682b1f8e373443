//! Tests of the egress gate: a program reaches only listed hosts, through the proxy or not at all.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_sandbox::{
    AddressGuard, ConfinedProgram, Gate, HostTraffic, NetworkAccess, ProgramExit, RefusedAccess,
};
use haft_testkit::Folder;

use crate::confined::probe::{inside, probing};
use crate::confined::{run, script, text};

/// A host that answers `hello` to every request and keeps the requests.
pub(crate) struct Host {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) fn new() -> Host {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = door.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&heard);
        std::thread::spawn(move || {
            for connection in door.incoming() {
                let mut connection = connection.unwrap();
                let mut lines = BufReader::new(connection.try_clone().unwrap());
                let (mut head, mut line) = (String::new(), String::new());
                while lines.read_line(&mut line).is_ok_and(|read| read > 2) {
                    head.push_str(&std::mem::take(&mut line));
                }
                let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                let _ = lines.read_exact(&mut body);
                keep.lock().unwrap().push(format!("{head}\n{}", text(&body)));
                let _ = connection.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                );
            }
        });
        Host { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn through(hosts: &[String]) -> NetworkAccess {
    NetworkAccess::Through(Gate::new(hosts.to_vec(), AddressGuard::public()))
}

/// The answer of the proxy to a probe's request, and the exit of the probe.
async fn asked(folder: &Folder, network: NetworkAccess, words: &str) -> (String, ProgramExit) {
    let confined = ConfinedProgram { network, ..probing(folder, &format!("proxy|{words}")) };
    let ended = run(confined).await.unwrap();
    let heard = text(&ended.stdout);
    let heard = heard.split_once("heard: ").map_or("", |(_, heard)| heard).to_owned();
    (heard.split("\nend of it").next().unwrap_or_default().to_owned(), ended)
}

fn refused(host: &str, port: u16, why: &str) -> Vec<RefusedAccess> {
    vec![RefusedAccess::Host { host: host.into(), port, why: why.into() }]
}

#[tokio::test]
async fn proxy_reaches_allowlisted_host_both_ways_and_counts_bytes() {
    let (folder, host) = (Folder::new(), Host::new());
    let place = format!("127.0.0.1:{}", host.port);
    let (plain, ended) = asked(
        &folder,
        through(std::slice::from_ref(&place)),
        &format!("POST http://{place}/a?b=c HTTP/1.1\\r\\nHost: {place}\\r\\nProxy-Connection: keep-alive\\r\\nConnection: x-own\\r\\nX-Own: 1\\r\\nX-Kept: 2\\r\\nContent-Length: 4\\r\\n\\r\\nbody"),
    )
    .await;
    assert!(plain.starts_with("HTTP/1.1 200 OK") && plain.ends_with("hello"), "{plain}");
    let whole = format!(
        "POST /a?b=c HTTP/1.1\r\nHost: {place}\r\nX-Kept: 2\r\nContent-Length: 4\r\nConnection: close\r\n\nbody"
    );
    assert_eq!(host.heard(), std::slice::from_ref(&whole));
    let (sent, received) = (whole.len() as u64 + 1, plain.len() as u64);
    let counted = HostTraffic { host: "127.0.0.1".into(), port: host.port, sent, received };
    assert_eq!((ended.reached, ended.tried), (vec![counted], Vec::new()));

    let tunnel = format!(
        "CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"
    );
    let (heard, ended) = asked(&folder, through(&[place]), &tunnel).await;
    assert!(heard.starts_with("HTTP/1.1 200 Connection established"), "{heard}");
    assert!(heard.ends_with("hello"), "{heard}");
    assert_eq!(ended.reached.first().map(|reached| reached.sent), Some(27));
}

#[tokio::test]
async fn egress_proxy_refuses_and_reports_unlisted_hosts() {
    let (folder, host) = (Folder::new(), Host::new());
    let port = host.port;
    let unlisted = "it is not on the list of hosts";
    let at = |host: &str| refused(host, port, unlisted);
    let place = format!("127.0.0.1:{port}");
    for (listed, words, tried) in [
        // Not listed at all, in every spelling.
        ("a.example", format!("CONNECT {place} HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        ("a.example", format!("CONNECT 2130706433:{port} HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        ("a.example", format!("CONNECT 0x7f.1:{port} HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        ("a.example", format!("CONNECT localhost.:{port} HTTP/1.1\\r\\n\\r\\n"), at("localhost")),
        (
            "*.example",
            "CONNECT b.a.example:443 HTTP/1.1\\r\\n\\r\\n".to_owned(),
            refused("b.a.example", 443, unlisted),
        ),
        ("a.example", format!("GET http://{place}/ HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        // Listed, and requested at another port or in another way.
        ("127.0.0.1", format!("CONNECT {place} HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        // Listed, with a `Host` header for another host.
        (
            &place,
            format!("GET http://{place}/ HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n"),
            refused("127.0.0.1", port, "its `Host` header names another host"),
        ),
        // A star does not open a private network.
        ("*", format!("CONNECT {place} HTTP/1.1\\r\\n\\r\\n"), at("127.0.0.1")),
        (
            "*",
            "CONNECT 169.254.169.254:443 HTTP/1.1\\r\\n\\r\\n".to_owned(),
            refused("169.254.169.254", 443, "it is a link-local address, as cloud metadata has"),
        ),
        (
            "*",
            "CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\\r\\n\\r\\n".to_owned(),
            refused("[::ffff:7f00:1]", 443, "it is an IPv4 address inside IPv6"),
        ),
    ] {
        let (heard, ended) = asked(&folder, through(&[listed.to_owned()]), &words).await;
        assert!(heard.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{words}: {heard}");
        assert_eq!((ended.tried, ended.reached), (tried, Vec::new()), "{words}");
    }
    assert_eq!(host.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn name_resolving_to_closed_address_is_refused_despite_rebinding() {
    static LOOKED_UP: AtomicUsize = AtomicUsize::new(0);
    static PORT: AtomicUsize = AtomicUsize::new(0);
    fn turning(_: &str, _: u16) -> std::io::Result<Vec<SocketAddr>> {
        let public = LOOKED_UP.fetch_add(1, Ordering::SeqCst) == 0;
        let port = u16::try_from(PORT.load(Ordering::SeqCst)).unwrap();
        let loopback = SocketAddr::from(([127, 0, 0, 1], port));
        Ok(if public {
            vec![SocketAddr::from(([1, 1, 1, 1], 9)), loopback]
        } else {
            vec![loopback]
        })
    }
    let (folder, host) = (Folder::new(), Host::new());
    PORT.store(usize::from(host.port), Ordering::SeqCst);
    let listed = vec![format!("a.example:{}", host.port)];
    let gate = Gate::new(listed.clone(), AddressGuard::public()).looking_up(turning);
    let words = format!("CONNECT a.example:{} HTTP/1.1\\r\\n\\r\\n", host.port);
    for _ in 0..2 {
        let (heard, ended) = asked(&folder, NetworkAccess::Through(gate.clone()), &words).await;
        assert!(heard.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{heard}");
        let why = "it is this machine";
        assert_eq!(ended.tried, refused("a.example", host.port, why));
    }
    assert_eq!((LOOKED_UP.load(Ordering::SeqCst), host.heard().len()), (2, 0));
    // The guard opens this address.
    let guard = AddressGuard::public().allowing("a.example", host.port);
    let gate = Gate::new(listed, guard).looking_up(turning);
    let (heard, _) =
        asked(&folder, NetworkAccess::Through(gate), &format!("{words}GET / HTTP/1.1\\r\\n\\r\\n"))
            .await;
    assert!(heard.ends_with("hello"), "{heard}");
}

#[tokio::test]
async fn no_second_request_slips_through_with_the_first() {
    let (folder, host) = (Folder::new(), Host::new());
    let place = format!("127.0.0.1:{}", host.port);
    let network = through(std::slice::from_ref(&place));
    let first = format!("GET http://{place}/first HTTP/1.1\\r\\nHost: {place}\\r\\n");
    let second = "GET /second HTTP/1.1\\r\\nHost: other\\r\\n\\r\\n";
    for (extra, status) in [
        ("", 200),
        ("Content-Length: 0\\r\\nContent-Length: 30\\r\\n", 400),
        ("Content-Length: +0\\r\\n", 400),
        ("Transfer-Encoding: chunked\\r\\nContent-Length: 0\\r\\n", 411),
        ("Content-Length : 0\\r\\n", 400),
        (&format!("Host: {place}\\r\\n"), 403),
    ] {
        let words = format!("{first}{extra}\\r\\n{second}");
        let (heard, _) = asked(&folder, network.clone(), &words).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{extra}: {heard}");
    }
    let whole = format!("GET /first HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\n");
    assert_eq!(host.heard(), [whole]);
}

#[tokio::test]
async fn egress_proxy_refuses_malformed_requests_and_continues() {
    let (folder, host) = (Folder::new(), Host::new());
    let network = through(&[format!("127.0.0.1:{}", host.port)]);
    let long = format!("GET http://a/ HTTP/1.1\\r\\nX: {}\\r\\n", "x".repeat(17_000));
    for (words, status) in [
        ("GET / HTTP/1.1\\r\\n\\r\\n", 400),
        ("GET https://127.0.0.1/ HTTP/1.1\\r\\n\\r\\n", 400),
        ("GET http://user:word@127.0.0.1/ HTTP/1.1\\r\\n\\r\\n", 400),
        ("CONNECT 127.0.0.1 HTTP/1.1\\r\\n\\r\\n", 400),
        ("CONNECT 127.0.0.1:99999 HTTP/1.1\\r\\n\\r\\n", 400),
        ("\\x01\\x02\\r\\n\\r\\n", 400),
        (&long, 431),
    ] {
        let (heard, ended) = asked(&folder, network.clone(), words).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{words}: {heard}");
        assert_eq!(ended.tried, Vec::new());
    }
}

#[tokio::test]
async fn program_behind_egress_proxy_reaches_nothing_else() {
    let (folder, host) = (Folder::new(), Host::new());
    let other = Host::new();
    let listed = [format!("127.0.0.1:{}", host.port)];
    let attempts = [
        // The listed host, but not through the gate.
        format!("tcp|127.0.0.1:{}", host.port),
        format!("tcp|127.0.0.1:{}", other.port),
        "udp|127.0.0.1:53".to_owned(),
        "raw".to_owned(),
        "unix|/tmp/nobody".to_owned(),
    ];
    let mut met = Vec::new();
    for attempt in &attempts {
        let confined = ConfinedProgram { network: through(&listed), ..probing(&folder, attempt) };
        met.push(crate::confined::probe::found(&crate::confined::said(confined).await));
    }
    assert_eq!(
        met,
        ["permission denied", "permission denied", "unsupported", "unsupported", "unsupported"]
    );
    assert_eq!(inside(&folder, &attempts[0]).await, "unsupported");
}

#[tokio::test]
async fn common_languages_find_the_gate_by_themselves() {
    let (folder, host) = (Folder::new(), Host::new());
    let listed = format!("127.0.0.1:{}", host.port);
    let url = format!("http://{listed}/");
    let python = format!("import urllib.request as r; print(r.urlopen('{url}').read().decode())");
    let node = format!("fetch('{url}').then(r => r.text()).then(console.log)");
    for (program, args) in [
        ("/usr/bin/curl", vec!["-sS", &url]),
        ("/usr/bin/python3", vec!["-c", &python]),
        // Node reads the variables from version 24 on.
        ("/usr/bin/node", vec!["-e", &node]),
    ] {
        if !Path::new(program).exists() || is_old_node(program) {
            eprintln!("skipped: there is no {program} that knows proxies");
            continue;
        }
        let confined = ConfinedProgram {
            program: PathBuf::from(program),
            args: args.into_iter().map(str::to_owned).collect(),
            network: through(std::slice::from_ref(&listed)),
            ..script(&folder, "")
        };
        let ended = run(confined).await.unwrap();
        assert_eq!(text(&ended.stdout).trim(), "hello", "{program}: {}", text(&ended.stderr));
        assert_eq!((ended.tried, ended.reached.len()), (Vec::new(), 1), "{program}");
    }
}

fn is_old_node(program: &str) -> bool {
    let version = std::process::Command::new(program).arg("--version").output().unwrap();
    let version = text(&version.stdout);
    let major = version.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major < 24)
}
