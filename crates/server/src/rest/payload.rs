//! Payload download: a call's output, whole or as a byte range.

use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_model::Digest;

use super::extract::{By, PathParams};
use super::invocations::{is_known, own};
use super::native::text;
use super::problem::Problem;
use crate::AppState;

/// `GET /v1/invocations/{id}/payloads/{digest}`.
///
/// It serves only outputs of a call: its inputs lie beside the log too, and may be sensitive.
pub(super) async fn show(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams((id, digest)): PathParams<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let missing = || Problem::missing("payload", &digest);
    let run = own(&desk, &id, &actor).await?;
    let wanted = Digest::parse(&digest).ok_or_else(missing)?;
    let bytes = desk.output(&run.invocation_id, &wanted).await?.ok_or_else(missing)?;
    let tag = format!("\"{wanted}\"");
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let whole = bytes.len();
    let same = text(&headers, header::IF_RANGE).is_none_or(|seen| seen == tag);
    let range = text(&headers, header::RANGE).filter(|_| same);
    let usual = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        (header::ETAG, tag),
        // The bytes of a digest never change.
        (header::CACHE_CONTROL, "private, immutable, max-age=31536000".to_owned()),
    ];
    match range.map_or(ByteRange::Whole, |range| part(range, whole)) {
        ByteRange::Whole => Ok((usual, bytes).into_response()),
        ByteRange::Some(range) => {
            let place = format!("bytes {}-{}/{whole}", range.start, range.end.saturating_sub(1));
            let bytes = bytes.get(range).unwrap_or_default().to_vec();
            let place = [(header::CONTENT_RANGE, place)];
            Ok((StatusCode::PARTIAL_CONTENT, usual, place, bytes).into_response())
        }
        ByteRange::Outside => {
            let words = format!("there are {whole} bytes, and none of them in that range");
            let problem = Problem::of_wire(StatusCode::RANGE_NOT_SATISFIABLE, words);
            Ok(([(header::CONTENT_RANGE, format!("bytes */{whole}"))], problem).into_response())
        }
    }
}

/// The requested part of the bytes.
#[derive(Debug, PartialEq, Eq)]
enum ByteRange {
    Whole,
    Some(Range<usize>),
    Outside,
}

/// Parses a single byte range. Several ranges, and malformed ones, mean the whole (RFC 9110, 14.2).
fn part(text: &str, whole: usize) -> ByteRange {
    let Some((from, to)) = text.trim().strip_prefix("bytes=").and_then(|it| it.split_once('-'))
    else {
        return ByteRange::Whole;
    };
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let range = match (from.trim(), to.trim()) {
        ("", last) => match number(last) {
            Some(0) => return ByteRange::Outside,
            Some(last) => whole.saturating_sub(last)..whole,
            None => return ByteRange::Whole,
        },
        (from, "") => match number(from) {
            Some(from) => from..whole,
            None => return ByteRange::Whole,
        },
        (from, to) => match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => from..to.saturating_add(1).min(whole),
            _ => return ByteRange::Whole,
        },
    };
    if range.start >= whole { ByteRange::Outside } else { ByteRange::Some(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_range_selects_part_and_malformed_range_whole() {
        let cases = [
            ("bytes=0-3", ByteRange::Some(0..4)),
            ("bytes=4-", ByteRange::Some(4..10)),
            ("bytes=-4", ByteRange::Some(6..10)),
            ("bytes=-40", ByteRange::Some(0..10)),
            ("bytes=8-99", ByteRange::Some(8..10)),
            ("bytes=10-", ByteRange::Outside),
            ("bytes=-0", ByteRange::Outside),
            ("bytes=3-1", ByteRange::Whole),
            ("bytes=0-1,4-5", ByteRange::Whole),
            ("lines=0-3", ByteRange::Whole),
            ("bytes=a-b", ByteRange::Whole),
        ];
        for (text, expected) in cases {
            assert_eq!(part(text, 10), expected, "{text}");
        }
        assert_eq!(part("bytes=0-", 0), ByteRange::Outside);
    }
}
