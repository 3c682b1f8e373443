//! Search result: matches, missing names, pending providers and the next action, without any
//! schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_contract::did_you_mean;
use haft_model::{DriverId, Lifecycle, ToolKey};
use serde_json::{Map, Value as Json, json};

use super::{Hit, Index, words};
use crate::surface::{Provider, View, ViewRow, Visibility};
use crate::{CatalogEntry, Snapshot};

/// The prefix of a query for exact names.
const SELECT: &str = "select:";

/// How many unknown names get a suggestion.
const SUGGESTIONS: usize = 10;

/// The length of a short description, in characters.
const SHORT: usize = 200;

/// The result of a search (`tool_search_result`).
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The query as written.
    pub query: String,
    /// Whether the query lists exact names.
    pub exact: bool,
    /// The matches, best first, or in the order of the names.
    pub matches: Vec<Match>,
    /// How many tools there are whose schemas are not loaded.
    pub total_deferred_tools: usize,
    /// Names that are unknown here, each with the nearest known one.
    pub missing_names: Vec<(String, Option<String>)>,
    /// Providers that are unavailable.
    pub pending_providers: Vec<(DriverId, Provider)>,
    /// The next action, as a stable word for machines.
    pub next_action: &'static str,
    /// Why nothing was found, as a stable word for machines.
    pub no_match_reason: Option<&'static str>,
}

/// One tool that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Its id and major.
    pub tool: ToolKey,
    /// The name that clients and models call it by.
    pub name: Arc<str>,
    /// Its title for people.
    pub title: String,
    /// The beginning of its description.
    pub description: String,
    /// Relevance, relative to the other matches; one for an exact name.
    pub score: f32,
    /// The query words that matched.
    pub words: Vec<String>,
    /// The tool's visibility.
    pub shown: Visibility,
}

impl View {
    /// The tool of a name, if it is known here.
    pub fn find(&self, name: &str, snapshot: &Snapshot) -> Option<&ViewRow> {
        self.get(self.surface().find(name, snapshot).ok()?.contract.key())
    }

    /// Answers a search among what is seen: `select:name,name`, or words.
    pub fn search(
        &self,
        query: &str,
        index: &Index,
        snapshot: &Snapshot,
        most: usize,
    ) -> SearchResult {
        let names = query.trim_start().strip_prefix(SELECT);
        let mut answer = SearchResult {
            query: query.to_owned(),
            exact: names.is_some(),
            matches: Vec::new(),
            total_deferred_tools: self.counts()[1],
            missing_names: Vec::new(),
            pending_providers: self
                .missing_providers()
                .iter()
                .map(|(id, why)| (id.clone(), *why))
                .collect(),
            next_action: "",
            no_match_reason: None,
        };
        match names {
            Some(names) => self.select(names, snapshot, &mut answer),
            None => {
                let hits = index.search(query, most, |entry| self.may_be_found(entry));
                answer.matches = hits.into_iter().filter_map(|hit| self.matched(hit)).collect();
            }
        }
        answer.no_match_reason = answer.matches.is_empty().then(|| match names {
            Some(_) => "unknown_names",
            None if self.rows().all(|row| !self.may_be_found(&row.entry)) => "nothing_on_surface",
            None if words::words(query).is_empty() => "no_words",
            None => "nothing_matches",
        });
        answer.next_action = next_action(&answer);
        answer
    }

