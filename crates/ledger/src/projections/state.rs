//! Projections: all derived lists at once, as the in-memory store keeps them and a rebuild yields
//! them.

use std::collections::{BTreeMap, HashMap};

use haft_model::{
    Digest, EffectState, Intent, InvocationId, KeySource, QuestionId, QuestionState,
    StandingAnswer, Token, TokenId, ToolKey,
};

use super::{Changes, ProjectionChange, RunChange, Start};
use crate::{OpenUndoing, QuestionFilter, QuestionRecord, Run, RunFilter, Use, UseFilter};

/// Default page size of runs.
pub(crate) const USUAL: usize = 50;

/// The derived lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Projections {
    /// In the order in which they came in.
    pub(crate) runs: Vec<Run>,
    run_at: HashMap<InvocationId, usize>,
    /// In the order in which they were asked.
    pub(crate) questions: Vec<QuestionRecord>,
    question_at: HashMap<QuestionId, usize>,
    pub(crate) standing: BTreeMap<QuestionId, StandingAnswer>,
    pub(crate) tokens: BTreeMap<TokenId, Token>,
    pub(crate) declared: BTreeMap<String, Digest>,
    /// The calls that carry out intents, by intent digest.
    pub(crate) intents: BTreeMap<Digest, BoundIntent>,
    /// Open compensations: the compensating call by the original call.
    pub(crate) undoings: BTreeMap<InvocationId, InvocationId>,
    /// In the order of the log.
    pub(crate) uses: Vec<Use>,
}

/// An intent, and the call that carries it out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundIntent {
    /// Sequence number of the binding entry.
    pub(crate) seq: u64,
    pub(crate) invocation: InvocationId,
    pub(crate) intent: Intent,
}

impl Projections {
    /// The lists with these runs and questions.
    pub(crate) fn with(runs: Vec<Run>, questions: Vec<QuestionRecord>) -> Projections {
        let run_at = runs.iter().map(|run| run.invocation_id.clone()).zip(0..).collect();
        let ids = questions.iter().map(|record| record.question.id.clone());
        let question_at = ids.zip(0..).collect();
        Projections { runs, run_at, questions, question_at, ..Projections::default() }
    }

    /// Applies the changes of an entry.
    pub(crate) fn apply(&mut self, seq: u64, invocation: Option<&InvocationId>, changes: &Changes) {
        if let (Some(id), Some(change)) = (invocation, &changes.run) {
            self.apply_run(id, change);
        }
        if let Some(id) = invocation {
            changes.starts.iter().for_each(|start| self.apply_start(seq, id, start));
        }
        for change in &changes.others {
            self.apply_other(seq, change);
        }
    }

    fn apply_run(&mut self, id: &InvocationId, change: &RunChange) {
        if let Some(began) = &change.began
            && !self.run_at.contains_key(id)
        {
            self.run_at.insert(id.clone(), self.runs.len());
            self.runs.push(began.as_ref().clone());
        }
        if let Some(run) = self.run_at.get(id).and_then(|at| self.runs.get_mut(*at)) {
            change.apply(run);
        }
    }

    fn apply_start(&mut self, seq: u64, id: &InvocationId, start: &Start) {
        let Some(run) = self.run(id) else { return };
        let Start { at, started } = start;
        self.uses.push(Use {
            seq,
            invocation: id.clone(),
            attempt: started.attempt,
            at: *at,
            tool: run.tool_id.clone(),
            driver: started.driver.clone(),
            actor: run.actor.clone(),
            tenant: run.tenant.clone(),
            charge: started.charge.clone(),
        });
    }

