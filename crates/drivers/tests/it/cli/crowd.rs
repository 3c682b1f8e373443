//! Stress test of the cli driver: many concurrent calls, half of them cancelled, leave nothing
//! behind.

use std::fs;
use std::time::Duration;

use haft_driver::Cancel;
use haft_model::Code;
use serde_json::json;

use crate::cli::stage::Stage;

/// The command lines of processes that contain a text; arguments are separated by NUL.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let lines = fs::read_dir("/proc").unwrap().filter_map(|process| {
        let line = fs::read(process.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|line| line.contains(text)).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn files(stage: &Stage) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(stage.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_calls_half_cancelled_leave_nothing_behind() {
    let stage =
        Stage { patience: Duration::from_secs(60), ..Stage::script("echo $$; exec sleep 96001") };
    let quick = Stage { patience: Duration::from_secs(60), ..Stage::reading("echo", &["done"]) };
    let (slow_driver, quick_driver) = (stage.driver(), quick.driver());
    // The first call opens what stays open, such as the channel to the standby launcher.
    quick.call(&quick_driver, json!({}), &Cancel::new()).await.text();
    let begun = Cancel::new();
    let called_off = async {
        while processes_with("sleep\096001").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        begun.cancel();
    };
    tokio::join!(stage.call(&slow_driver, json!({}), &begun), called_off);
    let before = descriptors();
    let slow = (0..50).map(|n| {
        let cancel = Cancel::new();
        let (stage, driver) = (&stage, &slow_driver);
        async move {
            let later = cancel.clone();
            let called_off = async move {
                tokio::time::sleep(Duration::from_millis(10 * n)).await;
                later.cancel();
            };
            tokio::join!(stage.call(driver, json!({}), &cancel), called_off).0.fate().0
        }
    });
    let cancel = Cancel::new();
    let fast = (0..50).map(|_| quick.call(&quick_driver, json!({}), &cancel));
    let (slow, fast) = tokio::join!(all(slow), all(fast));
    assert_eq!(slow, vec![Code::CanceledCaller; 50]);
    let texts: Vec<String> = fast.into_iter().map(|ended| ended.text()).collect();
    assert_eq!(texts, vec!["done\n"; 50]);
    assert_eq!(processes_with("sleep\096001"), Vec::<String>::new());
    // The task that watches the last program closes its descriptors a moment after its exit.
    for _ in 0..100 {
        if descriptors() <= before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(descriptors() <= before, "{} descriptors, and {before} before", descriptors());
    assert_eq!(
        (files(&stage), files(&quick)),
        (vec!["note".into(), "out".into()], vec!["note".into(), "out".into()])
    );
}

/// Runs all futures concurrently.
async fn all<F: Future>(work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut work: Vec<_> = work.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (one, done) in &mut work {
            if done.is_none()
                && let std::task::Poll::Ready(output) = one.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        match work.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    work.into_iter().filter_map(|(_, done)| done).collect()
}
