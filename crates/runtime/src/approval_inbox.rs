//! Approval inbox: lists open questions, checks and records answers, and revokes standing answers.

use haft_catalog::Sender;
use haft_ledger::{Blob, Draft, Guard, QuestionFilter, QuestionRecord, Wait};
use haft_model::{
    Actor, ApprovalAnswer, Code, Digest, Envelope, Event, Fact, Question, QuestionId,
    QuestionState, StandingAnswer, StandingRevoked, Stop, utc_day,
};
use haft_policy::may_answer;
use serde_json::Value;

use crate::recorder::unrecorded;
use crate::redact::put_back;
use crate::validate;
use crate::{RecoveryOutcome, Runtime};

/// An approver's reply to a question.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The approver; the rulebook decides whether this actor may answer.
    pub by: Actor,
    /// `true` approves, `false` rejects.
    pub approves: bool,
    /// Reason of the approver; a rejection without one is refused.
    pub reason: Option<String>,
    /// Input that replaces the one in question; it is validated, and withheld values are restored.
    /// Refused for an elicitation form.
    pub edited_input: Option<Value>,
    /// Content of an elicitation form; refused where the question has no form.
    pub content: Option<Value>,
    /// Whether the approval becomes a standing answer; refused unless it approves a rememberable
    /// question.
    pub always: bool,
    /// The channel of the reply: `terminal`, `inbox`, `console` …
    pub channel: String,
}

/// Outcome of an answer.
#[derive(Debug)]
pub enum AnswerOutcome {
    /// More approvals are needed before the call can go on.
    StillOpen,
    /// The process that holds the call continues it.
    Passed,
    /// No process held the call, so this one took it over and ran it to this envelope.
    CarriedOut(Box<Envelope>),
}

impl Runtime {
    /// Questions that match the filter, oldest first.
    pub async fn questions(&self, filter: &QuestionFilter) -> Result<Vec<QuestionRecord>, Stop> {
        self.store.questions(filter).await.map_err(unrecorded)
    }

    /// Records an answer. Fails where the question has expired, the actor may not answer it, or it
    /// is no longer open.
    pub async fn answer(&self, id: &QuestionId, mut reply: Reply) -> Result<QuestionRecord, Stop> {
        let record = self.question(id, &reply.by).await?;
        let now = self.clock.now();
        let world = self.world();
        let question = &record.question;
        if record.state == QuestionState::Open && now > question.expires_at {
            return Err(Stop::new(Code::ApprovalExpired, format!("`{id}` ran out of time")));
        }
        may_answer(&world.rulebook, question, &record.answers, &reply.by, now).map_err(
            |objection| Stop::new(Code::PermissionDenied, objection.message).help(objection.help),
        )?;
        if let Some(edited) = reply.edited_input.take() {
            reply.edited_input = Some(self.restored(question, edited).await?);
        }
        self.complete(question, &mut reply)?;
        let (draft, answer) = self.draft(question, reply)?;
        self.store.append(draft, Wait::Disk).await.map_err(|fault| match fault {
            haft_ledger::Error::Forbidden(guard) => Stop::new(Code::Conflict, guard.objection())
                .help("`haft approvals` lists open ones"),
            fault => unrecorded(fault),
        })?;
        let mut record = record;
        record.answers.push(answer);
        Ok(record)
    }

    /// Restores the withheld values of an edited input from the recorded original.
    pub async fn restored(&self, question: &Question, mut edited: Value) -> Result<Value, Stop> {
        let bound = &question.bound;
        let kept = self.store.payload(&bound.invocation, &bound.call_input).await;
        let kept = kept.map_err(unrecorded)?.unwrap_or_default();
        let original: Value = serde_json::from_slice(&kept).unwrap_or_default();
        put_back(&mut edited, &question.shown_input, &original)?;
        Ok(edited)
    }

    /// Answers a question, and runs the call here if no other process holds its lease.
    pub async fn answer_and_run(
        &self,
        id: &QuestionId,
        reply: Reply,
    ) -> Result<AnswerOutcome, Stop> {
        let record = self.answer(id, reply).await?;
        let wanted = record.question.needs.iter().map(|needs| needs.count).max().unwrap_or(1);
        let agree = record.answers.iter().filter(|answer| answer.approves).count() as u64;
        if agree < wanted && agree == record.answers.len() as u64 {
            // Too few approvals and no rejection, so there is nothing to resume yet.
            return Ok(AnswerOutcome::StillOpen);
        }
        match self.take_over(&record.question.bound.invocation).await? {
            RecoveryOutcome::Finished(envelope) => Ok(AnswerOutcome::CarriedOut(envelope)),
            RecoveryOutcome::StillWaiting => Ok(AnswerOutcome::StillOpen),
            RecoveryOutcome::Elsewhere => Ok(AnswerOutcome::Passed),
        }
    }

    /// Revokes a standing answer; the actor has to be one who may answer.
    pub async fn revoke(&self, id: &QuestionId, by: &Actor) -> Result<(), Stop> {
        if !by.may_answer() {
            return Err(Stop::new(
                Code::PermissionDenied,
                format!("`{}` may not take answers back", by.id),
            ));
        }
        let revoked = StandingRevoked { id: id.clone(), by: by.id.clone() };
        let mut draft = self.about_house(by, Event::StandingRevoked(revoked));
        draft.guards.push(Guard::Stands(id.clone()));
        self.store.append(draft, Wait::Disk).await.map(|_| ()).map_err(|fault| match fault {
            haft_ledger::Error::Forbidden(guard) => {
                Stop::new(Code::ResourceNotFound, guard.objection())
            }
            fault => unrecorded(fault),
        })
    }

