//! Client timeout by `clientInfo`: how long an MCP client waits for a response before it gives up.
//!
//! The table holds the defaults of clients that state their name. Their users may set other ones, and
//! a program over an SDK sets its own, so a row is the best guess and not a promise.

use std::time::Duration;

use crate::Glob;

/// How long a client waits for the response to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientClock {
    /// Default timeout of the client: an answer that leaves later is lost.
    pub timeout: Duration,
    /// Whether progress starts the timeout again.
    pub progress_resets: bool,
    /// Whether the timeout stands still while the client's user fills in a form.
    pub forms_stop: bool,
}

/// Time that an answer needs to reach the client before its timeout.
const MARGIN: Duration = Duration::from_secs(10);

/// Timeout of a client that is not in the table, in seconds.
const USUAL: u64 = 60;

/// Name glob (in lower case), timeout in seconds, whether progress starts it again, whether forms
/// stop it. The first match counts.
const CLIENTS: [(&str, u64, bool, bool); 9] = [
    ("claude-code*", 300, true, false),
    ("claude*", 60, false, false),
    ("codex*", 300, false, true),
    ("gemini-cli*", 600, false, false),
    ("opencode*", 60, true, false),
    ("visual studio code*", 300, false, false),
    ("zed*", 60, false, false),
    ("cline*", 60, false, false),
    ("goose*", 300, false, false),
];

impl ClientClock {
    /// The clock of a client by the name in its `clientInfo`, of which the case does not matter.
    pub fn of_client(name: &str) -> ClientClock {
        let name = name.to_lowercase();
        let found = CLIENTS.iter().find(|(glob, ..)| Glob::new(glob).matches(&name));
        match found {
            Some(&(_, seconds, progress_resets, forms_stop)) => {
                ClientClock { timeout: Duration::from_secs(seconds), progress_resets, forms_stop }
            }
            None => ClientClock::default(),
        }
    }

    /// How long a call may keep this client waiting before it has to say something.
    pub fn patience(&self) -> Duration {
        self.timeout.saturating_sub(MARGIN)
    }
}

impl Default for ClientClock {
    /// The clock of an unknown client: 60 s, of which a call may take 50.
    fn default() -> ClientClock {
        let timeout = Duration::from_secs(USUAL);
        ClientClock { timeout, progress_resets: false, forms_stop: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_follows_client_name_in_any_case() {
        let told = |name: &str| {
            let clock = ClientClock::of_client(name);
            let seconds = [clock.timeout, clock.patience()].map(|time| time.as_secs());
            (seconds, clock.progress_resets, clock.forms_stop)
        };
        let cases = [
            ("claude-code", ([300, 290], true, false)),
            ("claude-ai", ([60, 50], false, false)),
            ("codex-mcp-client", ([300, 290], false, true)),
            ("gemini-cli-mcp-client-shop", ([600, 590], false, false)),
            ("Visual Studio Code - Insiders", ([300, 290], false, false)),
            ("Zed", ([60, 50], false, false)),
            ("mcp", ([60, 50], false, false)),
            ("", ([60, 50], false, false)),
        ];
        for (name, expected) in cases {
            assert_eq!(told(name), expected, "{name}");
        }
    }
}