    fn apply_other(&mut self, seq: u64, change: &ProjectionChange) {
        match change {
            ProjectionChange::Asked(question) => {
                if !self.question_at.contains_key(&question.id) {
                    self.question_at.insert(question.id.clone(), self.questions.len());
                    self.questions.push(QuestionRecord {
                        question: question.as_ref().clone(),
                        state: QuestionState::Open,
                        answers: Vec::new(),
                    });
                }
            }
            ProjectionChange::Answered(answer) => {
                if let Some(record) = self.question_mut(&answer.question) {
                    record.answers.push(answer.as_ref().clone());
                    if !answer.approves && record.state == QuestionState::Open {
                        record.state = QuestionState::Rejected;
                    }
                }
            }
            ProjectionChange::Settled(id, state) => {
                let open = |record: &&mut QuestionRecord| record.state == QuestionState::Open;
                if let Some(record) = self.question_mut(id).filter(open) {
                    record.state = *state;
                }
            }
            ProjectionChange::Stands(answer) => {
                self.standing.insert(answer.id.clone(), answer.clone());
            }
            ProjectionChange::Revoked(id) => {
                self.standing.remove(id);
            }
            ProjectionChange::Issued(token) => {
                self.tokens.insert(token.id.clone(), token.as_ref().clone());
            }
            ProjectionChange::TokenRevoked(id) => {
                self.tokens.remove(id);
            }
            ProjectionChange::Declared(tool, digest) => {
                self.declared.insert(tool.clone(), digest.clone());
            }
            // Delivery is in no fact, so no projection of facts has it.
            ProjectionChange::Bound(_, intent) if intent.source == KeySource::Intent => {}
            ProjectionChange::Bound(id, intent) => {
                let bound =
                    BoundIntent { seq, invocation: id.clone(), intent: intent.as_ref().clone() };
                self.intents.insert(intent.intent.clone(), bound);
            }
            ProjectionChange::Undoing(OpenUndoing { original, by }) => {
                self.undoings.insert(original.clone(), by.clone());
            }
            ProjectionChange::UndoingOver(OpenUndoing { original, by }) => {
                if self.undoings.get(original) == Some(by) {
                    self.undoings.remove(original);
                }
            }
        }
    }

    fn question_mut(&mut self, id: &QuestionId) -> Option<&mut QuestionRecord> {
        self.question_at.get(id).and_then(|at| self.questions.get_mut(*at))
    }

    /// One run.
    pub(crate) fn run(&self, id: &InvocationId) -> Option<&Run> {
        self.run_at.get(id).and_then(|at| self.runs.get(*at))
    }

    /// One question.
    pub(crate) fn question(&self, id: &QuestionId) -> Option<&QuestionRecord> {
        self.question_at.get(id).and_then(|at| self.questions.get(*at))
    }

    /// The runs that match a filter, newest first. Before an unknown run there are none.
    pub(crate) fn runs(&self, filter: &RunFilter) -> Vec<Run> {
        let end = match &filter.before {
            Some(before) => self.run_at.get(before).copied().unwrap_or(0),
            None => self.runs.len(),
        };
        let older = self.runs.iter().take(end).rev();
        older.filter(|run| wanted(run, filter)).take(most(filter)).cloned().collect()
    }

    /// The questions that match a filter, oldest first.
    pub(crate) fn questions(&self, filter: &QuestionFilter) -> Vec<QuestionRecord> {
        let wanted = |record: &&QuestionRecord| {
            let bound = &record.question.bound;
            filter.id.as_ref().is_none_or(|id| *id == record.question.id)
                && filter.invocation.as_ref().is_none_or(|id| *id == bound.invocation)
                && filter.tenant.as_ref().is_none_or(|tenant| *tenant == bound.tenant)
                && (!filter.open || record.state == QuestionState::Open)
        };
        self.questions.iter().filter(wanted).cloned().collect()
    }

    /// The attempts that match a filter, in log order.
    pub(crate) fn uses(&self, filter: &UseFilter) -> Vec<Use> {
        let wanted = |used: &&Use| {
            used.at >= filter.since
                && filter.actor.as_ref().is_none_or(|actor| *actor == used.actor)
                && filter.tenant.as_ref().is_none_or(|tenant| *tenant == used.tenant)
        };
        let from = match filter.after {
            Some(after) => self.uses.partition_point(|used| used.seq <= after),
            None => 0,
        };
        self.uses.iter().skip(from).filter(wanted).cloned().collect()
    }
}

/// Page size of a filter.
pub(crate) fn most(filter: &RunFilter) -> usize {
    if filter.most == 0 { USUAL } else { filter.most }
}

/// A tool's id without its major version.
pub(crate) fn bare(tool: &str) -> &str {
    ToolKey::split(tool).0
}

fn wanted(run: &Run, filter: &RunFilter) -> bool {
    let named = |tool: &String| *tool == run.tool_id || *tool == bare(&run.tool_id);
    filter.id.as_ref().is_none_or(|id| *id == run.invocation_id)
        && filter.tenant.as_ref().is_none_or(|tenant| *tenant == run.tenant)
        && filter.tool.as_ref().is_none_or(named)
        && filter.actor.as_ref().is_none_or(|actor| *actor == run.actor)
        && (filter.status.is_empty() || filter.status.contains(&run.status))
        && (!filter.open || run.ended_at.is_none())
        && (!filter.unknown || run.effect_state == EffectState::Unknown)
}
