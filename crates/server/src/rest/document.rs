//! OpenAPI document: written by hand in `openapi.json`, beside the routes that it describes.

use std::sync::OnceLock;

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;

use super::invocations::tagged;

/// The document.
fn document() -> &'static Value {
    static READ: OnceLock<Value> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(include_str!("openapi.json")).unwrap_or_default())
}

/// `GET /v1/openapi.json`.
pub(super) async fn show(headers: HeaderMap) -> Response {
    tagged(&headers, document())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use haft_model::{EffectState, QuestionState, ResultStatus, Status};

    use super::super::routes;
    use super::*;

    fn names(value: &Value) -> BTreeSet<String> {
        value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn openapi_document_lists_exactly_the_served_routes() {
        let told: BTreeMap<String, BTreeSet<String>> = document()["paths"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(path, methods)| (path.clone(), names(methods)))
            .collect();
        let served = routes().into_iter().map(|(path, methods)| {
            // A method router shows its methods in its debug text alone.
            let text = format!("{methods:?}");
            let serves = |method: &str| !text.contains(&format!("{method}: None"));
            let methods = ["get", "post", "put", "patch", "delete"];
            let methods = methods.into_iter().filter(|method| serves(method));
            (format!("/v1{path}"), methods.map(str::to_owned).collect())
        });
        assert_eq!(told, served.collect::<BTreeMap<_, BTreeSet<_>>>());
    }

    #[test]
    fn openapi_enums_match_model_enums() {
        let listed = |name: &str| {
            let words = document()["components"]["schemas"][name]["enum"].as_array().unwrap();
            words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>()
        };
        let all = |words: Vec<&'static str>| words;
        assert_eq!(listed("Status"), all(Status::ALL.iter().map(|one| one.name()).collect()));
        assert_eq!(
            listed("ResultStatus"),
            all(ResultStatus::ALL.iter().map(|one| one.name()).collect())
        );
        assert_eq!(
            listed("EffectState"),
            all(EffectState::ALL.iter().map(|one| one.name()).collect())
        );
        assert_eq!(
            listed("QuestionState"),
            all(QuestionState::ALL.iter().map(|one| one.name()).collect())
        );
        assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        fn check(value: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        let place = reference.strip_prefix('#').unwrap();
                        assert!(document().pointer(place).is_some(), "{reference}");
                    }
                    fields.values().for_each(check);
                }
                Value::Array(items) => items.iter().for_each(check),
                _ => {}
            }
        }
        check(document());
    }
}
