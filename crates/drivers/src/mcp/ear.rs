//! What a server may say to us on its own: that its tools changed, or that it would like to ask.
//!
//! We pass on what a caller can do and never what we could do in its place. No caller says yet what
//! it can do, so nothing is declared, and whoever asks all the same hears a no.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};

use super::tools::one_line;

/// Our end of a connection, as far as the server speaks first.
#[derive(Debug, Default)]
pub(super) struct Ear {
    changed: AtomicBool,
    /// What was asked last and not answered.
    asked: Mutex<Option<String>>,
}

impl Ear {
    /// Says that the tools are others now.
    pub(super) fn tools_changed(&self) {
        self.changed.store(true, Ordering::Release);
    }

    /// Whether the tools changed since this was last asked.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// What was asked since this was last asked.
    pub(super) fn take_asked(&self) -> Option<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Who we say that we are.
    pub(super) fn client() -> ClientConfig {
        let own = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// The words of a question.
pub(super) fn question(asked: &ElicitRequestParams) -> String {
    let value = serde_json::to_value(asked).unwrap_or_default();
    let said = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    one_line(&[said("message"), said("url")].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

impl ClientHandler for Ear {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(question(&request));
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed();
    }

    fn get_info(&self) -> ClientConfig {
        Ear::client()
    }
}
