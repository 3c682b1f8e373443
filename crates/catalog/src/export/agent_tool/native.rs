//! Native ids: the names of a tool in the system that it comes from.

use haft_contract::driver::manifest::KindFields;
use haft_contract::{Driver, Implements};
use serde_json::{Value as Json, json};

use super::super::Offer;
use super::{entry, said};

/// The native ids of a tool: what its driver calls, and what it was imported from.
pub(super) fn mappings(offer: &Offer<'_>) -> Vec<Json> {
    let called = offer.driver.map(|driver| called(offer, driver));
    let imported = offer.contract.tool.extras.imported.as_ref().map(|imported| {
        json!({
            "source": imported.from,
            "imported_from": address(&imported.source),
            "native_name": imported.name,
        })
    });
    called.into_iter().chain(imported).map(|mapping| Json::Object(said(mapping))).collect()
}

fn called(offer: &Offer<'_>, driver: &Driver) -> Json {
    let manifest = driver.manifest().unwrap_or_default();
    let entry = entry(offer).map(Implements::typed).unwrap_or_default();
    match &manifest.kind {
        KindFields::Http(fields) => {
            let http = entry.http.unwrap_or_default();
            let method = http.method.or_else(|| fields.default_method.clone());
            json!({
                "source": if operation(offer).is_some() { "openapi" } else { "http" },
                "operation_id": operation(offer),
                "method": method.as_deref().unwrap_or("POST"),
                "path": http.endpoint,
                "server_url": address(&fields.base_url),
            })
        }
        KindFields::Mcp(fields) => json!({
            "source": "mcp",
            "server_id": driver.id.as_str(),
            "server": address(fields.server.name()),
            "transport": fields.transport.name(),
            "mcp_protocol_version": fields.protocol_version,
            "method": "tools/call",
            "tool_name": entry.mcp.map(|mcp| mcp.tool_name),
        }),
        KindFields::Cli(fields) => {
            let own = entry.cli.map(|cli| cli.argv).unwrap_or_default();
            let argv = std::iter::once(&fields.bin).chain(&fields.bin_args).chain(&own);
            json!({
                "source": "cli",
                "command_id": driver.id.as_str(),
                "argv": argv.collect::<Vec<_>>(),
            })
        }
        KindFields::Sdk(fields) => json!({
            "source": "sdk",
            "package": fields.package,
            "package_manager": fields.package_manager,
            "function_ref": entry.sdk.map(|sdk| sdk.function_ref),
        }),
        KindFields::Builtin => json!({
            "source": "builtin",
            "host_id": driver.host_id,
            "function_name": offer.contract.key().id.as_str(),
        }),
    }
}

/// What the tool is called in the OpenAPI document that it was imported from.
fn operation<'a>(offer: &Offer<'a>) -> Option<&'a str> {
    offer.contract.tool.extras.imported.as_ref()?.operation_id()
}

/// An address without a login or a query, since no credential may leave in an export.
fn address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit('@').next().unwrap_or_default();
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_loses_its_login_and_its_query() {
        for (given, shown) in [
            ("https://ana:word@api.example/v1?token=x#y", "https://api.example/v1"),
            ("https://api.example", "https://api.example"),
            ("https://api.example/a@b", "https://api.example/a@b"),
            ("@scope/server", "@scope/server"),
        ] {
            assert_eq!(address(given), shown);
        }
    }
}
