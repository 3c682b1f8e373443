//! Tests of the keyed pool: reuse, backoff and eviction.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const IDLE: Duration = Duration::from_secs(5);

/// The number of the item that a key gets; each new item has the next number.
async fn number(
    kept: &KeyedPool<&'static str, usize>,
    made: &AtomicUsize,
    key: &'static str,
) -> Result<Arc<usize>, String> {
    let make = || async { Ok(made.fetch_add(1, Ordering::Relaxed)) };
    kept.get(&key, make).await.map_err(|stop| stop.message.to_string())
}

#[tokio::test(start_paused = true)]
async fn one_is_made_for_each_key_and_kept() {
    let (kept, made) = (KeyedPool::new(IDLE), AtomicUsize::new(0));
    let mut seen = Vec::new();
    for key in ["a", "b", "a", "b"] {
        seen.push(*number(&kept, &made, key).await.unwrap());
    }
    assert_eq!(seen, [0, 1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn owners_whose_joined_names_collide_get_two_entries() {
    let (kept, made) = (KeyedPool::new(IDLE), AtomicUsize::new(0));
    for separator in [" ", "/", "\n"] {
        let owner = |tenant: &str, id: &str| ItemOwner::new(&Actor::new(id, tenant, []));
        let one = owner(&format!("acme{separator}user:ana"), "b");
        let other = owner("acme", &format!("user:ana{separator}b"));
        let mut seen = Vec::new();
        for key in [&one, &other, &one] {
            let make = || async { Ok(made.fetch_add(1, Ordering::Relaxed)) };
            seen.push(kept.get(key, make).await.unwrap());
        }
        let equal = (Arc::ptr_eq(&seen[0], &seen[1]), Arc::ptr_eq(&seen[0], &seen[2]));
        assert_eq!(equal, (false, true), "{separator:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pool_evicts_idle_entries_and_keeps_held_ones() {
    let (kept, made) = (KeyedPool::new(IDLE), AtomicUsize::new(0));
    let held = number(&kept, &made, "held").await.unwrap();
    let left = Arc::downgrade(&number(&kept, &made, "left").await.unwrap());
    tokio::time::sleep(IDLE * 3).await;
    assert!(left.upgrade().is_none());
    assert_eq!(*number(&kept, &made, "held").await.unwrap(), *held);
}

#[tokio::test(start_paused = true)]
async fn pool_recreates_broken_entry_with_growing_backoff() {
    let (kept, made) = (KeyedPool::new(IDLE), AtomicUsize::new(0));
    let mut told = Vec::new();
    for pause in [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4] {
        let one = number(&kept, &made, "a").await.unwrap();
        kept.broke(&"a", &one).await;
        // A repeated report changes nothing.
        kept.broke(&"a", &one).await;
        tokio::time::sleep(pause - Duration::from_millis(2)).await;
        told.push(number(&kept, &made, "a").await.unwrap_err());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(
        told,
        [1, 2, 3].map(|times| {
            format!("it broke {times} times in a row and is left alone for a while")
        })
    );
    assert_eq!(*number(&kept, &made, "a").await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_held_for_long_is_made_again_soon() {
    let (kept, made) = (KeyedPool::new(HOLDS * 2), AtomicUsize::new(0));
    for _ in 0..3 {
        let one = number(&kept, &made, "a").await.unwrap();
        tokio::time::sleep(HOLDS).await;
        kept.broke(&"a", &one).await;
        tokio::time::sleep(FIRST_PAUSE).await;
    }
    assert_eq!(*number(&kept, &made, "a").await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_let_go_is_made_again_at_once() {
    let (kept, made) = (KeyedPool::new(IDLE), AtomicUsize::new(0));
    let one = number(&kept, &made, "a").await.unwrap();
    kept.let_go(&"a", &one).await;
    let other = number(&kept, &made, "a").await.unwrap();
    // Removing the old item leaves the new one alone.
    kept.let_go(&"a", &one).await;
    assert_eq!((*one, *other, *number(&kept, &made, "a").await.unwrap()), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn refusals_during_a_backoff_count_as_no_failure() {
    let kept = KeyedPool::<&str, usize>::new(IDLE);
    let make = || async { Err(Stop::new(Code::DependencyUnavailable, "it crashed")) };
    let mut blamed = Vec::new();
    for _ in 0..5 {
        blamed.push(kept.get(&"a", make).await.unwrap_err().blame);
    }
    assert_eq!(blamed[0], Blame::ByCode);
    assert_eq!(blamed[1..], [Blame::Backoff; 4]);
}
