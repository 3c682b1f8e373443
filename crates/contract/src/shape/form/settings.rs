//! Text formats that only `haft.toml` uses.

use std::net::Ipv6Addr;

use haft_notation::{NotationFault, Pattern};

use super::{ANY_LENGTH, TextFormat, WEB_PATTERN, pattern, reader};
use crate::diagnostic::did_you_mean;
use crate::host::{host_of, is_loopback};

/// An actor's id.
pub static ACTOR_ID: TextFormat = pattern(
    "an actor's id",
    r"^(user|agent):[A-Za-z0-9][A-Za-z0-9._@\-]*$",
    (1, 128),
    "write `user:<name>` or `agent:<name>`",
);

/// Which actors a rule is about.
pub static ACTOR_PATTERN: TextFormat = pattern(
    "a pattern of actors",
    r"^(\*|(user|agent|\*):\S+)$",
    (1, 128),
    "write `agent:*`, `user:ana` or `*`",
);

/// Which tools something is about.
pub static TOOL_PATTERN: TextFormat = pattern(
    "a pattern of tool ids",
    r"^[a-z0-9.*\-]+$",
    (1, 80),
    "write a tool's id, with `*` for any run of characters, as in `git.*`",
);

/// The URL of the store. A store that this version cannot open is refused here, not at a call.
pub static STORE_URL: TextFormat = pattern(
    "the address of a store",
    r"^sqlite:\S.*$",
    ANY_LENGTH,
    "write `sqlite:<file>`, the only kind of store in this version",
);

/// The URL of the payloads, with the same refusal.
pub static PAYLOADS_URL: TextFormat = pattern(
    "the address of a payload store",
    r"^file:\S.*$",
    ANY_LENGTH,
    "write `file:<folder>`, the only kind of payload store in this version",
);

/// The listening address of the server.
pub static LISTEN: TextFormat = reader("an address to listen on", listen_fault, LISTEN_HELP);

const LISTEN_HELP: &str = "write `<host>:<port>`, as in `127.0.0.1:7311`";

fn listen_fault(text: &str) -> Option<NotationFault> {
    let fits = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host_fits = match bracketed {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '/', '[', ']', ' ']),
        };
        host_fits && port.parse::<u16>().is_ok()
    });
    let fault = || NotationFault::new(format!("`{text}` is not an address to listen on"));
    (!fits).then(|| fault().help(LISTEN_HELP))
}

/// A host name of the server.
pub static HOST_NAME: TextFormat = pattern(
    "the name of a host",
    r"^[A-Za-z0-9]([A-Za-z0-9.\-]*[A-Za-z0-9])?$",
    (1, 253),
    "write it without scheme and port, as in `tools.example`",
);

/// An HTTPS address, which no hop on the way can read.
pub static PRIVATE_URL: TextFormat = TextFormat {
    what: "a web address",
    pattern: Some(Pattern::new(WEB_PATTERN)),
    length: ANY_LENGTH,
    also: |text| {
        let open = text.starts_with("http://") && !host_of(text).is_some_and(is_loopback);
        open.then(|| {
            NotationFault::new(format!("`{text}` is not encrypted"))
                .help("use https; http is for this machine")
        })
    },
    help: "write it with its scheme, as in `https://hooks.example`",
};

/// The scopes that a surface can be bound to.
pub const SCOPES: &[&str] = &[
    "turn",
    "task",
    "session",
    "tenant",
    "skill",
    "peer_agent",
    "workspace",
    "role",
    "model_request",
];

/// The scope of a surface.
pub static SCOPE: TextFormat = reader("a scope", scope_fault, "write `<kind>` or `<kind>:<name>`");

fn scope_fault(text: &str) -> Option<NotationFault> {
    let (kind, name) = text.split_once(':').map_or((text, None), |(kind, name)| (kind, Some(name)));
    if !SCOPES.contains(&kind) {
        let help = match did_you_mean(kind, SCOPES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", SCOPES.join(", ")),
        };
        return Some(NotationFault::new(format!("`{kind}` is not a kind of scope")).help(help));
    }
    let nameless = name.is_some_and(|name| name.trim().is_empty());
    nameless.then(|| {
        NotationFault::new(format!("`{text}` names no {kind}"))
            .help(format!("write `{kind}:<name>`, or `{kind}` for any"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_takes_its_good_texts_and_no_others() {
        let cases: [(&TextFormat, &[&str], &[&str]); 8] = [
            (&ACTOR_ID, &["user:ana", "agent:a.b-1"], &["ana", "bot:x", "user:", "agent:a b"]),
            (&ACTOR_PATTERN, &["*", "*:ana", "agent:*", "user:ana"], &["ana", "", "bots:*"]),
            (&TOOL_PATTERN, &["*", "git.*", "git.log"], &["Git.*", "git log", "git_log", ""]),
            (&STORE_URL, &["sqlite:a.db"], &["postgres://h/d", "mysql://h/d", "sqlite:", "a.db"]),
            (&PAYLOADS_URL, &["file:.haft/p"], &["s3://bucket/p", "s3:bucket", "/tmp"]),
            (
                &LISTEN,
                &["127.0.0.1:7311", "[::1]:80", "localhost:0", "0.0.0.0:443"],
                &["7311", ":7311", "127.0.0.1", "localhost:70000", "::1:80", "http://h:80"],
            ),
            (
                &HOST_NAME,
                &["tools.example", "HAFT", "10.0.0.1"],
                &["", "https://tools.example", "tools.example:443", "*.example", "a b", "-a"],
            ),
            (
                &PRIVATE_URL,
                &["https://h.example/x", "http://127.0.0.1:9/x", "http://localhost"],
                &["ftp://h.example", "http://h.example", "h.example"],
            ),
        ];
        for (form, good, bad) in cases {
            good.iter().for_each(|text| assert_eq!(form.fault(text), None, "{text}"));
            bad.iter().for_each(|text| assert!(form.fault(text).is_some(), "{text}"));
        }
    }

    #[test]
    fn surface_scope_is_known_kind_with_optional_name() {
        assert_eq!(SCOPE.fault("workspace"), None);
        assert_eq!(SCOPE.fault("role:agent"), None);
        let said = |text| SCOPE.fault(text).map(|fault| (fault.message, fault.help));
        assert_eq!(
            said("roles:agent"),
            Some(("`roles` is not a kind of scope".into(), Some("did you mean `role`?".into())))
        );
        assert_eq!(
            said("role:"),
            Some((
                "`role:` names no role".into(),
                Some("write `role:<name>`, or `role` for any".into())
            ))
        );
    }
}
