//! Server harness: `haft serve` for one test, and a minimal HTTP client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_testkit::Folder;
use serde_json::Value;

use crate::stage::command;

/// Read timeout; longer than any answer takes, so that a test which waits in vain fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// `haft serve` on a port of its own, until it is dropped.
pub(crate) struct Server {
    child: Child,
    said: Arc<Mutex<String>>,
    pub(crate) address: SocketAddr,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// Serves a workspace.
    pub(crate) fn of(folder: &Folder) -> Server {
        Server::at(folder, "127.0.0.1:0")
    }

    /// Serves a workspace at an address.
    pub(crate) fn at(folder: &Folder, listen: &str) -> Server {
        Server::by(command(folder, &format!("serve --listen {listen}")))
    }

    /// What a command serves.
    pub(crate) fn by(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "the server ended");
            if let Some(address) = line.trim().strip_prefix("REST  http://") {
                break address.trim_end_matches("/v1").parse().unwrap();
            }
        };
        // Drain standard error, or the server blocks at its next remark.
        let remarks = Arc::new(Mutex::new(String::new()));
        let heard = remarks.clone();
        std::thread::spawn(move || {
            let lines = said.lines().map_while(Result::ok);
            lines.for_each(|line| *heard.lock().unwrap() += &format!("{line}\n"));
        });
        Server { child, said: remarks, address }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as an operator would.
    pub(crate) fn end(&mut self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// What it said since it began.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Its process.
    pub(crate) fn process(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], Some(&body.to_string()))
    }

    /// Sends a request, with JSON for a body unless a header says otherwise.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        self.ask_as(&self.address.to_string(), method, path, headers, body)
    }

    /// The same, addressed to a name.
    pub(crate) fn ask_as(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
        head.push_str("Connection: close\r\n");
        let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
            if !typed {
                head.push_str("Content-Type: application/json\r\n");
            }
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(stream, "{head}\r\n{}", body.unwrap_or_default()).unwrap();
        let mut bytes = Vec::new();
        // A server that refuses early may close before it read everything.
        let _ = stream.read_to_end(&mut bytes);
        Answer::read(&bytes)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no answer: {}", String::from_utf8_lossy(bytes));
        });
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers: Vec<(String, String)> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let body = bytes[end + 4..].to_vec();
        let answer = Answer { status, headers, body };
        assert_eq!(answer.header("transfer-encoding"), None, "bodies here have a length");
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{} is no JSON: {text}", self.status))
    }

    /// The status and the body of a problem, which has to be one in form, too.
    #[track_caller]
    pub(crate) fn problem(&self) -> (u16, Value) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        (self.status, problem)
    }
}
