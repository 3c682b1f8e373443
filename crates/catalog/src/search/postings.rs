//! Inverted index: the postings of each word, with their weights.

use std::collections::HashMap;

use super::Text;
use super::words::{Word, words};

/// BM25's saturation: how fast repetitions of a word stop counting.
const SATURATION: f64 = 0.9;

/// The fields of a text: the weight of a word there, and the length normalisation.
const FIELDS: [(f64, f64); 6] = [NAME, (1.0, 0.3), (3.0, 0.5), (2.0, 0.5), (0.5, 0.6), (0.3, 0.6)];
const NAME: (f64, f64) = (4.0, 0.4);

/// A number for a word; the words are in the order of their numbers.
pub(super) type Term = u32;
/// A number for a text, in the order in which they came.
pub(super) type DocumentNumber = u32;

/// The inverted index of many documents, in a few long lists.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// All stems, one after the other in the order of the alphabet.
    stems: String,
    stem_ends: Vec<u32>,
    /// The postings: documents of each word with its weight there, word after word.
    places: Vec<(DocumentNumber, f32)>,
    place_ends: Vec<u32>,
    /// The words of each text's name, text after text.
    names: Vec<Term>,
    name_ends: Vec<u32>,
}

impl Postings {
    pub(super) fn new<'t>(texts: impl Iterator<Item = Text<'t>>) -> Postings {
        let mut known: HashMap<String, Term> = HashMap::new();
        let mut number = |word: Word| {
            let next = known.len() as Term;
            *known.entry(word.stem).or_insert(next)
        };
        let fields: Vec<[Vec<Term>; FIELDS.len()]> = texts
            .map(|text| {
                text.fields().map(|field| words(field).into_iter().map(&mut number).collect())
            })
            .collect();
        let mut stems: Vec<(String, Term)> = known.into_iter().collect();
        stems.sort_unstable();
        let mut new_number = vec![0; stems.len()];
        for (new, (_, old)) in stems.iter().enumerate() {
            if let Some(slot) = new_number.get_mut(*old as usize) {
                *slot = new as Term;
            }
        }
        let new_number = |old: &Term| new_number.get(*old as usize).copied().unwrap_or_default();

        let mut postings = Postings::default();
        for (stem, _) in &stems {
            postings.stems.push_str(stem);
            postings.stem_ends.push(postings.stems.len() as u32);
        }
        let mut places: Vec<Vec<(DocumentNumber, f32)>> = vec![Vec::new(); stems.len()];
        let average = averages(&fields);
        for (place, fields) in fields.iter().enumerate() {
            for (term, counts) in weights(fields, &average) {
                let term = new_number(&term) as usize;
                if let Some(places) = places.get_mut(term) {
                    places.push((place as DocumentNumber, counts));
                }
            }
            postings.names.extend(name(fields).iter().map(new_number));
            postings.name_ends.push(postings.names.len() as u32);
        }
        for places in places {
            postings.places.extend(places);
            postings.place_ends.push(postings.places.len() as u32);
        }
        postings.places.shrink_to_fit();
        postings
    }

    /// How many texts there are.
    pub(super) fn len(&self) -> usize {
        self.name_ends.len()
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let ends = [&self.stem_ends, &self.place_ends, &self.name_ends, &self.names];
        self.stems.capacity()
            + self.places.capacity() * size_of::<(DocumentNumber, f32)>()
            + ends.iter().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>()
    }

    /// The number of a stem.
    pub(super) fn find(&self, stem: &str) -> Option<Term> {
        let at = self.first_from(stem);
        (self.stem(at) == stem && (at as usize) < self.stem_ends.len()).then_some(at)
    }

    /// Every stem that begins with a letter, with its number.
    pub(super) fn beginning_with(&self, first: char) -> impl Iterator<Item = (Term, &str)> {
        let numbers = self.first_from(first.encode_utf8(&mut [0; 4]))..self.stem_ends.len() as u32;
        numbers.map(|at| (at, self.stem(at))).take_while(move |(_, stem)| stem.starts_with(first))
    }

    /// The postings of a word: documents with its weight there, by number.
    pub(super) fn places(&self, term: Term) -> &[(DocumentNumber, f32)] {
        slice(&self.places, &self.place_ends, term)
    }

    /// The words of a text's name, each once.
    pub(super) fn name(&self, place: DocumentNumber) -> &[Term] {
        slice(&self.names, &self.name_ends, place)
    }

    /// Inverse document frequency of a word.
    pub(super) fn rarity(&self, term: Term) -> f32 {
        let having = self.places(term).len() as f32;
        (1.0 + self.len() as f32 / (having + 0.5)).ln()
    }

    fn stem(&self, term: Term) -> &str {
        let (from, to) = bounds(&self.stem_ends, term);
        self.stems.get(from..to).unwrap_or_default()
    }

    fn first_from(&self, stem: &str) -> Term {
        let (mut low, mut high) = (0, self.stem_ends.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.stem(middle) < stem {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn bounds(ends: &[u32], at: u32) -> (usize, usize) {
    let end = |at: u32| ends.get(at as usize).map_or(0, |end| *end as usize);
    (at.checked_sub(1).map_or(0, end), end(at))
}

fn slice<'a, T>(all: &'a [T], ends: &[u32], at: u32) -> &'a [T] {
    let (from, to) = bounds(ends, at);
    all.get(from..to).unwrap_or_default()
}

/// How long each field is on average.
fn averages(texts: &[[Vec<Term>; FIELDS.len()]]) -> [f64; FIELDS.len()] {
    let mut sums = [0.0; FIELDS.len()];
    for (sum, field) in texts.iter().flat_map(|fields| (0..).zip(fields)) {
        if let Some(sum) = sums.get_mut(sum) {
            *sum += field.len() as f64;
        }
    }
    sums.map(|sum: f64| (sum / texts.len().max(1) as f64).max(1.0))
}

/// How much each word of a text counts, its fields taken together, by word.
fn weights(fields: &[Vec<Term>; FIELDS.len()], average: &[f64; FIELDS.len()]) -> Vec<(Term, f32)> {
    let mut found: Vec<(Term, f64)> = Vec::new();
    for ((field, average), (weight, length)) in fields.iter().zip(average).zip(FIELDS) {
        let counts = weight / (1.0 - length + length * field.len() as f64 / average);
        found.extend(field.iter().map(|term| (*term, counts)));
    }
    found.sort_by_key(|(term, _)| *term);
    let together = found.chunk_by(|(one, _), (other, _)| one == other);
    together
        .filter_map(|same| {
            let sum: f64 = same.iter().map(|(_, counts)| counts).sum();
            Some((same.first()?.0, (sum * (SATURATION + 1.0) / (SATURATION + sum)) as f32))
        })
        .collect()
}

/// The words of a name, each once. A single word such as `get` names a tool only with its namespace.
fn name(fields: &[Vec<Term>; FIELDS.len()]) -> Vec<Term> {
    let [name, namespace, ..] = fields;
    let mut words = name.clone();
    if name.len() < 2 {
        words.extend(namespace);
    }
    words.sort_unstable();
    words.dedup();
    words
}
