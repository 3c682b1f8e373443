//! Retry-After: parses how long a backend asks the client to wait before a retry.

use haft_model::{Timestamp, parse_http_date};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Upper bound of the delay in milliseconds: a day. The call's timeout bounds it further.
const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// The delay of `Retry-After` in milliseconds, from seconds or a date. A date is compared to the
/// backend's own `Date` where it sends one.
pub(super) fn asked(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    wished(
        text(RETRY_AFTER)?,
        text(DATE).and_then(|date| parse_http_date(date.trim())).unwrap_or(now),
    )
}

/// Parses a `Retry-After` value to milliseconds, at most a day; `there` is the backend's time.
pub(crate) fn wished(text: &str, there: Timestamp) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows counts as the upper bound.
        let seconds = text.parse::<u64>().unwrap_or(u64::MAX);
        return Some(seconds.saturating_mul(1000).min(LONGEST));
    }
    let wait = parse_http_date(text)?.as_millisecond().saturating_sub(there.as_millisecond());
    Some(u64::try_from(wait).unwrap_or(0).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_accepts_seconds_and_dates_and_nothing_else() {
        let now = Timestamp::UNIX_EPOCH;
        for (retry_after, date, expected) in [
            ("3", None, Some(3000)),
            ("Thu, 01 Jan 1970 00:00:05 GMT", None, Some(5000)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(3000)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0)),
            ("soon", None, None),
            ("", None, None),
            ("-1", None, None),
            ("1.5", None, None),
        ] {
            assert_eq!(asked(&headers(retry_after, date), now), expected, "{retry_after}");
        }
    }

    /// Whatever digits or dates a backend sends, the delay is none or at most a day.
    #[test]
    fn wishes_of_any_size_are_capped() {
        let now = Timestamp::UNIX_EPOCH;
        for digits in 1..60 {
            for digit in ["0", "1", "9"] {
                let text = digit.repeat(digits);
                let wish = asked(&headers(&text, None), now).unwrap();
                let exact = text.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1000));
                assert_eq!(wish, exact.map_or(LONGEST, |exact| exact.min(LONGEST)), "{text}");
            }
        }
        for year in [1970, 1999, 2100, 9999] {
            let text = format!("Fri, 31 Dec {year} 23:59:59 GMT");
            let wish = asked(&headers(&text, Some("Thu, 01 Jan 1970 00:00:00 GMT")), now);
            assert!(wish.is_none_or(|wish| wish <= LONGEST), "{text}: {wish:?}");
        }
        assert_eq!(asked(&headers("Wed, 31 Dec 2098 23:59:59 GMT", None), now), Some(LONGEST));
    }

    fn headers(retry_after: &str, date: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        headers
    }
}
