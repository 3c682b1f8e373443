//! HTTP exchange: sends the requests of one call, handles redirects, cancellation and timeout, and
//! derives the effect state from how far the request got.

use std::sync::{Arc, OnceLock};

use haft_driver::{Attempt, Failure, Link, Output};
use haft_model::{Code, EffectState, Plan, Stop};
use haft_sandbox::CheckedUrl;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::json;

use super::answer::{self, ResponsePage};
use super::egress_allowlist::{self, same_host};
use super::operation::Operation;
use super::parts::UploadFiles;
use super::request::{Draft, PageRequest, RequestInput};
use super::secrets::Secrets;
use super::{Http, is_write, pages};
use crate::failure::{called_off, late, late_after_sending, running, unsent, while_running};
use crate::web::{
    ConnectRoute, HttpResponse, MOST_REDIRECTS, Outgoing, RequestFailure, SendStage, Sending,
    SubmissionPoint,
};

/// An HTTP call in flight.
pub(super) struct Exchange<'a> {
    http: &'a Http,
    pub(super) operation: &'a Operation,
    attempt: &'a Attempt<'a>,
    sending: Arc<Sending>,
    /// Opened once per call, for its first request.
    secrets: OnceLock<Secrets>,
}

impl<'a> Exchange<'a> {
    /// The id of the driver.
    pub(super) fn driver(&self) -> &str {
        self.attempt.plan.route.driver.as_str()
    }

