//! Proxy server: one task per connection, all of which end with the program.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::carry::carry;
use super::request::{Odd, ProxyRequest, receive};
use super::{EgressMethod, EgressRefusal, Gate, PATIENCE, TrafficBook};

/// Most connections at once; more wait.
const SEATS: usize = 64;

/// Backoff while this process has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until it is dropped.
pub(crate) async fn serve(gate: Arc<Gate>, door: TcpListener, tally: TrafficBook) {
    let seats = Arc::new(Semaphore::new(SEATS));
    let mut guests = JoinSet::new();
    while let Ok(seat) = Arc::clone(&seats).acquire_owned().await {
        while guests.try_join_next().is_some() {}
        let Ok((client, _)) = door.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let (gate, tally) = (Arc::clone(&gate), tally.clone());
        guests.spawn(async move {
            // A broken connection concerns only its two ends.
            let _ = attend(&gate, &tally, client).await;
            drop(seat);
        });
    }
}

async fn attend(gate: &Gate, tally: &TrafficBook, mut client: TcpStream) -> io::Result<()> {
    let Ok(received) = timeout(PATIENCE, receive(&mut client)).await else {
        return answer(&mut client, 408, "no request came in time").await;
    };
    let request = match received? {
        Ok(request) => request,
        Err(Odd { status, why, whom }) => {
            if let Some(whom) = whom {
                tally.refused(&whom, &why);
            }
            return answer(&mut client, status, &why).await;
        }
    };
    let reached = match gate.admit(&request.whom).await {
        Ok(addresses) => connect(&addresses).await,
        Err(EgressRefusal::Refused(why)) => {
            tally.refused(&request.whom, &why);
            let words = format!("`{}` may not be reached: {why}", request.whom);
            return answer(&mut client, 403, &words).await;
        }
        Err(EgressRefusal::Absent(why)) => return answer(&mut client, 502, &why).await,
    };
    match reached {
        Ok(server) => pass(request, client, server, tally).await,
        Err(fault) => {
            let words = format!("`{}` cannot be reached: {fault}", request.whom);
            answer(&mut client, 502, &words).await
        }
    }
}

/// Connects to the first address that answers.
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let trying = async {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(server) => return Ok(server),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    };
    timeout(PATIENCE, trying).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Relays both directions.
async fn pass(
    request: ProxyRequest,
    mut client: TcpStream,
    mut server: TcpStream,
    tally: &TrafficBook,
) -> io::Result<()> {
    let traffic = tally.traffic(&request.whom);
    if request.way == EgressMethod::Tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    let (mut from_client, mut to_client) = client.split();
    let (from_server, mut to_server) = server.split();
    let there = async {
        let early = request.early.as_slice();
        let rest = request.body.saturating_sub(early.len() as u64);
        carry([request.head.as_slice(), early].concat().as_slice(), &mut to_server, &traffic.sent)
            .await?;
        carry((&mut from_client).take(rest), &mut to_server, &traffic.sent).await?;
        match request.way {
            EgressMethod::Tunnel => to_server.shutdown().await,
            // Some hosts take a half-closed connection for a lost client.
            EgressMethod::Plain => Ok(()),
        }
    };
    let back = async {
        carry(from_server, &mut to_client, &traffic.received).await?;
        to_client.shutdown().await
    };
    match request.way {
        EgressMethod::Tunnel => tokio::try_join!(there, back).map(drop),
        EgressMethod::Plain => one_answer(there, back).await,
    }
}

/// Stops sending the request once the host has answered.
async fn one_answer(
    there: impl Future<Output = io::Result<()>>,
    back: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let (mut there, mut back) = (std::pin::pin!(there), std::pin::pin!(back));
    tokio::select! {
        sent = &mut there => { sent?; back.await }
        answered = &mut back => answered,
    }
}

async fn answer(client: &mut TcpStream, status: u16, why: &str) -> io::Result<()> {
    let text = format!("haft: {why}\n");
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        phrase(status),
        text.len()
    );
    client.write_all(format!("{head}{text}").as_bytes()).await?;
    client.shutdown().await
}

fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        403 => "Forbidden",
        408 => "Request Timeout",
        411 => "Length Required",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        _ => "Error",
    }
}
