//! Malformed requests, by the thousand: the next valid one is answered.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::mcp::stage::{PATIENCE, Stage};

const FRAMES: usize = 10_000;

/// Most concurrent requests.
const AT_ONCE: usize = 50;

/// A seeded generator: the same numbers in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// A valid request with a mutation.
fn spoilt(good: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = good.as_bytes().to_vec();
    let body = good.find("\r\n\r\n").unwrap() + 4;
    match dice.roll(6) {
        // Mutated body bytes, of the same length.
        0 => {
            for _ in 0..=dice.roll(8) {
                let at = body + dice.roll(bytes.len() - body);
                bytes[at] = dice.roll(256) as u8;
            }
        }
        // Mutated bytes anywhere.
        1 => {
            let at = dice.roll(bytes.len());
            bytes[at] = dice.roll(256) as u8;
        }
        // Truncated: shorter than its `Content-Length`.
        2 => bytes.truncate(body + dice.roll(bytes.len() - body)),
        // Invalid chunked encoding.
        3 => {
            let head =
                good[..body].replace("Content-Length", "Transfer-Encoding: chunked\r\nX-Old");
            bytes = format!("{head}zz\r\n{}\r\n0\r\n\r\n", &good[body..]).into_bytes();
        }
        // Well-formed JSON with another meaning.
        4 => {
            let said = ["[]", "null", "{\"jsonrpc\":\"2.0\"}", "[[[[[[[[", "{\"id\":{}}", "1e999"];
            let said = said[dice.roll(said.len())];
            let head = good[..body].replace("Content-Length", "X-Old");
            let head = head.trim_end().to_owned();
            bytes = format!("{head}\r\nContent-Length: {}\r\n\r\n{said}", said.len()).into_bytes();
        }
        // A header that contradicts the body.
        _ => {
            bytes =
                good.replacen("Mcp-Method: tools/call", "Mcp-Method: tools/list", 1).into_bytes()
        }
    }
    bytes
}

#[tokio::test]
async fn after_ten_thousand_malformed_requests_the_next_call_works() {
    let stage = Stage::new().await;
    let good = stage.request("tools/call", "writes", json!({ "name": "writes", "arguments": {} }));
    let mut dice = Dice(7);
    for _ in 0..FRAMES / AT_ONCE {
        let mut sent = Vec::new();
        for _ in 0..AT_ONCE {
            let bytes = spoilt(&good, &mut dice);
            let address = stage.address;
            sent.push(tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                let mut answer = Vec::new();
                let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
                let status =
                    String::from_utf8_lossy(answer.get(9..12).unwrap_or_default()).into_owned();
                assert!(!status.starts_with('5'), "{}", String::from_utf8_lossy(&answer));
            }));
        }
        for one in sent {
            one.await.unwrap();
        }
    }
    let answered = stage.call("curious", json!({ "name": "curious", "arguments": {} })).await;
    assert_eq!(answered["result"]["resultType"], "input_required");
}
