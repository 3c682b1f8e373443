//! Security schemes: which secrets a request carries, and where.

use serde_json::Value;

use super::document::Document;
use super::parameter::{Parameter, ParameterLocation};
use crate::secret::{Secret, SecretForm};
use crate::text;

/// How many characters the slug of a secret may have, without the import's.
const LONGEST_SLUG: usize = 38;

/// The location of a secret in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// A header, and what stands before the secret.
    Header(String, &'static str),
    Query(String),
    Cookie(String),
}

/// One way of proving who asks.
#[derive(Clone, Debug)]
pub(super) struct SecurityScheme {
    /// What the document calls it.
    scheme: String,
    pub(super) secret: Secret,
    pub(super) carrier: Carrier,
}

/// Every login of the document.
#[derive(Clone, Debug)]
pub(super) struct Logins {
    import: String,
    all: Vec<SecurityScheme>,
}

/// The security requirement of an operation.
pub(super) enum SecurityNeed<'l> {
    /// Nothing.
    Nothing,
    /// These logins, all of them.
    Logins(Vec<&'l SecurityScheme>),
    /// Something that no driver can carry.
    Unknown(String),
}

impl Logins {
    pub(super) fn read(document: &Document<'_>, import: &str) -> Logins {
        let schemes = document.component("securitySchemes").into_iter().flatten();
        let mut logins = Logins { import: import.to_owned(), all: Vec::new() };
        for (scheme, raw) in schemes {
            if let Some((carrier, about)) = document.resolved(raw).and_then(carrier) {
                let login = logins.told_apart(login(import, scheme, carrier, about));
                logins.all.push(login);
            }
        }
        logins
    }

    /// A login whose secret has a name of its own: `apiKey` and `api_key` are one slug.
    fn told_apart(&self, mut login: SecurityScheme) -> SecurityScheme {
        let is_taken = |secret: &Secret| {
            let mut all = self.all.iter().map(|other| &other.secret);
            all.any(|other| other.slug == secret.slug || other.variable == secret.variable)
        };
        let first = login.secret.clone();
        let (import, own) = first.slug.split_once('/').unwrap_or(("", &first.slug));
        let own: String = own.chars().take(LONGEST_SLUG - 4).collect();
        let mut number = 2u32;
        while is_taken(&login.secret) {
            login.secret.slug = format!("{import}/{}-{number}", own.trim_end_matches('-'));
            login.secret.variable = format!("{}_{number}", first.variable);
            number += 1;
        }
        login
    }

    /// The security requirement of an operation: the first supported alternative.
    pub(super) fn asked(&self, document: &Document<'_>, operation: &Value) -> SecurityNeed<'_> {
        let stated = operation.get("security").or_else(|| document.get("security"));
        let ways = stated.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let Some(first) = ways.first() else { return SecurityNeed::Nothing };
        let known = ways.iter().find_map(|way| self.together(way));
        match known {
            Some(logins) if logins.is_empty() => SecurityNeed::Nothing,
            Some(logins) => SecurityNeed::Logins(logins),
            None => {
                let names = first.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
                SecurityNeed::Unknown(names.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn together(&self, way: &Value) -> Option<Vec<&SecurityScheme>> {
        let names = way.as_object()?.keys();
        names.map(|name| self.all.iter().find(|login| login.scheme == *name)).collect()
    }

    /// The login by which a parameter gets its value: that of a scheme which stands in the same
    /// place, or one of its own where the parameter is a header that only carries credentials.
    pub(super) fn filling(&self, parameter: &Parameter<'_>) -> Option<SecurityScheme> {
        if let Some(same) = self.all.iter().find(|login| login.fills(parameter)) {
            return Some(same.clone());
        }
        let wire = parameter.wire;
        let how = Carrier::Header(wire.to_owned(), "");
        let about = format!("Goes into the header `{wire}`.");
        let own = || self.told_apart(login(&self.import, wire, how, about));
        parameter.is_credential().then(own)
    }
}

impl SecurityScheme {
    /// Whether its secret stands where a parameter does.
    fn fills(&self, parameter: &Parameter<'_>) -> bool {
        let wire = parameter.wire;
        match (&self.carrier, parameter.place) {
            (Carrier::Header(name, _), ParameterLocation::Header) => {
                name.eq_ignore_ascii_case(wire)
            }
            (Carrier::Query(name), ParameterLocation::Query)
            | (Carrier::Cookie(name), ParameterLocation::Cookie) => name == wire,
            (Carrier::Header(..) | Carrier::Query(_) | Carrier::Cookie(_), _) => false,
        }
    }
}

fn login(import: &str, scheme: &str, carrier: Carrier, description: String) -> SecurityScheme {
    let slug = format!("{}/{}", text::secret_slug(import), text::secret_slug(scheme));
    let name = text::line(&format!("{import} {scheme}"), 80);
    let variable = text::environment_name(&[import, scheme]);
    SecurityScheme {
        scheme: scheme.to_owned(),
        secret: Secret { slug, variable, name, description, kind: SecretForm::Opaque },
        carrier,
    }
}

/// The location of a scheme's secret, and its kind.
fn carrier(raw: &Value) -> Option<(Carrier, String)> {
    let field = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text::line(field("name"), 100);
    let header = |before: &'static str| Carrier::Header("Authorization".to_owned(), before);
    Some(match (field("type"), field("in"), field("scheme").to_ascii_lowercase().as_str()) {
        ("apiKey", _, _) if name.is_empty() => return None,
        ("apiKey", "header", _) => {
            let about = format!("An API key; it goes into the header `{name}`.");
            (Carrier::Header(name, ""), about)
        }
        ("apiKey", "query", _) => {
            let about = format!("An API key; it goes into the query as `{name}`.");
            (Carrier::Query(name), about)
        }
        ("apiKey", "cookie", _) => {
            let about = format!("An API key; it goes into the cookie `{name}`.");
            (Carrier::Cookie(name), about)
        }
        ("http", _, "bearer") => (header("Bearer "), "A bearer token.".to_owned()),
        ("http", _, "basic") => {
            (header("Basic "), "`user:password`, encoded as base64.".to_owned())
        }
        ("oauth2" | "openIdConnect", _, _) => {
            (header("Bearer "), "An access token of an OAuth login, without `Bearer`.".to_owned())
        }
        _ => return None,
    })
}
