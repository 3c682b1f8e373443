//! Resumable event stream (§23, test 13): progress survives a broken connection, and a process that
//! ends.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::rest::{PATIENCE, STEPS, Served, workspace};

/// An open event stream.
struct Events(BufReader<TcpStream>);

/// One event: its id and its record.
type Event = (String, Value);

impl Events {
    async fn after(served: &Served, place: Option<&str>) -> Events {
        let last = place.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let request = format!("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{last}\r\n");
        Events(served.open(&request).await)
    }

    /// From now on, by a client with small socket buffers.
    async fn narrowly(served: &Served) -> Events {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let request = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        Events(served.open_over(socket, request).await)
    }

    async fn next(&mut self) -> Event {
        // Keep-alives come all the time, so the timeout is for the event itself.
        timeout(PATIENCE, self.read()).await.unwrap_or_else(|_| panic!("no event came"))
    }

    async fn read(&mut self) -> Event {
        let (mut id, mut data) = (String::new(), None);
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "the stream ended");
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = Some(serde_json::from_str(text).unwrap());
            } else if line.is_empty()
                && let Some(data) = data.take()
            {
                return (id, data);
            }
        }
    }

    /// The events up to the first match, inclusive.
    async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Event> {
        let mut all = Vec::new();
        loop {
            let event = self.next().await;
            let last = fits(&event.1);
            all.push(event);
            if last {
                return all;
            }
        }
    }
}

fn is_step(record: &Value, step: u64) -> bool {
    record["event_type"] == "tool.invocation.progress"
        && record["data"]["progress"]["step_index"].as_u64() == Some(step)
}

fn is_end(record: &Value) -> bool {
    record["event_type"] == "tool.invocation.succeeded"
}

fn steps(events: &[Event]) -> Vec<u64> {
    let progress = events.iter().filter(|(_, one)| one["event_type"] == "tool.invocation.progress");
    progress.filter_map(|(_, one)| one["data"]["progress"]["step_index"].as_u64()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn test_13_progress_survives_disconnect_and_process_restart() {
    let folder = workspace();
    let served = Served::of(&folder).await;
    let mut first = Events::after(&served, None).await;
    let calling = served.call("walk");
    let following = async {
        let mut seen = first.until(|record| is_step(record, 20)).await;
        drop(first);
        let last = seen.last().unwrap().0.clone();
        let mut second = Events::after(&served, Some(&last)).await;
        seen.extend(second.until(is_end).await);
        seen
    };
    let (answer, live) = tokio::join!(calling, following);
    assert!(answer.contains("\"succeeded\""), "{answer}");
    assert_eq!(steps(&live), (1..=STEPS).collect::<Vec<_>>());
    let sequences: Vec<u64> = live
        .iter()
        .filter(|(_, one)| one["event_type"] == "tool.invocation.progress")
        .filter_map(|(_, one)| one["data"]["sequence"].as_u64())
        .collect();
    assert!(sequences.windows(2).all(|two| two[1] == two[0] + 1), "{sequences:?}");
    let percents = live.iter().filter_map(|(_, one)| one["data"]["progress"]["percent"].as_f64());
    assert!(percents.clone().count() > 0 && percents.clone().all(|it| (0.0..=100.0).contains(&it)));

    served.stop.cancel();
    served.host.flush().await.unwrap();
    drop(served);
    let again = Served::of(&folder).await;
    let begin = live.first().unwrap().0.clone();
    let mut replay = Events::after(&again, Some(&begin)).await;
    let replayed = replay.until(is_end).await;
    assert_eq!(replayed, live[1..].to_vec(), "what is replayed is what was live");
    again.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnect_within_entry_resumes_at_next_event() {
    let folder = workspace();
    let served = Served::of(&folder).await;
    let mut whole = Events::after(&served, None).await;
    served.call("walk").await;
    let all = whole.until(is_end).await;
    for (at, (id, _)) in all.iter().enumerate() {
        let mut rest = Events::after(&served, Some(id)).await;
        if at + 1 < all.len() {
            assert_eq!(rest.next().await, all[at + 1], "after {id}");
        }
    }
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_agents_hear_of_their_own_calls_alone() {
    let folder = workspace();
    let served = Served::of(&folder).await;
    let mut events = Events::after(&served, None).await;
    let theirs =
        haft_model::Call::new(served.host.actor("agent:other"), "walk", serde_json::json!({}));
    let theirs = served.host.runtime().call(theirs, haft_runtime::CallOptions::default()).await;
    let own: Value = serde_json::from_str(&served.call("walk").await).unwrap();
    let heard = events.until(is_end).await;
    let ids = heard.iter().map(|(_, record)| record["invocation_id"].clone());
    assert!(ids.clone().all(|id| id == own["invocation_id"]), "{:?}", ids.collect::<Vec<_>>());
    assert_ne!(own["invocation_id"], theirs.invocation_id.as_str());
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_event_reader_misses_nothing_beyond_buffer() {
    const CALLS: usize = 40;
    let folder = workspace();
    let served = Served::of(&folder).await;
    let (mut quick, mut slow) =
        (Events::after(&served, None).await, Events::narrowly(&served).await);
    let all = async |events: &mut Events| {
        let mut seen = Vec::new();
        for _ in 0..CALLS {
            seen.extend(events.until(is_end).await);
        }
        seen
    };
    let calling = async {
        for _ in 0..CALLS {
            served.call("walk").await;
        }
    };
    let ((), live) = tokio::join!(calling, all(&mut quick));
    assert!(live.len() > CALLS * STEPS as usize, "{}", live.len());
    let late = all(&mut slow).await;
    assert!(late == live, "{} events are not those {}", late.len(), live.len());
    served.stop.cancel();
}
