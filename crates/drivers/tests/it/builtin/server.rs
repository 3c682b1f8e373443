//! Test web server on a free local port.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// A server that stops on drop.
pub(crate) struct Server {
    pub(crate) port: u16,
    hits: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that passes each request, by its path, to `answer`.
    pub(crate) fn new(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (hits, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&hits), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let mut stream = stream.unwrap();
                if let Some(path) = requested(&mut stream) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    answer(&path, &mut stream);
                }
            }
        });
        Server { port, hits, stop, thread: Some(thread) }
    }

    /// How many requests were received.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads a request head up to its empty line.
fn requested(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        request.extend(byte);
    }
    let request = String::from_utf8(request).ok()?;
    Some(request.strip_prefix("GET ")?.split(' ').next()?.to_owned())
}

/// Writes a whole response.
pub(crate) fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // A client that has read enough may close the connection.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// Waits until the client closes the connection.
pub(crate) fn until_gone(stream: &mut TcpStream) {
    while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
}
