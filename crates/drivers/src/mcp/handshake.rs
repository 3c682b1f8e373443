//! Handshake: `server/discover` of 2026-07-28, or `initialize` of the versions before.

use std::time::Duration;

use reqwest::header::HeaderMap;
use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, InitializeResult, JsonObject, ProtocolVersion,
    RequestMetaObject, ServerPeerInfo,
};
use serde_json::json;

use super::client::{Agreement, EncodedRequest, McpClient, decode};
use super::era::{Era, HandshakeOrder};
use super::fault::RequestFault;
use super::http_transport::PostKind;
use super::message::{self, RequestMeta};
use super::request_headers::RepeatedParts;

/// How long a server may ignore `server/discover` before it counts as legacy.
const PROBE: Duration = Duration::from_secs(10);

/// Why a handshake failed.
#[derive(Debug)]
pub(super) enum HandshakeFault {
    /// The server speaks only these versions.
    NoCommonVersion(Vec<ProtocolVersion>),
    Request(RequestFault),
}

impl From<RequestFault> for HandshakeFault {
    fn from(fault: RequestFault) -> HandshakeFault {
        HandshakeFault::Request(fault)
    }
}

impl McpClient {
    /// Agrees on a protocol version with the server.
    pub(super) async fn handshake(&self, order: HandshakeOrder) -> Result<(), HandshakeFault> {
        match order {
            HandshakeOrder::Initialize => self.initialize().await,
            HandshakeOrder::Discover => self.discover().await,
            HandshakeOrder::InitializeThenDiscover => {
                match tokio::time::timeout(PROBE, self.initialize()).await {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(_)) | Err(_) => self.discover().await,
                }
            }
            HandshakeOrder::DiscoverThenInitialize => {
                match tokio::time::timeout(PROBE, self.discover()).await {
                    Ok(Err(fault)) if is_legacy(&fault) => self.initialize().await,
                    Ok(discovered) => discovered,
                    Err(_) => self.initialize().await,
                }
            }
        }
    }

    /// Discovers the server. One that refuses the version and names it as supported is asked once
    /// more.
    async fn discover(&self) -> Result<(), HandshakeFault> {
        match self.request_discovery().await {
            Err(HandshakeFault::NoCommonVersion(theirs))
                if theirs.contains(&ProtocolVersion::LATEST) =>
            {
                self.request_discovery().await
            }
            discovered => discovered,
        }
    }

    async fn request_discovery(&self) -> Result<(), HandshakeFault> {
        let (method, version) = ("server/discover", ProtocolVersion::LATEST);
        let meta = self.meta(&version);
        let (id, empty) = (self.next_id(), JsonObject::new());
        let shared = RequestMeta { shared: &meta, own: &empty };
        let body = message::request(id, method, &json!({}), shared)?;
        let headers = RepeatedParts::default().headers(&version, method);
        let result = match self.first(id, PostKind::Discover, body, headers).await {
            Err(RequestFault::Refused(error))
                if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION =>
            {
                return Err(HandshakeFault::NoCommonVersion(supported(&error)));
            }
            answered => answered?,
        };
        let result: DiscoverResult = decode(&result).map_err(|_| {
            let words = "it was answered with something else";
            RequestFault::Refused(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None))
        })?;
        if !result.supported_versions.contains(&version) {
            return Err(HandshakeFault::NoCommonVersion(result.supported_versions));
        }
        let about = ServerPeerInfo::from_discover_result(version, result);
        self.agree(Agreement { about, meta });
        Ok(())
    }

    async fn initialize(&self) -> Result<(), HandshakeFault> {
        let (id, empty) = (self.next_id(), JsonObject::new());
        let meta = RequestMeta { shared: &empty, own: &empty };
        let body = message::request(id, "initialize", &self.handler().client(), meta)?;
        let result = self.first(id, PostKind::Initialize, body, HeaderMap::new()).await?;
        let result: InitializeResult = decode(&result)?;
        let meta = match Era::of(&result.protocol_version) {
            Era::Legacy => JsonObject::new(),
            Era::Modern => self.meta(&result.protocol_version),
        };
        self.agree(Agreement { about: result.into(), meta });
        self.notify(message::initialized()).await?;
        self.follow_session();
        Ok(())
    }

    /// Sends the request of a handshake, which is never cancelled.
    async fn first(
        &self,
        id: i64,
        kind: PostKind,
        body: Vec<u8>,
        headers: HeaderMap,
    ) -> message::Response {
        let (call, is_cancellable) = (None, false);
        self.core.send(EncodedRequest { id, kind, body, headers, call, is_cancellable }).await
    }

    /// The `_meta` of every request where the protocol has no handshake.
    fn meta(&self, version: &ProtocolVersion) -> JsonObject {
        let own = self.handler().client();
        let (info, able) = (own.client_info, own.capabilities);
        RequestMetaObject::with_client_context(version.clone(), info, able).0.0
    }
}

/// Whether a failed discovery shows a server of the legacy era.
fn is_legacy(fault: &HandshakeFault) -> bool {
    match fault {
        HandshakeFault::NoCommonVersion(theirs) => {
            theirs.iter().any(|version| Era::of(version) == Era::Legacy)
        }
        HandshakeFault::Request(RequestFault::Refused(error)) => !matches!(
            error.code,
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH
        ),
        HandshakeFault::Request(_) => false,
    }
}

/// The versions that a refusal names.
fn supported(error: &ErrorData) -> Vec<ProtocolVersion> {
    let versions = error.data.as_ref().and_then(|data| data.get("supported"));
    versions.and_then(|versions| serde_json::from_value(versions.clone()).ok()).unwrap_or_default()
}
