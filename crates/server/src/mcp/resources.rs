//! Payload resources: stored results as MCP resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_model::{Actor, Digest, InvocationId};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResponse, ReadResourceResult, ResourceContents};

use super::dispatch::Dispatcher;

/// URI scheme of our own resources.
pub(super) const OURS: &str = "haft://";

impl Dispatcher {
    /// The bytes of a call that the actor may see.
    pub(super) async fn read_payload(
        &self,
        uri: &str,
        actor: &Actor,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing =
            || ErrorData::resource_not_found(format!("there is no resource `{uri}`"), None);
        let (id, digest) = named(uri).ok_or_else(missing)?;
        let run = self.desk.runtime.reader().run(&id, actor).await;
        let run = run.ok().flatten().ok_or_else(missing)?;
        let bytes = self.desk.output(&run.invocation_id, &digest).await.ok().flatten();
        let contents = match String::from_utf8(bytes.ok_or_else(missing)?) {
            Ok(text) => ResourceContents::text(text, uri),
            Err(bytes) => ResourceContents::blob(STANDARD.encode(bytes.as_bytes()), uri),
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// `haft://invocations/<id>/payloads/<digest>`.
fn named(uri: &str) -> Option<(InvocationId, Digest)> {
    let (id, digest) = uri.strip_prefix("haft://invocations/")?.split_once("/payloads/")?;
    Some((InvocationId::from(id), Digest::parse(digest)?))
}
