//! Tests of the rate limit: a driver sends no faster than its manifest declares.

use std::time::{Duration, Instant};

use haft_driver::Cancel;
use haft_model::{Code, EffectState};
use serde_json::json;

use crate::http::stage::Stage;

#[test]
fn rate_limit_delays_calls_or_fails_at_deadline() {
    let rate = json!({"requests_per_minute": 300, "burst": 1});
    let mut stage = Stage::writing(json!({})).with("rate_limit", rate);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver();
    let start = Instant::now();
    runtime.block_on(async {
        for _ in 0..3 {
            stage.call(&driver, json!({}), &Cancel::new(), &mut || Ok(())).await.output();
        }
        assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
        stage.patience = Duration::from_millis(20);
        let ended = stage.call(&driver, json!({}), &Cancel::new(), &mut || Ok(())).await;
        assert_eq!(ended.fate(), (Code::RateLimited, EffectState::NotSubmitted, 0));
        stage.patience = Duration::from_secs(20);
        let cancel = Cancel::new();
        let mut recorded = || Ok(());
        let calling = stage.call(&driver, json!({}), &cancel, &mut recorded);
        let (ended, ()) = tokio::join!(calling, async { cancel.cancel() });
        assert_eq!(ended.fate(), (Code::CanceledCaller, EffectState::NotSubmitted, 0));
    });
    assert_eq!(stage.backend.heard().len(), 3);
}