    /// Standing answers of a tenant.
    pub async fn standing_answers(&self, tenant: &str) -> Result<Vec<StandingAnswer>, Stop> {
        self.store.standing(Some(tenant)).await.map_err(unrecorded)
    }

    /// Reads one question of the actor's tenant; a question of another tenant is not found.
    async fn question(&self, id: &QuestionId, by: &Actor) -> Result<QuestionRecord, Stop> {
        let filter = QuestionFilter {
            id: Some(id.clone()),
            tenant: Some(by.tenant.to_string()),
            ..QuestionFilter::default()
        };
        self.questions(&filter).await?.into_iter().next().ok_or_else(|| {
            Stop::new(Code::ResourceNotFound, format!("there is no question `{id}`"))
                .help("`haft approvals` lists those that are open")
        })
    }

    /// Validates a reply: a rejection has a reason, `always` is allowed, form content and edited
    /// input fit.
    fn complete(&self, question: &Question, reply: &mut Reply) -> Result<(), Stop> {
        let reasoned = reply.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
        if !reply.approves && !reasoned {
            return Err(Stop::new(Code::InputValue, "a no needs a reason").help("add --reason"));
        }
        if reply.always && !(reply.approves && question.rememberable) {
            return Err(Stop::new(
                Code::InputValue,
                "this question has to be answered every time, so no answer to it can stand",
            ));
        }
        fitting(question, reply)?;
        let Some(input) = &reply.edited_input else { return Ok(()) };
        let world = self.world();
        let (tool, _) = tool_and_major(&question.bound.tool);
        let entry = world.snapshot.select(&tool, utc_day(self.clock.now()))?;
        validate::parse(entry, input.clone(), Sender::Host).map(|_| ())
    }

    fn draft(&self, question: &Question, reply: Reply) -> Result<(Draft, ApprovalAnswer), Stop> {
        let at = self.clock.now();
        let edited = reply.edited_input.as_ref().map(haft_model::canonical);
        let (tool, _) = tool_and_major(&question.bound.tool);
        let edited = match edited {
            None => None,
            Some(bytes) => {
                // The input runs with its defaults, so the approval is bound to the digest with
                // defaults.
                let value = serde_json::from_slice(&bytes).unwrap_or_default();
                let world = self.world();
                let entry = world.snapshot.select(&tool, utc_day(at))?;
                let whole = haft_model::canonical(&validate::parse(entry, value, Sender::Host)?);
                Some(Blob { digest: Digest::of_bytes(&whole), bytes: whole, sensitive: true })
            }
        };
        let content = reply.content.as_ref().map(haft_model::canonical);
        let content =
            content.map(|bytes| Blob { digest: Digest::of_bytes(&bytes), bytes, sensitive: true });
        let answer = ApprovalAnswer {
            question: question.id.clone(),
            by: reply.by.id.clone(),
            speaking: reply.by.speaking.clone(),
            roles: reply.by.roles.iter().map(|role| format!("{role:?}").to_lowercase()).collect(),
            approves: reply.approves,
            reason: reply.reason,
            edited_input: edited.as_ref().map(|blob| blob.digest.clone()),
            content: content.as_ref().map(|blob| blob.digest.clone()),
            always: reply.always,
            channel: reply.channel,
            at,
        };
        let mut facts = vec![self.fact(Event::Answered(Box::new(answer.clone())))];
        if reply.always {
            facts.push(self.fact(Event::StandingGiven(StandingAnswer {
                id: question.id.clone(),
                actor: question.bound.actor.clone(),
                tenant: question.bound.tenant.clone(),
                tool,
                effects: question.bound.effects.clone(),
                by: reply.by.id.clone(),
                at,
            })));
        }
        let draft = Draft {
            invocation: Some(question.bound.invocation.clone()),
            actor: Some(reply.by),
            subject: Some(question.bound.tool.clone()),
            facts,
            blobs: edited.into_iter().chain(content).collect(),
            guards: vec![Guard::Unanswered {
                question: question.id.clone(),
                answered_by: answer.by.to_string(),
                at,
            }],
            ..Draft::default()
        };
        Ok((draft, answer))
    }

    pub(crate) fn fact(&self, event: Event) -> Fact {
        Fact { at: self.clock.now(), phases: Vec::new(), event }
    }
}

/// Checks form content against the question: a form takes content and no edit, other questions take
/// no content.
fn fitting(question: &Question, reply: &mut Reply) -> Result<(), Stop> {
    let unfit = |words: &str, help: &str| Err(Stop::new(Code::InputValue, words).help(help));
    match &question.form {
        Some(_) if reply.edited_input.is_some() => {
            unfit("the call runs already, so its input cannot be edited", "fill in `--field`s")
        }
        Some(form) if reply.approves => {
            reply.content = Some(form.check(reply.content.take())?);
            Ok(())
        }
        Some(_) | None if reply.content.is_none() => Ok(()),
        Some(_) => unfit("a no fills in nothing", "leave the fields out"),
        None => {
            unfit("this question has no fields", "approve it without them, or with an `--edit`")
        }
    }
}

/// `id@1.2.3` as `id@1`, and its major version; a tool without a version counts as major 0.
pub(crate) fn tool_and_major(tool: &str) -> (String, String) {
    let (id, version) = tool.rsplit_once('@').unwrap_or((tool, "0"));
    let major = version.split('.').next().unwrap_or("0");
    (format!("{id}@{major}"), major.to_owned())
}
