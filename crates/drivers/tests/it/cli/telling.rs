//! Tests of progress and streamed output while a program runs.

use serde_json::json;

use crate::cli::stage::Stage;

#[test]
fn slow_program_reports_progress_now_and_then() {
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo line $n; sleep 0.1; done";
    let ended = Stage::script(script).run(json!({}));
    assert!((1..=2).contains(&ended.progress.len()), "{:?}", ended.progress);
    let told = &ended.progress[0];
    assert!(told.message.as_deref().unwrap().starts_with("line "), "{told:?}");
    assert!(told.line_count.is_some_and(|lines| lines >= 5) && told.bytes_read.is_some());
    assert_eq!(ended.text().lines().count(), 14);
    assert_eq!(Stage::script("echo quick").run(json!({})).progress, []);
}

#[test]
fn streaming_program_emits_whole_lines_and_full_result() {
    let script = "echo one; printf 'ha'; sleep 0.5; printf 'lf\\n'; sleep 0.5; echo three";
    let ended = Stage::script(script).cli("streaming", json!(true)).run(json!({}));
    assert_eq!(ended.pieces[..2], ["one\n", "half\n"]);
    assert_eq!((ended.progress.len(), ended.text().as_str()), (0, "one\nhalf\nthree\n"));
}
