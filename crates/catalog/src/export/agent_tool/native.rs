//! Native ids: the names of a tool in the system that it comes from.

use haft_contract::Driver;
use haft_model::DriverKind;
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
    let metadata = entry(offer).map(|entry| &entry.metadata);
    let own = |kind: &str, key: &str| metadata.and_then(|all| all.get(kind)?.get(key)).cloned();
    let whole = driver.raw();
    let raw = |key: &str| whole.get(key).cloned();
    match driver.kind {
        DriverKind::Http => json!({
            "source": if operation(offer).is_some() { "openapi" } else { "http" },
            "operation_id": operation(offer),
            "method": own("http", "method").or_else(|| raw("default_method")).unwrap_or(json!("POST")),
            "path": own("http", "endpoint"),
            "server_url": raw("base_url").and_then(|url| url.as_str().map(address)),
        }),
        DriverKind::Mcp => json!({
            "source": "mcp",
            "server_id": driver.id.as_str(),
            "server": server(&whole),
            "transport": raw("transport"),
            "mcp_protocol_version": raw("protocol_version"),
            "method": "tools/call",
            "tool_name": own("mcp", "tool_name"),
        }),
        DriverKind::Cli => json!({
            "source": "cli",
            "command_id": driver.id.as_str(),
            "argv": argv(&whole, own("cli", "argv")),
        }),
        DriverKind::Sdk => json!({
            "source": "sdk",
            "package": raw("package"),
            "package_manager": raw("package_manager"),
            "function_ref": own("sdk", "function_ref"),
        }),
        DriverKind::Builtin => json!({
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

/// The server by its package, image, program or address; never its environment.
fn server(driver: &Json) -> Option<String> {
    let server = driver.get("server")?;
    let name =
        ["package", "image", "path", "url"].iter().find_map(|key| server.get(*key)?.as_str());
    name.map(address)
}

fn argv(driver: &Json, own: Option<Json>) -> Vec<Json> {
    let list = |value: Option<&Json>| value.and_then(Json::as_array).cloned().unwrap_or_default();
    let program = driver.get("bin").cloned().into_iter();
    program.chain(list(driver.get("bin_args"))).chain(list(own.as_ref())).collect()
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
