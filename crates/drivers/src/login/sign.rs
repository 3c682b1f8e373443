//! Signs that a login has run out, in the vocabulary of AIP-30.

use haft_model::{Code, Stop};
use serde_json::{Map, Value, json};

/// What a driver looks for after each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A program ended with this code.
    ExitCode(i32),
    /// A server answered with this status.
    HttpStatus(u16),
    /// A function raised this.
    Exception(String),
    /// An answer has this header with this value.
    Header(String, String),
}

/// What a driver saw of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginSignal<'a> {
    /// How its program ended.
    pub exit_code: Option<i32>,
    /// What its server answered.
    pub http_status: Option<u16>,
    /// What its function raised.
    pub exception: Option<&'a str>,
    /// The headers of its answer.
    pub headers: &'a [(&'a str, &'a str)],
}

impl Sign {
    /// A sign as `expiry.detect` writes it; none where nothing could look for it.
    pub fn parse(text: &str) -> Option<Sign> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "exit_code" => rest.parse().ok().map(Sign::ExitCode),
            "http_status" => rest.parse().ok().map(Sign::HttpStatus),
            "exception" => (!rest.is_empty()).then(|| Sign::Exception(rest.to_owned())),
            "header" => {
                let (name, value) = rest.split_once(':')?;
                let filled = !name.is_empty() && !value.is_empty();
                filled.then(|| Sign::Header(name.to_owned(), value.to_owned()))
            }
            _ => None,
        }
    }

    /// Whether it was seen.
    pub fn is_in(&self, seen: &LoginSignal<'_>) -> bool {
        match self {
            Sign::ExitCode(code) => seen.exit_code == Some(*code),
            Sign::HttpStatus(status) => seen.http_status == Some(*status),
            Sign::Exception(name) => seen.exception == Some(name),
            Sign::Header(name, value) => seen
                .headers
                .iter()
                .any(|(seen, said)| seen.eq_ignore_ascii_case(name) && said == value),
        }
    }
}

/// The failure of a call whose backend no longer takes the login. What was known of it stays, and
/// whoever looks after logins knows it by `cause.login`.
pub(crate) fn ran_out(stop: Stop, driver: &str) -> Stop {
    let mut cause = match stop.cause {
        Value::Object(cause) => cause,
        _ => Map::new(),
    };
    cause.insert("login".to_owned(), json!("expired"));
    let message = format!("{}: the login has run out", stop.message);
    Stop { code: Code::CredentialMissing, message, cause: Value::Object(cause), ..stop }
        .help(format!("run `haft login {driver}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_sign_matches_only_its_own_observation() {
        let seen = LoginSignal {
            exit_code: Some(4),
            http_status: Some(401),
            exception: Some("AuthError"),
            headers: &[("WWW-Authenticate", "Bearer")],
        };
        for (text, expected) in [
            ("exit_code:4", Some(true)),
            ("exit_code:5", Some(false)),
            ("http_status:401", Some(true)),
            ("http_status:403", Some(false)),
            ("exception:AuthError", Some(true)),
            ("exception:Other", Some(false)),
            ("header:www-authenticate:Bearer", Some(true)),
            ("header:www-authenticate:Basic", Some(false)),
            ("exit_code:many", None),
            ("header:lonely", None),
            ("mood:bad", None),
        ] {
            assert_eq!(Sign::parse(text).map(|sign| sign.is_in(&seen)), expected, "{text}");
        }
    }
}
