//! REST integration tests over an in-process server: event stream, and people's answers.

mod events;
mod ready;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft::{Args, Definitions, Host, HostOptions, LoadOptions, Tool, define_driver};
use haft_driver::Cancel;
use haft_model::{ApprovalClass, Progress};
use haft_server::{AppState, HttpServer};
use haft_testkit::Folder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// Upper bound on every wait of these tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// Number of steps of the walker tool.
const STEPS: u64 = 60;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Nothing {}

/// A workspace with a tool that reports each of its steps.
fn workspace() -> Folder {
    Folder::new().file("haft.toml", "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
}

/// A server of a workspace, until it is dropped.
struct Served {
    address: SocketAddr,
    stop: Cancel,
    host: Host,
}

impl Served {
    async fn of(folder: &Folder) -> Served {
        let walk = Tool::<Nothing, Nothing>::builder("walk")
            .description("Walks, step by step.")
            .mutates(Vec::<String>::new())
            .risk(0)
            .approval(ApprovalClass::Auto)
            .define()
            .unwrap();
        let legs = define_driver("legs")
            .implement(&walk, |args: Args<Nothing>| async move {
                for step in 1..=STEPS {
                    let percent = Some(step as f64 * 100.0 / STEPS as f64);
                    let (index, total) = (Some(step), Some(STEPS));
                    let progress = Progress {
                        message: Some("step by step ".repeat(200)),
                        percent,
                        step_index: index,
                        total_steps: total,
                        ..Progress::default()
                    };
                    args.link.progress(progress).await;
                }
                Ok(Nothing {})
            })
            .define()
            .unwrap();
        let definitions = Definitions::new().tool(&walk).driver(&legs);
        let load = LoadOptions { definitions, ..LoadOptions::default() };
        let host =
            Host::open(folder.path(), HostOptions { load, ..HostOptions::default() }).unwrap();
        let desk = Arc::new(AppState::new(host.shared_runtime()).unwrap());
        let server = HttpServer::bind(desk, "127.0.0.1:0").await.unwrap();
        let (address, stop) = (server.address(), Cancel::new());
        tokio::spawn(server.run(stop.clone()));
        Served { address, stop, host }
    }

    /// Sends a request; returns the connection with the head of the response read.
    async fn open(&self, request: &str) -> BufReader<TcpStream> {
        self.open_over(TcpSocket::new_v4().unwrap(), request).await
    }

    async fn open_over(&self, socket: TcpSocket, request: &str) -> BufReader<TcpStream> {
        let mut stream = socket.connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{request}{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).await.unwrap();
        }
        reader
    }

    /// Calls a tool and returns the response.
    async fn call(&self, tool: &str) -> String {
        let body = format!("{{\"tool\": \"{tool}\"}}");
        let request = format!(
            "POST /v1/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        self.open(&request).await.read_to_string(&mut answer).await.unwrap();
        answer
    }
}
