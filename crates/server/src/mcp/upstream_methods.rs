//! Prompts, resources and completions: the methods that backends behind drivers answer.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ReadResourceRequestParams,
    ReadResourceResponse, ServerResult,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::dispatch::Dispatcher;
use super::listing::FRESH_MS;
use super::requester::Requester;
use super::resources;
use super::upstream::{UpstreamInputs, UpstreamReply, unique};

impl Dispatcher {
    /// `completion/complete`.
    pub(super) async fn complete(
        &self,
        request: CompleteRequestParams,
        by: &Requester,
    ) -> Result<CompleteResult, ErrorData> {
        let params = json!({
            "ref": request.r#ref, "argument": request.argument, "context": request.context,
        });
        let brought = UpstreamInputs::default();
        Ok(match self.first("completion/complete", lean(params), brought, by).await? {
            Some(UpstreamReply::Complete(result)) => result,
            Some(UpstreamReply::Asks(_)) | None => CompleteResult::default(),
        })
    }

    /// `resources/list`.
    pub(super) async fn list_resources(&self, by: &Requester) -> ListResourcesResult {
        let found = self.gather("resources/list", "resources", by).await;
        let found = found.into_iter().map(|(_, item)| item).collect();
        let mut result = ListResourcesResult::with_all_items(read(found));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        result
    }

    /// `resources/templates/list`.
    pub(super) async fn list_templates(&self, by: &Requester) -> ListResourceTemplatesResult {
        let found = self.gather("resources/templates/list", "resourceTemplates", by).await;
        let found = found.into_iter().map(|(_, item)| item).collect();
        let mut result = ListResourceTemplatesResult::with_all_items(read(found));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        result
    }

    /// `resources/read`.
    pub(super) async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        by: &Requester,
    ) -> Result<ServerResult, ErrorData> {
        if request.uri.starts_with(resources::OURS) {
            return Ok(self.read_payload(&request.uri, &by.actor).await?.into());
        }
        let params = json!({ "uri": request.uri });
        let brought =
            UpstreamInputs { answers: request.input_responses, state: request.request_state };
        match self.first("resources/read", params, brought, by).await? {
            Some(UpstreamReply::Complete(result)) => {
                Ok(ReadResourceResponse::Complete(result).into())
            }
            Some(UpstreamReply::Asks(asks)) => Ok(*asks),
            None => {
                let words = format!("there is no resource `{}`", request.uri);
                Err(ErrorData::resource_not_found(words, Some(json!({ "uri": request.uri }))))
            }
        }
    }

    /// `prompts/list`.
    pub(super) async fn list_prompts(&self, by: &Requester) -> ListPromptsResult {
        let found = self.gather("prompts/list", "prompts", by).await;
        let mut result = ListPromptsResult::with_all_items(read(unique(found, "name")));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        result
    }

    /// `prompts/get`.
    pub(super) async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        by: &Requester,
    ) -> Result<ServerResult, ErrorData> {
        let params = lean(json!({ "name": request.name, "arguments": request.arguments }));
        let brought =
            UpstreamInputs { answers: request.input_responses, state: request.request_state };
        match self.first("prompts/get", params, brought, by).await? {
            Some(UpstreamReply::Complete(result)) => Ok(GetPromptResponse::Complete(result).into()),
            Some(UpstreamReply::Asks(asks)) => Ok(*asks),
            None => {
                let words = format!("there is no prompt `{}`", request.name);
                Err(ErrorData::invalid_params(words, None))
            }
        }
    }

    /// Forwards a resource subscription to the backend that has the resource.
    pub(super) async fn subscription(
        &self,
        method: &str,
        uri: &str,
        by: &Requester,
    ) -> Result<(), ErrorData> {
        let params = json!({ "uri": uri });
        self.first::<Value>(method, params, UpstreamInputs::default(), by).await.map(|_| ())
    }
}

/// The valid items of a backend's list.
fn read<T: DeserializeOwned>(found: Vec<Value>) -> Vec<T> {
    found.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

/// The parameters without nulls.
fn lean(mut params: Value) -> Value {
    if let Value::Object(fields) = &mut params {
        fields.retain(|_, value| !value.is_null());
    }
    params
}
