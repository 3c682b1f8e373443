//! Tests of the loopback redirect: it works once, with the right state, before the timeout.

use haft_model::LoginFailure;
use std::time::Duration;

use haft_drivers::Callback;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An open callback, its address and its state.
async fn open() -> (Callback, String, String) {
    let callback = Callback::open().await.unwrap();
    let page = callback.page("https://bank.example/login?app=1");
    let (page, state) = page.rsplit_once("&state=").unwrap();
    let port = page
        .strip_prefix("https://bank.example/login?app=1&redirect_uri=http%3A%2F%2F127.0.0.1%3A");
    let port = port.unwrap().strip_suffix("%2Fcallback").unwrap();
    (callback, format!("127.0.0.1:{port}"), state.to_owned())
}

/// The HTTP status that a visitor receives.
async fn visit(address: &str, host: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn only_who_was_sent_comes_back_and_once() {
    let (callback, address, state) = open().await;
    let waiting = tokio::spawn(callback.visited(Duration::from_secs(20)));
    let right = format!("/callback?token=tok%2F4711&state={state}");
    for (host, target) in [
        (address.as_str(), "/callback?token=x&state=guessed"),
        (&address, "/callback?token=x"),
        (&address, &format!("/other?state={state}")),
        ("evil.example", &right),
        ("localhost", &right),
    ] {
        assert_eq!(visit(&address, host, target).await, "404", "{host} {target}");
    }
    assert_eq!(visit(&address, &address, &right).await, "200");
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().expose(), "tok/4711");
    assert!(TcpStream::connect(&address).await.is_err(), "it is closed after the visit");
}

#[tokio::test]
async fn login_callback_tells_refusal_from_visit_without_token() {
    let (callback, address, state) = open().await;
    let waiting = tokio::spawn(callback.visited(Duration::from_secs(20)));
    let target = format!("/callback?error=access_denied&state={state}");
    assert_eq!(visit(&address, &address, &target).await, "400");
    let stop = waiting.await.unwrap().unwrap_err();
    assert_eq!(stop.cause.login(), Some(LoginFailure::AccessDenied));
    let (callback, address, state) = open().await;
    let waiting = tokio::spawn(callback.visited(Duration::from_secs(20)));
    assert_eq!(visit(&address, &address, &format!("/callback?state={state}")).await, "200");
    assert_eq!(waiting.await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn login_callback_wait_times_out() {
    let (callback, _, _) = open().await;
    let stop = callback.visited(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(stop.cause.login(), Some(LoginFailure::Expired));
}