    pub(super) fn new(
        http: &'a Http,
        operation: &'a Operation,
        attempt: &'a Attempt<'a>,
    ) -> Exchange<'a> {
        let sending = match is_write(operation, attempt.plan) {
            true => Sending::announced(attempt.link.clone()),
            false => Sending::silent(),
        };
        let (sending, secrets) = (Arc::new(sending), OnceLock::new());
        Exchange { http, operation, attempt, sending, secrets }
    }

    pub(super) async fn carry_out(&self) -> Result<Output, Failure> {
        let ended = tokio::select! {
            biased;
            ended = self.carried_out() => ended,
            () = self.attempt.cancel.cancelled() => {
                self.attempt.link.cancel_heard().await;
                Err(self.cut_short(called_off()))
            }
            () = tokio::time::sleep_until(self.attempt.deadline.into()) => Err(self.out_of_time()),
        };
        ended.map_err(|failure| self.sending.unrecorded().unwrap_or(failure))
    }

    async fn carried_out(&self) -> Result<Output, Failure> {
        match &self.operation.pages {
            // Boxed, because pagination is rare and would enlarge the future of each call.
            Some(pages) => Box::pin(pages::collected(self, pages)).await,
            None => self.page(&PageRequest::default()).await?.output(self),
        }
    }

    /// The workspace and the guard for file uploads.
    fn files(&self) -> UploadFiles {
        UploadFiles { root: self.http.files.clone(), guard: self.attempt.guard.clone() }
    }

    /// Checks a URL against the target guard right before the request.
    fn held(&self, url: &CheckedUrl) -> Result<(), Failure> {
        self.attempt.guard.url(url.as_str()).map_err(|stop| self.cut_short(stop))
    }

    /// Requests one page, or the only response of a call without pagination.
    pub(super) async fn page(&self, asked: &PageRequest) -> Result<ResponsePage, Failure> {
        let request = self.request(asked).await?;
        self.held(&request.url)?;
        if let Some(pace) = &self.http.manifest.pace {
            let turn = pace.turn(self.attempt.deadline.into()).await;
            turn.map_err(|stop| self.cut_short(stop))?;
        }
        match is_write(self.operation, self.plan()) {
            true => self.written(request).await,
            false => self.looked_up(request, asked).await,
        }
    }

    async fn request(&self, asked: &PageRequest) -> Result<Outgoing, Failure> {
        let refused = |stop| unsent(while_running(stop));
        let secrets = match self.secrets.get() {
            Some(opened) => opened,
            None => {
                if !self.operation.secrets.is_empty() {
                    // No secret is opened for a request that cannot be sent.
                    self.http.looked_at(self.plan()).map_err(refused)?;
                }
                let opened = Secrets::open(&self.attempt.safe, self.operation).await?;
                self.secrets.get_or_init(|| opened)
            }
        };
        let (plan, key) = (self.plan(), self.attempt.key.as_deref());
        let given = RequestInput { plan, key, secrets, asked };
        let draft = Draft::of(&self.http.manifest, self.operation, &given).map_err(refused)?;
        let mut request = draft.ready(|| self.files()).await.map_err(unsent)?;
        for (name, value) in self.attempt.trace_fields() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                // A header that the driver sets takes precedence.
                request.headers.entry(name).or_insert(value);
            }
        }
        Ok(request)
    }

    async fn written(&self, request: Outgoing) -> Result<ResponsePage, Failure> {
        let host = request.url.host().to_owned();
        let way = self.way(self.operation.submitted);
        let answered = match self.operation.submitted {
            SubmissionPoint::OnConnect => Box::pin(way.send(&request)).await,
            SubmissionPoint::OnWrite => self.http.writes.send(way, &request).await,
        };
        match answered {
            Ok(answer) => answer::page(self, &host, answer).await,
            Err(fault) => Err(self.unanswered(fault, &host)),
        }
    }

    /// Sends a read and follows redirects to hosts that the egress allowlist covers.
    async fn looked_up(
        &self,
        mut request: Outgoing,
        asked: &PageRequest,
    ) -> Result<ResponsePage, Failure> {
        let mut at_home = true;
        for _ in 0..=MOST_REDIRECTS {
            let from = request.url.clone();
            let answer = self.read(request).await;
            let answer = answer.map_err(|fault| self.unanswered(fault, from.host()))?;
            let Some(place) = answer.elsewhere() else {
                return answer::page(self, from.host(), answer).await;
            };
            let url = self.next(&from, &place).map_err(|stop| self.cut_short(stop))?;
            self.held(&url)?;
            // A redirect to another host drops all headers, and so does every redirect after it.
            at_home &= same_host(&from, &url);
            let headers = match at_home {
                true => Box::pin(self.request(asked)).await?.headers,
                false => HeaderMap::new(),
            };
            request = Outgoing { headers, ..Outgoing::get(url) };
        }
        let words = format!("the answer points elsewhere more than {MOST_REDIRECTS} times");
        Err(self.cut_short(running(Code::ExecutionFailed, words)))
    }

    /// Sends one read; only requests to the driver's own host use the connection pool.
    async fn read(&self, request: Outgoing) -> Result<HttpResponse<'_>, RequestFailure> {
        let manifest = &*self.http.manifest;
        let own = manifest.base().is_ok_and(|base| same_host(base, &request.url));
        match own {
            true => {
                // A pooled connection does not report its first byte, so count the request as sent
                // from here on.
                self.sending.begin().await.map_err(|_| RequestFailure::Gone)?;
                self.http.reads.send(&manifest.guard, self.http.lookup, request).await
            }
            false => Box::pin(self.way(SubmissionPoint::OnWrite).send(&request)).await,
        }
    }

    /// Resolves a redirect, and refuses one off the egress allowlist or from HTTPS to plain HTTP.
    fn next(&self, from: &CheckedUrl, place: &str) -> Result<CheckedUrl, Stop> {
        let manifest = &*self.http.manifest;
        let url = manifest.guard.check_next(from, place);
        let url = url.map_err(|forbidden| while_running(egress_allowlist::refused(&forbidden)))?;
        egress_allowlist::check(&url, &manifest.egress, self.plan()).map_err(while_running)?;
        if url.is_plain() && !from.is_plain() {
            let words = format!("the answer points to `{}`, which is not encrypted", url.host());
            return Err(running(Code::SandboxViolation, words));
        }
        Ok(url)
    }

    fn way(&self, submitted: SubmissionPoint) -> ConnectRoute<'_> {
        let (guard, lookup) = (&self.http.manifest.guard, self.http.lookup);
        ConnectRoute { guard, lookup, sending: &self.sending, submitted }
    }

    pub(super) fn plan(&self) -> &Plan {
        self.attempt.plan
    }

    pub(super) fn link(&self) -> &Link {
        &self.attempt.link
    }

    pub(super) fn now(&self) -> haft_model::Timestamp {
        (self.http.clock)()
    }

    /// The effect state of a write; `EffectState::None` for a call that cannot mutate.
    pub(super) fn effect(&self, known: EffectState) -> EffectState {
        if self.plan().effects.may_mutate() { known } else { EffectState::None }
    }

    /// The effect state of a call that ends at this stage.
    fn effect_so_far(&self) -> EffectState {
        self.effect(self.sending.effect())
    }

    /// The failure of a call that ends at this stage.
    pub(super) fn cut_short(&self, stop: Stop) -> Failure {
        let native = match self.sending.stage() {
            SendStage::Answered(status) => vec![json!({"source": "http", "status": status})],
            SendStage::Unsent
            | SendStage::Announced
            | SendStage::Sent
            | SendStage::InputRequired => Vec::new(),
        };
        Failure { native, ..Failure::new(stop, self.effect_so_far()) }
    }

    fn out_of_time(&self) -> Failure {
        let stop = match (self.effect_so_far(), self.sending.stage()) {
            (EffectState::Committed, SendStage::Answered(status)) => running(
                Code::OutputInvalid,
                format!(
                    "it was answered with {status}, and time ran out before the whole answer was there"
                ),
            ),
            (_, SendStage::Unsent | SendStage::Announced) => late(),
            (_, SendStage::Sent | SendStage::Answered(_) | SendStage::InputRequired) => {
                late_after_sending("time ran out before the whole answer was there")
            }
        };
        self.cut_short(stop)
    }

    fn unanswered(&self, fault: RequestFailure, host: &str) -> Failure {
        let unreachable = |words: String| running(Code::DependencyUnavailable, words);
        self.cut_short(match fault {
            RequestFailure::Unknown => unreachable(format!("`{host}` cannot be looked up")),
            RequestFailure::Unreachable | RequestFailure::Gone => {
                unreachable(format!("`{host}` cannot be reached"))
            }
            RequestFailure::Broken => {
                unreachable(format!("the connection to `{host}` broke before it answered"))
            }
            RequestFailure::Forbidden(forbidden) => {
                while_running(egress_allowlist::refused(&forbidden))
            }
            RequestFailure::Stopped(stop) => stop,
            RequestFailure::Unready | RequestFailure::Unrecorded => {
                running(Code::Internal, "the http client could not be set up")
            }
        })
    }
}

pub(super) fn is_success(status: u16) -> bool {
    StatusCode::from_u16(status).is_ok_and(|status| status.is_success())
}
