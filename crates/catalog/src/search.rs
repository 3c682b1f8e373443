//! Catalog search by words (BM25F): no model, no file, and no learning from past queries.
//!
//! A [`WordIndex`] ranks texts, and an [`Index`] the contracts of a snapshot. Both are built whole
//! and never change; a few thousand contracts take some tens of milliseconds, so a caller with many
//! builds the index at the first query. The same catalog and query always give the same answer.

mod answer;
mod postings;
mod rank;
mod spelling;
mod synonyms;
mod words;

use std::sync::Arc;

use haft_contract::Contract;
use serde_json::Value as Json;

use crate::{CatalogEntry, Snapshot};
pub use answer::{Match, SearchResult};
use postings::Postings;

/// The searchable text of one tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text<'t> {
    /// The tool's name: `create_issue`.
    pub name: &'t str,
    /// The provider's name: `github`.
    pub namespace: &'t str,
    /// Titles, other names, tags, and search hints.
    pub hints: &'t str,
    /// The tool's description.
    pub description: &'t str,
    /// The names of the inputs.
    pub parameters: &'t str,
    /// The descriptions of the inputs.
    pub parameter_texts: &'t str,
}

impl<'t> Text<'t> {
    fn fields(self) -> [&'t str; 6] {
        let Text { name, namespace, hints, description, parameters, parameter_texts } = self;
        [name, namespace, hints, description, parameters, parameter_texts]
    }
}

/// One search hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<T> {
    /// The document that was found.
    pub found: T,
    /// Relevance, relative to the other hits of the same answer; the best has about one.
    pub score: f32,
    /// The query words that matched.
    pub words: Vec<String>,
}

/// An index over texts.
#[derive(Debug, Default)]
pub struct WordIndex {
    postings: Postings,
}

impl WordIndex {
    /// Indexes texts.
    pub fn new<'t>(texts: impl IntoIterator<Item = Text<'t>>) -> WordIndex {
        WordIndex { postings: Postings::new(texts.into_iter()) }
    }

    /// How much memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.postings.bytes()
    }

    /// The texts that a question is about, by the number in which they came, best first.
    pub fn rank(
        &self,
        question: &str,
        most: usize,
        may_be_shown: impl Fn(usize) -> bool,
    ) -> Vec<Hit<usize>> {
        rank::rank(&self.postings, question, most, |place| may_be_shown(place as usize))
            .into_iter()
            .map(|found| Hit {
                found: found.place as usize,
                score: found.score,
                words: found.words,
            })
            .collect()
    }
}

/// An index over the contracts of one snapshot.
pub struct Index {
    entries: Vec<Arc<CatalogEntry>>,
    words: WordIndex,
}

impl Index {
    /// Indexes a snapshot.
    pub fn new(snapshot: &Snapshot) -> Index {
        let entries: Vec<Arc<CatalogEntry>> = snapshot.entries().cloned().collect();
        let texts: Vec<OwnedTexts> =
            entries.iter().map(|entry| OwnedTexts::of(&entry.contract)).collect();
        let words =
            WordIndex::new(entries.iter().zip(&texts).map(|(entry, text)| text.with(entry)));
        Index { entries, words }
    }

    /// The contracts that a question is about and that may be shown, best first.
    pub fn search(
        &self,
        question: &str,
        most: usize,
        may_be_shown: impl Fn(&CatalogEntry) -> bool,
    ) -> Vec<Hit<Arc<CatalogEntry>>> {
        let shown = |at: usize| self.entries.get(at).is_some_and(|entry| may_be_shown(entry));
        let hits = self.words.rank(question, most, shown).into_iter();
        hits.filter_map(|Hit { found, score, words }| {
            Some(Hit { found: self.entries.get(found)?.clone(), score, words })
        })
        .collect()
    }
}

/// The texts of a contract that are put together of several.
struct OwnedTexts {
    hints: String,
    parameters: String,
    parameter_texts: String,
}

impl OwnedTexts {
    fn of(contract: &Contract) -> OwnedTexts {
        let (tool, extras) = (&contract.tool, &contract.tool.extras);
        let mut hints = vec![&*tool.name];
        hints
            .extend([extras.title.as_deref(), extras.search_hint.as_deref()].into_iter().flatten());
        hints.extend(extras.aliases.iter().chain(&tool.tags).map(String::as_str));
        hints.extend(contract.action.iter().map(|action| action.id.as_str()));
        let properties = tool.inputs.get("properties").and_then(Json::as_object);
        let shown =
            properties.into_iter().flatten().filter(|(name, _)| !contract.internal.contains(*name));
        let (names, texts): (Vec<&str>, Vec<&str>) = shown
            .map(|(name, schema)| {
                (
                    name.as_str(),
                    schema.get("description").and_then(Json::as_str).unwrap_or_default(),
                )
            })
            .unzip();
        OwnedTexts {
            hints: hints.join(" . "),
            parameters: names.join(" "),
            parameter_texts: texts.join(" "),
        }
    }

    fn with<'t>(&'t self, entry: &'t CatalogEntry) -> Text<'t> {
        let id = entry.contract.key().id.as_str();
        let (namespace, name) = id.rsplit_once('.').unwrap_or(("", id));
        Text {
            name,
            namespace,
            hints: &self.hints,
            description: &entry.contract.tool.description,
            parameters: &self.parameters,
            parameter_texts: &self.parameter_texts,
        }
    }
}
