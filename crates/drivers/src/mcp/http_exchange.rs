//! HTTP exchange: posts a request and reads its response in the same task, resumes event streams
//! that broke off, and follows the stream of a session.

use std::sync::Arc;
use std::time::Duration;

use super::client::{ClientCore, ClientTransport, EncodedRequest, McpClient};
use super::fault::{HttpFault, RequestFault};
use super::http_transport::{HttpTransport, Post, PostReply};
use super::in_flight::CallContext;
use super::message::{Incoming, Response};
use super::sse::SseStream;

/// How often in a row a broken event stream is resumed, and the pause before where the server
/// states none.
const RESUMPTIONS: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);

impl ClientCore {
    /// Posts a request, and reads its response: a JSON body, or the last message of an event stream.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        http: &HttpTransport,
        request: EncodedRequest,
    ) -> Response {
        let EncodedRequest { id, kind, body, headers, call, .. } = request;
        let sending = call.as_ref().map(|call| &call.sending);
        let response = match http.post(Post { kind, body, headers, sending }).await {
            Ok(PostReply::Events(stream)) => {
                self.response_in(http, stream, id, call.as_ref()).await
            }
            Ok(PostReply::Body(body, media_type)) => match Incoming::decode(&body) {
                // The server may not have been able to read the id of a request that it refuses.
                Some(Incoming::Response(_, Err(refused))) => Err(refused),
                Some(Incoming::Response(Some(number), Ok(result))) if number == id => {
                    Ok(result.to_owned())
                }
                _ if media_type.as_deref() == Some("application/json") => {
                    Err(RequestFault::Undecodable)
                }
                _ => Err(http.fault(HttpFault::MediaType(media_type))),
            },
            Ok(PostReply::Accepted) => Err(http.fault(HttpFault::MediaType(None))),
            Err(fault) => Err(fault),
        };
        if let Err(RequestFault::Http(_, HttpFault::SessionExpired)) = response {
            // The next call connects anew.
            self.in_flight.end();
        }
        response
    }

    /// Reads an event stream until the response to a request.
    async fn response_in(
        self: &Arc<Self>,
        http: &HttpTransport,
        mut stream: SseStream,
        id: i64,
        call: Option<&CallContext>,
    ) -> Response {
        loop {
            let message = match stream.next().await {
                Ok(Some(message)) => message,
                Ok(None) => {
                    stream = resumed(http, stream, HttpFault::Broken).await?;
                    continue;
                }
                Err(fault) => {
                    stream = resumed(http, stream, fault).await?;
                    continue;
                }
            };
            match Incoming::decode(&message) {
                Some(Incoming::Response(number, response))
                    if number == Some(id) || (number.is_none() && response.is_err()) =>
                {
                    stream.drain();
                    return response.map(ToOwned::to_owned);
                }
                Some(Incoming::Response(..)) | None => {}
                other => self.receive(other, call).await,
            }
        }
    }

    /// Follows the stream of a session, which carries what belongs to no request.
    async fn follow_session(self: &Arc<Self>, http: &HttpTransport) {
        let Ok(mut stream) = http.stream(None).await else { return };
        loop {
            match stream.next().await {
                Ok(Some(message)) => self.receive(Incoming::decode(&message), None).await,
                Ok(None) | Err(_) => match reopened(http, stream).await {
                    Ok(next) => stream = next,
                    Err(_) => return,
                },
            }
        }
    }
}

impl McpClient {
    /// Follows the stream of the session, where the server opened one.
    pub(super) fn follow_session(&self) {
        let core = self.core.clone();
        if matches!(&core.transport, ClientTransport::Http(http) if http.has_session()) {
            self.read_by(tokio::spawn(async move {
                if let ClientTransport::Http(http) = &core.transport {
                    core.follow_session(http).await;
                }
            }));
        }
    }
}

/// Resumes the stream of a response after its last event. Without an event id it is lost.
async fn resumed(
    http: &HttpTransport,
    stream: SseStream,
    fault: HttpFault,
) -> Result<SseStream, RequestFault> {
    match (stream.last_id(), &fault) {
        (Some(_), HttpFault::Broken) => reopened(http, stream).await,
        _ => Err(http.fault(fault)),
    }
}

/// Opens a stream again after the pause that the server states, a few times.
async fn reopened(http: &HttpTransport, stream: SseStream) -> Result<SseStream, RequestFault> {
    let mut tries = 0;
    loop {
        tokio::time::sleep(stream.retry().unwrap_or(PAUSE)).await;
        match http.stream(stream.last_id()).await {
            Ok(next) => return Ok(stream.resumed(next)),
            Err(
                fault @ RequestFault::Http(
                    _,
                    HttpFault::Status(405)
                    | HttpFault::LoginRequired
                    | HttpFault::InsufficientScope(..),
                ),
            ) => return Err(fault),
            Err(fault) => {
                tries += 1;
                if tries == RESUMPTIONS {
                    return Err(fault);
                }
            }
        }
    }
}
