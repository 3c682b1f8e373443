//! Progress tests: in order, without a gap, live and on replay.

use std::time::Duration;

use haft_driver::Output;
use haft_model::{Content, Event, Fact, Progress, Reported};
use haft_runtime::Reader;
use serde_json::json;

use crate::stage::{READ, Setting, WRITE};
use crate::story::checked;

const STEPS: u64 = 60;

fn stepping(frontmatter: &str) -> Setting {
    Setting::default().tool("note.walk", frontmatter).act("note.walk", |attempt| {
        Box::pin(async move {
            for step in 1..=STEPS {
                let progress = Progress {
                    percent: Some(match step {
                        1 => -5.0,
                        2 => f64::NAN,
                        STEPS => 250.0,
                        _ => step as f64,
                    }),
                    step_index: Some(step),
                    total_steps: Some(STEPS),
                    bytes_read: Some(step * 10),
                    ..Progress::default()
                };
                attempt.link.progress(progress).await;
            }
            Ok(Output::committed(json!({})))
        })
    })
}

fn reported(facts: &[Fact]) -> Vec<Reported> {
    let progress = |fact: &Fact| match &fact.event {
        Event::Progressed(reported) => Some(Reported::clone(reported)),
        _ => None,
    };
    facts.iter().filter_map(progress).collect()
}

#[tokio::test]
async fn resubscribing_client_misses_no_progress() {
    for frontmatter in [READ, WRITE] {
        let stage =
            stepping(frontmatter).settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n").open();
        let calling = stage.call("note.walk", json!({}));
        let following = async {
            let mut live = Vec::new();
            let mut subscription = stage.host.subscribe(None);
            let mut last = None;
            while live.len() < STEPS as usize {
                let entry = subscription.next(Duration::from_secs(5)).await.unwrap().unwrap();
                last = Some(entry.seq);
                live.extend(reported(&Reader::facts(&entry).unwrap()));
                if live.len() == 20 {
                    // The connection breaks; a new subscription resumes after the last seen entry.
                    subscription = stage.host.subscribe(last);
                }
            }
            (live, last)
        };
        let (envelope, (live, _)) = tokio::join!(calling, following);
        assert_eq!(envelope.error, None);
        let facts = checked(&stage, &envelope).await;
        let replayed = reported(&facts);
        assert_eq!(live, replayed, "replay equals live");
        let numbers: Vec<u64> = replayed.iter().map(|one| one.sequence).collect();
        assert_eq!(numbers, (1..=STEPS).collect::<Vec<_>>());
        let steps: Vec<u64> = replayed.iter().filter_map(|one| one.progress.step_index).collect();
        assert_eq!(steps, (1..=STEPS).collect::<Vec<_>>());
        let percents: Vec<_> = replayed.iter().map(|one| one.progress.percent).collect();
        assert_eq!(percents[..3], [Some(0.0), None, Some(3.0)]);
        assert_eq!(percents.last(), Some(&Some(100.0)));
    }
}

#[tokio::test]
async fn parts_of_an_answer_stand_in_the_same_order() {
    let stage = Setting::default()
        .tool("note.walk", READ)
        .act("note.walk", |attempt| {
            Box::pin(async move {
                attempt.link.progress(Progress::default()).await;
                attempt.link.partial(vec![Content::text("half")]).await;
                attempt.link.progress(Progress::default()).await;
                attempt.link.partial(vec![Content::text("more")]).await;
                Ok(Output::read(json!({})))
            })
        })
        .open();
    let envelope = stage.call("note.walk", json!({})).await;
    let facts = checked(&stage, &envelope).await;
    let parts: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::PartialResult(reported) => {
                Some((reported.sequence, reported.progress.message.clone()?))
            }
            _ => None,
        })
        .collect();
    assert_eq!(parts, [(2, "half".to_owned()), (4, "more".to_owned())]);
}

#[tokio::test]
async fn a_driver_that_never_stops_talking_keeps_its_lease() {
    let stage = Setting::default()
        .tool("note.walk", WRITE)
        .act("note.walk", |attempt| {
            Box::pin(async move {
                for _ in 0..60 {
                    attempt.link.progress(Progress::default()).await;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(Output::committed(json!({})))
            })
        })
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .options(|options| options.lease = Duration::from_millis(300))
        .open();
    let other = stage.another(|_| {});
    let calling = stage.call("note.walk", json!({}));
    let greedy = async {
        for _ in 0..11 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(other.runtime().recover().await.unwrap(), [], "its call was taken away");
        }
    };
    let (envelope, ()) = tokio::join!(calling, greedy);
    assert_eq!((envelope.error.clone(), envelope.unrecorded.clone()), (None, None));
    checked(&stage, &envelope).await;
}
