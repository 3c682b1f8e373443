//! Backend tests: the fault-injecting backend follows its script, seen from a plain socket.

use std::io::{self, Read as _, Write as _};

use super::*;

fn ask(backend: &Backend, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", backend.port()))?;
    stream.write_all(request.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn post(backend: &Backend, key: &str) -> io::Result<String> {
    let head = "POST /pay HTTP/1.1\r\nContent-Length: 2\r\n";
    ask(backend, &format!("{head}Idempotency-Key: {key}\r\n\r\n{{}}"))
}

fn body(answer: io::Result<String>) -> String {
    answer.unwrap().split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn an_effect_is_counted_and_its_key_is_known() {
    for (keys, second, effects) in [(Keys::Enforced, "effect-1", 1), (Keys::Ignored, "effect-2", 2)]
    {
        let backend = Backend::new(keys);
        let status =
            |key: &str| body(ask(&backend, &format!("GET /status/{key} HTTP/1.1\r\n\r\n")));
        assert_eq!(status("a"), "{\"state\":\"none\"}");
        assert_eq!(body(post(&backend, "a")), "{\"id\":\"effect-1\"}");
        assert_eq!(body(post(&backend, "a")), format!("{{\"id\":\"{second}\"}}"));
        assert_eq!(status("a"), "{\"state\":\"done\",\"id\":\"effect-1\"}");
        assert_eq!((backend.effects(), backend.heard().len()), (effects, 4));
    }
}

#[test]
fn an_effect_takes_place_although_its_connection_is_reset() {
    let backend = Backend::new(Keys::Enforced);
    backend.will(Act::commits(Then::Reset));
    backend.will(Act::refuses(Then::status(503)));
    backend.will(Act::commits(Then::Close));
    assert_eq!(post(&backend, "a").unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(backend.effects(), 1);
    assert!(post(&backend, "b").unwrap().starts_with("HTTP/1.1 503 "));
    assert_eq!(backend.effects(), 1);
    assert_eq!(post(&backend, "c").unwrap(), "");
    assert_eq!(backend.effects(), 2);
}
