//! Scripted web server: answers every request as a test says.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What came in: the head, and the body.
pub(crate) type Received = (String, Vec<u8>);

/// A server on this machine, for as long as the test lasts.
pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Answers every request with the same bytes; with none, never.
    pub(crate) async fn answering(answer: &[u8]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (answer, kept) = (answer.to_vec(), received.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = request(&mut stream).await;
                kept.lock().unwrap().push(request);
                if answer.is_empty() {
                    std::future::pending::<()>().await;
                }
                let _ = stream.write_all(&answer).await;
            }
        });
        Server { url, received }
    }

    /// A server that says one thing in one body.
    pub(crate) async fn saying(body: &str) -> Server {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        Server::answering(answer.as_bytes()).await
    }

    /// Everything that came in so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

/// A header of a request.
pub(crate) fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

async fn request(stream: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    let end = loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..length]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        assert!(length > 0, "the request broke off");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut body = bytes.split_off(end + 4);
    let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
    while body.len() < length {
        let mut piece = vec![0; length - body.len()];
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the body broke off");
        body.extend_from_slice(&piece[..read]);
    }
    (head, body)
}