    fn select(&self, names: &str, snapshot: &Snapshot, answer: &mut SearchResult) {
        let mut had = BTreeSet::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match self.find(name, snapshot) {
                Some(row) if had.insert(row.entry.contract.key()) => {
                    answer.matches.push(Match::of(row, 1.0, vec![name.to_owned()]));
                }
                Some(_) => {}
                None => {
                    let few = answer.missing_names.len() < SUGGESTIONS;
                    let near = few.then(|| self.nearest(name, snapshot)).flatten();
                    answer.missing_names.push((name.to_owned(), near));
                }
            }
        }
    }

    fn nearest(&self, name: &str, snapshot: &Snapshot) -> Option<String> {
        let known = self.rows().filter(|row| self.may_be_found(&row.entry));
        let ids = known.map(|row| row.entry.contract.key().id.as_str());
        did_you_mean(name, ids).map(|near| snapshot.spelled_like(name, near).to_owned())
    }

    fn matched(&self, Hit { found, score, words }: Hit<Arc<CatalogEntry>>) -> Option<Match> {
        Some(Match::of(self.get(found.contract.key())?, score, words))
    }

    /// Whether words may match a tool: a hidden tool, or one that no caller should newly select,
    /// has to be named.
    fn may_be_found(&self, entry: &CatalogEntry) -> bool {
        let shown = self.get(entry.contract.key()).map(|row| row.shown);
        matches!(shown, Some(Visibility::Loaded | Visibility::Deferred | Visibility::Pending))
            && entry.lifecycle(self.today) != Lifecycle::Deprecated
    }
}

impl Match {
    fn of(row: &ViewRow, score: f32, words: Vec<String>) -> Match {
        let contract = &row.entry.contract;
        Match {
            tool: contract.key().clone(),
            name: row.name.clone(),
            title: contract.title().to_owned(),
            description: beginning(&contract.tool.description),
            score,
            words,
            shown: row.shown,
        }
    }
}

fn next_action(answer: &SearchResult) -> &'static str {
    let any = |wanted: Visibility| answer.matches.iter().any(|found| found.shown == wanted);
    if any(Visibility::Deferred) {
        "load_schema_then_call"
    } else if any(Visibility::Loaded) {
        "call"
    } else if any(Visibility::Pending)
        || answer.matches.is_empty() && !answer.pending_providers.is_empty()
    {
        "wait_for_provider"
    } else if answer.matches.is_empty() {
        "search_with_other_words"
    } else {
        "choose_another_tool"
    }
}

/// The first sentence, or as much as is short.
fn beginning(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = text.split_inclusive(". ").next().unwrap_or_default().trim_end();
    match sentence.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", sentence.get(..end).unwrap_or_default().trim_end()),
        None => sentence.to_owned(),
    }
}

impl SearchResult {
    /// The deferred tools that were revealed, for the log.
    pub fn discovered(&self) -> impl Iterator<Item = &ToolKey> {
        let deferred = self.matches.iter().filter(|found| found.shown == Visibility::Deferred);
        deferred.map(|found| &found.tool)
    }

    /// The answer as a record of Agent Tool.
    pub fn record(&self) -> Json {
        let ids: Vec<String> = self.matches.iter().map(|found| found.tool.to_string()).collect();
        let near = self
            .missing_names
            .iter()
            .filter_map(|(name, near)| Some((name.clone(), Json::from(near.clone()?))));
        let near: Map<String, Json> = near.collect();
        let providers = self.pending_providers.iter();
        let mut record = json!({
            "query": self.query,
            "query_type": if self.exact { "select" } else { "keyword" },
            "matches": ids,
            "match_details": self.matches.iter().map(Match::record).collect::<Vec<_>>(),
            "total_deferred_tools": self.total_deferred_tools,
            "missing_names": self.missing_names.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "pending_providers": providers
                .map(|(id, why)| json!({ "provider": id.as_str(), "state": why }))
                .collect::<Vec<_>>(),
            "next_action": self.next_action,
        });
        if let Some(fields) = record.as_object_mut() {
            if !near.is_empty() {
                fields.insert("did_you_mean".to_owned(), near.into());
            }
            if let Some(reason) = self.no_match_reason {
                fields.insert("no_match_reason".to_owned(), reason.into());
            }
        }
        record
    }
}

impl Match {
    fn record(&self) -> Json {
        let mut record = json!({
            "tool_id": self.tool.to_string(),
            "name": &*self.name,
            "title": self.title,
            "description": self.description,
            "score": (f64::from(self.score) * 1000.0).round() / 1000.0,
            "matched_words": self.words,
            "state": self.shown.name(),
        });
        if let (Some(fields), Some(reason)) = (record.as_object_mut(), self.shown.reason()) {
            fields.insert("reason".to_owned(), reason.into());
        }
        record
    }
}
