//! Calendar: dates, instants and ISO 8601 durations. The caller passes `now`.

pub use jiff::{Span, Timestamp, civil::Date};

/// Reads a UTC date: `2026-01-31`, or an instant, of which the UTC day counts.
pub fn parse_date(text: &str) -> Option<Date> {
    text.parse::<Date>()
        .ok()
        .filter(|_| text.len() == 10)
        .or_else(|| text.parse::<Timestamp>().ok().map(utc_day))
}

/// The UTC day of an instant.
pub fn utc_day(instant: Timestamp) -> Date {
    instant.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Reads an RFC 3339 instant such as `2026-01-31T12:00:00Z`.
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Reads an instant as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn parse_http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// The day of the week (Monday is 1) and the hour that clocks show in a zone such as
/// `Europe/Lisbon`; `None` for an unknown zone. Zones are compiled in, not looked up.
pub fn weekday_and_hour(instant: Timestamp, zone: &str) -> Option<(i8, i8)> {
    let there = instant.to_zoned(jiff::tz::TimeZone::get(zone).ok()?);
    Some((there.weekday().to_monday_one_offset(), there.hour()))
}

/// Reads an ISO 8601 duration such as `PT10M` or `P7D`; nothing else, and nothing negative.
pub fn parse_duration(text: &str) -> Option<Span> {
    let span = text.starts_with('P').then(|| text.parse::<Span>().ok())??;
    (!span.is_negative()).then_some(span)
}

/// The instant a span after another, by the UTC calendar; `None` on overflow.
pub fn after(instant: Timestamp, span: Span) -> Option<Timestamp> {
    let later = instant.to_zoned(jiff::tz::TimeZone::UTC).checked_add(span);
    later.ok().map(|later| later.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_iso_8601_and_nothing_else() {
        for good in ["P7D", "PT10M", "P1Y2M3DT4H5M6S", "P2W"] {
            assert!(parse_duration(good).is_some(), "{good}");
        }
        for bad in ["7 days", "P", "PT", "-P1D", "P-1D", "10m", "Pjunk", ""] {
            assert!(parse_duration(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_date_of_a_header_is_an_instant() {
        let instant = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(instant, parse_timestamp("1994-11-06T08:49:37Z"));
        assert_eq!(parse_http_date("tomorrow"), None);
    }

    #[test]
    fn what_is_after_an_instant_follows_the_calendar() {
        let later = |from: &str, span: &str| {
            after(parse_timestamp(from).unwrap(), parse_duration(span).unwrap())
        };
        let expected = parse_timestamp("2026-03-02T12:00:00Z");
        assert_eq!(later("2026-01-31T12:00:00Z", "P30D"), expected);
        assert_eq!(later("2026-03-02T11:30:00Z", "PT30M"), expected);
        assert_eq!(later("2026-03-02T11:30:00Z", "P9000Y"), None);
    }

    #[test]
    fn clocks_differ_between_zones_and_with_the_season() {
        let at = |text: &str| parse_timestamp(text).unwrap();
        let winter = at("2026-01-05T08:30:00Z");
        assert_eq!(weekday_and_hour(winter, "UTC"), Some((1, 8)));
        assert_eq!(weekday_and_hour(winter, "Europe/Berlin"), Some((1, 9)));
        assert_eq!(weekday_and_hour(at("2026-07-06T08:30:00Z"), "Europe/Berlin"), Some((1, 10)));
        assert_eq!(weekday_and_hour(winter, "Pacific/Auckland"), Some((1, 21)));
        assert_eq!(weekday_and_hour(winter, "Mars/Olympus"), None);
    }

    #[test]
    fn an_instant_counts_as_its_utc_day() {
        assert_eq!(parse_date("2026-01-31T23:30:00-05:00"), parse_date("2026-02-01"));
        assert_eq!(parse_date("31.1.2026"), None);
    }
}
