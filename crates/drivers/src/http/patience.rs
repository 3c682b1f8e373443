//! How long a backend asks to be left alone.

use haft_model::{Timestamp, parse_http_date};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The milliseconds that `Retry-After` asks for, as seconds or as a date. A date is held against the
/// backend's own clock where it tells it.
pub(super) fn asked(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<u64>() {
        return seconds.checked_mul(1000);
    }
    let there = text(DATE).and_then(parse_http_date).unwrap_or(now);
    let wait = parse_http_date(asked)?.as_millisecond() - there.as_millisecond();
    Some(u64::try_from(wait).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_anything_else_is_no_wish() {
        let now = Timestamp::UNIX_EPOCH;
        for (retry_after, date, expected) in [
            ("3", None, Some(3000)),
            ("Thu, 01 Jan 1970 00:00:05 GMT", None, Some(5000)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(3000)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0)),
            ("soon", None, None),
            ("18446744073709551615", None, None),
            ("-1", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(retry_after));
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            assert_eq!(asked(&headers, now), expected, "{retry_after}");
        }
    }
}
