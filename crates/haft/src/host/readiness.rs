//! Login state of a driver for one actor.

use haft_catalog::AuthState;
use haft_contract::AuthBlock;
use haft_drivers::LoginRecord;

/// The inputs of a login state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoginState<'a> {
    /// The login that the driver declares.
    pub(super) block: Option<&'a AuthBlock>,
    /// Of each secret that the driver puts into requests, whether there is a value.
    pub(super) used: &'a [bool],
    /// Of each variable that holds a login, whether there is a value.
    pub(super) variables: &'a [bool],
    /// Whether the program of the driver keeps a login in a file of its own.
    pub(super) kept: bool,
    /// The login on record.
    pub(super) login: Option<&'a LoginRecord>,
}

/// Derives the login state. A driver with all of its secrets is logged in; a driver without secrets
/// is logged in where a login is on record, or where any of its variables has a value.
pub(super) fn stands(known: LoginState<'_>) -> AuthState {
    let Some(block) = known.block else { return AuthState::NotRequired };
    if known.login.is_some_and(|login| login.expired) {
        return AuthState::Expired;
    }
    let nothing_to_have = block.login.is_none() && known.variables.is_empty();
    let logged_in = match known.used {
        [] if nothing_to_have => return AuthState::NotRequired,
        [] => known.login.is_some() || known.kept || known.variables.contains(&true),
        used => !used.contains(&false),
    };
    if logged_in { AuthState::LoggedIn } else { AuthState::LoggedOut }
}

#[cfg(test)]
mod tests {
    use haft_model::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    /// `used` and `variables` as letters: `y` there, `n` not there.
    fn check(auth: Value, used: &str, variables: &str, login: Option<bool>, expected: AuthState) {
        let block: Option<AuthBlock> = serde_json::from_value(auth.clone()).unwrap();
        let flags = |text: &str| text.chars().map(|letter| letter == 'y').collect::<Vec<_>>();
        let login = login.map(|expired| LoginRecord {
            driver: "bank".to_owned(),
            actor: None,
            since: Timestamp::UNIX_EPOCH,
            expired,
            scopes: Vec::new(),
            lacked: Vec::new(),
        });
        let known = LoginState {
            block: block.as_ref(),
            used: &flags(used),
            variables: &flags(variables),
            login: login.as_ref(),
            kept: false,
        };
        assert_eq!(stands(known), expected, "{auth} {used} {variables} {login:?}");
    }

    #[test]
    fn auth_state_follows_from_secrets_env_and_login_record() {
        use AuthState::{Expired, LoggedIn, LoggedOut, NotRequired};
        let env = || json!({ "state": { "env": ["A", "B"] } });
        let login = || json!({ "login": { "cmd": "bank login" } });
        check(Value::Null, "", "", None, NotRequired);
        check(json!({ "ref": "./SECRETS.md" }), "", "", None, NotRequired);
        check(env(), "yy", "yy", None, LoggedIn);
        check(env(), "yn", "yn", None, LoggedOut);
        check(env(), "", "ny", None, LoggedIn);
        check(env(), "", "nn", None, LoggedOut);
        check(login(), "", "", None, LoggedOut);
        check(login(), "", "", Some(false), LoggedIn);
        check(login(), "", "", Some(true), Expired);
        check(login(), "y", "", None, LoggedIn);
        check(login(), "n", "", Some(false), LoggedOut);
        check(login(), "y", "", Some(true), Expired);
    }
}
