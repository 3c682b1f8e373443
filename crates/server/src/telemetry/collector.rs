//! Collector settings: OpenTelemetry's environment variables, and haft.toml where they are unset.

use std::time::Duration;

use percent_encoding::percent_decode_str;

/// Path of the trace endpoint below a base URL.
const TRACES: &str = "/v1/traces";

/// Timeout of one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A workspace's telemetry settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Base URL of the collector.
    pub endpoint: Option<String>,
    /// Service name.
    pub service: String,
    /// Whether spans carry inputs and results, redacted.
    pub content: bool,
}

/// The collector that spans are sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct Collector {
    pub(super) url: String,
    /// Headers of every request; values may be credentials.
    pub(super) headers: Vec<(String, String)>,
    /// Resource attributes of this service.
    pub(super) resource: Vec<(String, String)>,
    pub(super) content: bool,
    pub(super) patience: Duration,
}

impl Collector {
    /// The collector that the environment or the workspace names; `None` where telemetry is off.
    pub fn of(
        wanted: TelemetrySettings,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Collector>, String> {
        let said = |name: &str| environment(name).filter(|value| !value.is_empty());
        let off = said("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"))
            || said("OTEL_TRACES_EXPORTER").is_some_and(|by| by == "none");
        let based = |base: String| format!("{}{TRACES}", base.trim_end_matches('/'));
        let url = said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| said("OTEL_EXPORTER_OTLP_ENDPOINT").map(based))
            .or_else(|| wanted.endpoint.map(based));
        let Some(url) = url.filter(|_| !off) else { return Ok(None) };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("`{url}` is no address of a collector: it begins with http(s)://"));
        }
        spoken(&said)?;
        let mut resource = pairs("OTEL_RESOURCE_ATTRIBUTES", &said)?;
        if let Some(service) = said("OTEL_SERVICE_NAME") {
            set(&mut resource, "service.name", service);
        } else if !resource.iter().any(|(name, _)| name == "service.name") {
            set(&mut resource, "service.name", wanted.service);
        }
        let mut headers = pairs("OTEL_EXPORTER_OTLP_HEADERS", &said)?;
        for (name, value) in pairs("OTEL_EXPORTER_OTLP_TRACES_HEADERS", &said)? {
            set(&mut headers, &name, value);
        }
        let patience = patience(&said)?;
        Ok(Some(Collector { url, headers, resource, content: wanted.content, patience }))
    }

    /// URL of the trace endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Refuses unsupported protocols, before an operator waits for spans that never come.
fn spoken(said: &impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let wished = names.iter().find_map(|name| Some((name, said(name)?)));
    match wished {
        Some((name, wish)) if wish != "http/protobuf" => {
            Err(format!("`{name}` is `{wish}`; spans are sent by `http/protobuf` alone"))
        }
        _ => Ok(()),
    }
}

fn patience(said: &impl Fn(&str) -> Option<String>) -> Result<Duration, String> {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
    let Some((name, wish)) = names.iter().find_map(|name| Some((name, said(name)?))) else {
        return Ok(PATIENCE);
    };
    let wrong = |_| format!("`{name}` is `{wish}` and not a number of milliseconds");
    wish.trim().parse().map(Duration::from_millis).map_err(wrong)
}

/// Parses `name=value` pairs and decodes the values. An error names the variable and never shows a
/// value: it may be a credential.
fn pairs(
    name: &str,
    said: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let text = said(name).unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let each = parts.enumerate().map(|(index, part)| {
        let wrong = || format!("entry {} of `{name}` is not `name=value`", index + 1);
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| wrong())?;
        Ok((key.trim().to_owned(), value.into_owned()))
    });
    each.collect()
}

fn set(pairs: &mut Vec<(String, String)>, name: &str, value: String) {
    pairs.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    pairs.push((name.to_owned(), value));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        wanted: Option<&str>,
        environment: &[(&str, &str)],
    ) -> Result<Option<Collector>, String> {
        let wanted = TelemetrySettings {
            endpoint: wanted.map(str::to_owned),
            service: "bakery".into(),
            content: false,
        };
        Collector::of(wanted, |name| {
            environment.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).into())
        })
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn environment_overrides_workspace_and_specific_variable_overrides_general() {
        let url = |wanted, environment: &[_]| told(wanted, environment).unwrap().map(|to| to.url);
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://b.example:4318/");
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c.example/otlp");
        assert_eq!(url(None, &[]), None);
        assert_eq!(url(Some("http://a"), &[]).as_deref(), Some("http://a/v1/traces"));
        let by_env = url(Some("http://a"), &[base]);
        assert_eq!(by_env.as_deref(), Some("https://b.example:4318/v1/traces"));
        assert_eq!(url(None, &[base, whole]).as_deref(), Some("https://c.example/otlp"));
        assert_eq!(url(Some("http://a"), &[base, ("OTEL_SDK_DISABLED", "True")]), None);
        assert_eq!(url(Some("http://a"), &[("OTEL_TRACES_EXPORTER", "none")]), None);
        let empty = [("OTEL_EXPORTER_OTLP_ENDPOINT", "")];
        assert_eq!(url(Some("http://a"), &empty).as_deref(), Some("http://a/v1/traces"));
    }

    #[test]
    fn otel_headers_attributes_and_timeout_are_parsed() {
        let environment = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b, x-key = one"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "X-Key=a+b=="),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ];
        let collector = told(Some("http://a"), &environment).unwrap().unwrap();
        assert_eq!(collector.headers, [pair("x-team", "a b"), pair("X-Key", "a+b==")]);
        assert_eq!(
            collector.resource,
            [pair("service.name", "other"), pair("deployment.environment.name", "test")]
        );
        assert_eq!(collector.patience, Duration::from_millis(250));
        let plain = told(Some("http://a"), &[]).unwrap().unwrap();
        assert_eq!(plain.resource, [pair("service.name", "bakery")]);
        let named = told(Some("http://a"), &[("OTEL_SERVICE_NAME", "till")]).unwrap().unwrap();
        assert_eq!(named.resource, [pair("service.name", "till")]);
    }

    #[test]
    fn invalid_otel_variable_is_named_without_header_value() {
        for (environment, expected) in [
            (
                ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,hush"),
                "entry 2 of `OTEL_EXPORTER_OTLP_HEADERS` is not `name=value`",
            ),
            (
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`; spans are sent by `http/protobuf` alone",
            ),
            (
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
                "`OTEL_EXPORTER_OTLP_TIMEOUT` is `soon` and not a number of milliseconds",
            ),
            (
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
                "`collector:4317` is no address of a collector: it begins with http(s)://",
            ),
        ] {
            let fault = told(Some("http://a"), &[environment]).err();
            assert_eq!(fault.as_deref(), Some(expected));
        }
    }
}
