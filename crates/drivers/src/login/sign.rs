//! Login expiry detection: the signs of an expired login, in the vocabulary of AIP-30.

use haft_contract::driver::manifest::AuthBlock;
use haft_model::{CauseDetail, Code, LoginFailure, Stop};

/// The sign that a driver checks after each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The program exits with this code.
    ExitCode(i32),
    /// The server answers with this status.
    HttpStatus(u16),
    /// The function raises this exception.
    Exception(String),
    /// The response has this header with this value.
    Header(String, String),
}

/// What a driver observed of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginSignal<'a> {
    /// Exit code of its program.
    pub exit_code: Option<i32>,
    /// Status of its HTTP response.
    pub http_status: Option<u16>,
    /// Class name of the exception that its function raised.
    pub exception: Option<&'a str>,
    /// Headers of its HTTP response.
    pub headers: &'a [(&'a str, &'a str)],
}

impl Sign {
    /// The sign that an `auth` block declares.
    pub fn declared(auth: &AuthBlock) -> Option<Sign> {
        Sign::parse(&auth.expiry.as_ref()?.detect)
    }

    /// Parses `expiry.detect`; `None` if the sign is unknown or malformed.
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

    /// Whether the signal shows this sign.
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

/// Marks the failure of a call whose backend rejects the login. It keeps the known facts; the host
/// recognizes it by `cause.login`.
pub(crate) fn ran_out(mut stop: Stop, driver: &str) -> Stop {
    stop.cause.insert(CauseDetail::Login(LoginFailure::Expired));
    let message = format!("{}: the login has run out", stop.message);
    Stop { code: Code::CredentialMissing, message, ..stop }
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
