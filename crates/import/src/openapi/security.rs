//! Security schemes: which secrets a request carries, and where.

use serde_json::Value;

use super::document::Document;
use crate::secret::{Secret, SecretForm};
use crate::text;

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
        let all = schemes.filter_map(|(scheme, raw)| {
            let carrier = carrier(document.resolved(raw)?)?;
            Some(login(import, scheme, carrier.0, carrier.1))
        });
        Logins { import: import.to_owned(), all: all.collect() }
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

    /// The login by which a header that is a credential gets its value.
    pub(super) fn for_header(&self, wire: &str) -> SecurityScheme {
        let how = Carrier::Header(wire.to_owned(), "");
        let same = self.all.iter().find(|login| {
            matches!(&login.carrier, Carrier::Header(name, _) if name.eq_ignore_ascii_case(wire))
        });
        same.cloned().unwrap_or_else(|| {
            login(&self.import, wire, how, format!("Goes into the header `{wire}`."))
        })
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
