//! Search over the catalog: BM25F, fields weighted, ties by id.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Entry, Snapshot};

/// How much a word counts where it stands.
const NAME: f64 = 4.0;
const HINT: f64 = 3.0;
const TAG: f64 = 2.0;
const DESCRIPTION: f64 = 1.0;

/// How fast more of the same word stops counting, and how much long texts are held against.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.6;

/// An index over the contracts of one snapshot.
pub struct Index {
    entries: Vec<Arc<Entry>>,
    lengths: Vec<f64>,
    average: f64,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Index {
    /// Indexes a snapshot.
    pub fn new(snapshot: &Snapshot) -> Index {
        let entries: Vec<Arc<Entry>> = snapshot.entries().cloned().collect();
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let mut weights: HashMap<String, f64> = HashMap::new();
            for (text, weight) in fields(entry) {
                for word in words(&text) {
                    *weights.entry(word).or_default() += weight;
                }
            }
            lengths.push(weights.values().sum::<f64>());
            for (word, weight) in weights {
                postings.entry(word).or_default().push((at, weight));
            }
        }
        let average = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Index { entries, lengths, average, postings }
    }

    /// The contracts that a question is about, best first, with their scores.
    pub fn search(&self, question: &str) -> Vec<(Arc<Entry>, f64)> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in words(question) {
            let Some(postings) = self.postings.get(&word) else { continue };
            let count = self.entries.len() as f64;
            let rarity =
                (1.0 + (count - postings.len() as f64 + 0.5) / (postings.len() as f64 + 0.5)).ln();
            for (at, weight) in postings {
                let length = self.lengths.get(*at).copied().unwrap_or(self.average);
                let damped = weight / (1.0 - LENGTH + LENGTH * length / self.average.max(1.0));
                *scores.entry(*at).or_default() += rarity * damped / (SATURATION + damped);
            }
        }
        let mut found: Vec<(Arc<Entry>, f64)> = scores
            .into_iter()
            .filter_map(|(at, score)| Some((self.entries.get(at)?.clone(), score)))
            .collect();
        found.sort_by(|(a, one), (b, other)| {
            other.total_cmp(one).then_with(|| a.contract.key().cmp(b.contract.key()))
        });
        found
    }
}

fn fields(entry: &Entry) -> Vec<(String, f64)> {
    let tool = &entry.contract.tool;
    let mut fields = vec![
        (tool.key.id.to_string(), NAME),
        (tool.name.to_string(), NAME),
        (tool.extras.aliases.join(" "), NAME),
        (tool.extras.title.clone().unwrap_or_default(), NAME),
        (tool.extras.search_hint.clone().unwrap_or_default(), HINT),
        (tool.tags.join(" "), TAG),
        (tool.description.to_string(), DESCRIPTION),
    ];
    if let Some(action) = &entry.contract.action {
        fields.push((action.id.to_string(), TAG));
    }
    fields
}

/// Lowercase words without their commonest endings, so that `charges` finds `charge`.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(|word| {
            let word = word.to_lowercase();
            let stem = ["ing", "es", "ed", "s", "e"]
                .into_iter()
                .find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() > 2));
            stem.map(str::to_owned).unwrap_or(word)
        })
        .collect()
}
