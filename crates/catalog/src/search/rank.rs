//! Ranking (BM25F): orders documents by their relevance to a query.
//!
//! The score of a document is its BM25F relevance to the query, plus shares for the clause that
//! fits best, for how much of its name the query holds, and for how much of the query it covers. A
//! synonym counts as its word, and an unknown word as the nearest known one. A query for several
//! things gets tools for each: those for a clause that has some already come later.

use std::cmp::Ordering;

use super::postings::{DocumentNumber, Postings, Term};
use super::words::{Word, clauses};
use super::{spelling, synonyms};

/// The weight of the clause that fits best, relative to the whole query.
const BEST_CLAUSE: f32 = 0.8;
/// The weight of the share of the name that a query holds, relative to the best score.
const NAME_SHARE: f32 = 0.3;
/// The weight of the share of the query that a document covers, relative to the best score, and
/// that of one clause.
const SPOKEN_OF: f32 = 0.05;
const CLAUSE_SPOKEN_OF: f32 = 0.1;
/// The weight of a quoted word.
const QUOTED: f32 = 0.5;
/// The weight of a synonym.
const SYNONYM: f32 = 0.6;
/// The weight of the nearest word for a misspelled one.
const MISSPELLED: f32 = 0.6;
/// The penalty for each tool that a clause has already.
const SAME_CLAUSE: f32 = 0.08;
/// How many tools are chosen one after the other, each with an eye on those before it.
const SPREAD: usize = 20;
/// How many candidates are ranked closely.
const CLOSER: usize = 200;
/// How many unknown words are looked for under another spelling.
const SPELLINGS: usize = 8;

/// A word of a question: the words of the texts that it means, and how much each counts.
struct QueryTerm {
    word: Word,
    terms: Vec<(Term, f32)>,
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedDocument {
    pub(super) place: DocumentNumber,
    pub(super) score: f32,
    /// The words of the question that it has, as they were written.
    pub(super) words: Vec<String>,
}

/// The scores of the documents so far.
struct Scores {
    /// By place, for the whole question.
    whole: Vec<f32>,
    /// By place, for the clause that fits best, and which that is.
    best: Vec<(f32, u32)>,
}

/// The texts that a question is about, among those that may be shown.
pub(super) fn rank(
    postings: &Postings,
    question: &str,
    most: usize,
    may_be_shown: impl Fn(DocumentNumber) -> bool,
) -> Vec<RankedDocument> {
    let clauses = query_terms(postings, clauses(question));
    let tally = Scores::of(postings, &clauses);
    let mut found: Vec<(DocumentNumber, f32)> = (0..)
        .zip(tally.whole.iter().zip(&tally.best))
        .filter(|(place, (whole, _))| **whole > 0.0 && may_be_shown(*place))
        .map(|(place, (whole, (best, _)))| (place, whole + BEST_CLAUSE * best))
        .collect();
    let closer = CLOSER.max(most);
    if found.len() > closer {
        found.select_nth_unstable_by(closer, better);
        found.truncate(closer);
    }
    let top = found.iter().map(|(_, score)| *score).fold(f32::MIN_POSITIVE, f32::max);
    let mut held: Vec<Term> = clauses
        .iter()
        .flatten()
        .flat_map(|query_term| &query_term.terms)
        .map(|(term, _)| *term)
        .collect();
    held.sort_unstable();
    let spoken_of = spoken_of(postings, &clauses, &found);
    for ((place, score), spoken_of) in found.iter_mut().zip(spoken_of) {
        let named = NAME_SHARE * name_share(postings.name(*place), &held);
        *score = *score / top + named + spoken_of;
    }
    found.sort_by(better);
    spread(found, &tally, top, most)
        .into_iter()
        .map(|(place, score)| RankedDocument {
            place,
            score,
            words: words_of(postings, &clauses, place),
        })
        .collect()
}

fn better(
    (place, score): &(DocumentNumber, f32),
    (other_place, other): &(DocumentNumber, f32),
) -> Ordering {
    other.total_cmp(score).then(place.cmp(other_place))
}

/// The words of the texts that each word of each clause means.
fn query_terms(postings: &Postings, clauses: Vec<Vec<Word>>) -> Vec<Vec<QueryTerm>> {
    let mut spellings = SPELLINGS;
    let mut mean = |word: Word| {
        let own = postings.find(&word.stem);
        let rarity = own.map_or(f32::INFINITY, |own| postings.rarity(own));
        let mut terms: Vec<(Term, f32)> = own.map(|own| (own, rarity)).into_iter().collect();
        let others = synonyms::of(&word.stem).iter().filter_map(|other| postings.find(other));
        terms.extend(others.map(|term| (term, SYNONYM * postings.rarity(term).min(rarity))));
        if terms.is_empty() && spellings > 0 && spelling::forgiven(&word.stem) > 0 {
            spellings -= 1;
            let near = nearest(postings, &word.stem);
            terms.extend(near.map(|term| (term, MISSPELLED * postings.rarity(term))));
        }
        if word.quoted {
            terms.iter_mut().for_each(|(_, weight)| *weight *= QUOTED);
        }
        QueryTerm { word, terms }
    };
    let mut once = |clause: Vec<Word>| {
        let mut kept: Vec<QueryTerm> = Vec::with_capacity(clause.len());
        for word in clause {
            if !kept.iter().any(|query_term| query_term.word.stem == word.stem) {
                kept.push(mean(word));
            }
        }
        kept
    };
    clauses.into_iter().map(&mut once).collect()
}

/// The word with the fewest slips, then the one that most texts have; the first letter is always right.
fn nearest(postings: &Postings, stem: &str) -> Option<Term> {
    let most = spelling::forgiven(stem);
    postings
        .beginning_with(stem.chars().next()?)
        .filter(|(_, other)| spelling::may_be_near(stem, other, most))
        .filter_map(|(term, other)| Some((spelling::distance(stem, other, most)?, term)))
        .min_by_key(|(slips, term)| {
            (*slips, std::cmp::Reverse(postings.places(*term).len()), *term)
        })
        .map(|(_, term)| term)
}

impl Scores {
    fn of(postings: &Postings, clauses: &[Vec<QueryTerm>]) -> Scores {
        let count = postings.len();
        let mut tally = Scores { whole: vec![0.0; count], best: vec![(0.0, 0); count] };
        let (mut clause_score, mut word_score) = (vec![0.0; count], vec![0.0; count]);
        let mut times: Vec<(&str, f32)> = Vec::new();
        for (number, clause) in (0..).zip(clauses) {
            let mut reached: Vec<DocumentNumber> = Vec::new();
            for query_term in clause {
                let again = more_of(&mut times, &query_term.word.stem);
                each_place(postings, query_term, &mut word_score, |place, score| {
                    if let Some(whole) = tally.whole.get_mut(place as usize) {
                        *whole += again * score;
                    }
                    if let Some(part) = clause_score.get_mut(place as usize) {
                        if *part == 0.0 {
                            reached.push(place);
                        }
                        *part += score;
                    }
                });
            }
            for place in reached {
                let Some(part) = clause_score.get_mut(place as usize) else { continue };
                let part = std::mem::take(part);
                if let Some(best) = tally.best.get_mut(place as usize).filter(|best| part > best.0)
                {
                    *best = (part, number);
                }
            }
        }
        tally
    }
}

/// How much a word adds that was there before: the root of how often it is there grows so much.
fn more_of<'w>(times: &mut Vec<(&'w str, f32)>, stem: &'w str) -> f32 {
    match times.iter_mut().find(|(known, _)| *known == stem) {
        Some((_, times)) => {
            *times += 1.0;
            times.sqrt() - (*times - 1.0).sqrt()
        }
        None => {
            times.push((stem, 1.0));
            1.0
        }
    }
}

/// Hands on each place of a word or of a synonym, with the most that any of them scores there.
fn each_place(
    postings: &Postings,
    query_term: &QueryTerm,
    word_score: &mut [f32],
    mut found: impl FnMut(DocumentNumber, f32),
) {
    if let [(term, weight)] = query_term.terms.as_slice() {
        return postings
            .places(*term)
            .iter()
            .for_each(|(place, counts)| found(*place, weight * counts));
    }
    for (term, weight) in &query_term.terms {
        for (place, counts) in postings.places(*term) {
            if let Some(most) = word_score.get_mut(*place as usize) {
                *most = most.max(weight * counts);
            }
        }
    }
    for (place, _) in query_term.terms.iter().flat_map(|(term, _)| postings.places(*term)) {
        if let Some(score) = word_score.get_mut(*place as usize).filter(|score| **score > 0.0) {
            found(*place, std::mem::take(score));
        }
    }
}

fn name_share(name: &[Term], held: &[Term]) -> f32 {
    let shared = name.iter().filter(|term| held.binary_search(term).is_ok()).count();
    shared as f32 / name.len().max(1) as f32
}

/// The best, where each tool for a clause makes the others for the same clause come later.
fn spread(
    mut found: Vec<(DocumentNumber, f32)>,
    tally: &Scores,
    top: f32,
    most: usize,
) -> Vec<(DocumentNumber, f32)> {
    let mut chosen = Vec::with_capacity(most.min(found.len()));
    let mut had: Vec<(u32, f32)> = Vec::new();
    let best = |place: DocumentNumber| tally.best.get(place as usize).copied().unwrap_or_default();
    let held_against = |had: &[(u32, f32)], (place, score): (DocumentNumber, f32)| {
        let (best, clause) = best(place);
        let before = had.iter().find(|(had, _)| *had == clause).map_or(0.0, |(_, times)| *times);
        (place, score - SAME_CLAUSE * before * best / top)
    };
    while chosen.len() < most.min(SPREAD) {
        let scored = found.iter().enumerate().map(|(at, one)| (at, held_against(&had, *one)));
        let Some((at, first)) = scored.min_by(|(_, one), (_, other)| better(one, other)) else {
            break;
        };
        let (_, clause) = best(first.0);
        match had.iter_mut().find(|(had, _)| *had == clause) {
            Some((_, times)) => *times += 1.0,
            None => had.push((clause, 1.0)),
        }
        found.remove(at);
        chosen.push(first);
    }
    found.iter_mut().for_each(|one| *one = held_against(&had, *one));
    found.sort_by(better);
    chosen.extend(found);
    chosen.truncate(most);
    chosen
}

/// What each text gets for the share of the question that it speaks of, and of the clause of which it
/// speaks most. One word is no clause: every text that has it speaks of the whole.
fn spoken_of(
    postings: &Postings,
    clauses: &[Vec<QueryTerm>],
    found: &[(DocumentNumber, f32)],
) -> impl Iterator<Item = f32> + use<> {
    let mut slots = vec![usize::MAX; postings.len()];
    for (slot, (place, _)) in found.iter().enumerate() {
        slots.get_mut(*place as usize).into_iter().for_each(|at| *at = slot);
    }
    let (mut word, mut here) = (vec![0.0_f32; found.len()], vec![0.0_f32; found.len()]);
    let mut shares = vec![(0.0, 0.0_f32); found.len()];
    let mut all = f32::MIN_POSITIVE;
    for clause in clauses {
        let mut all_here = f32::MIN_POSITIVE;
        for query_term in clause {
            all_here +=
                query_term.terms.iter().fold(0.0, |most: f32, (_, weight)| most.max(*weight));
            for (term, weight) in &query_term.terms {
                for (place, _) in postings.places(*term) {
                    let slot = slots.get(*place as usize).copied().unwrap_or(usize::MAX);
                    word.get_mut(slot).into_iter().for_each(|most| *most = most.max(*weight));
                }
            }
            here.iter_mut().zip(&mut word).for_each(|(sum, word)| *sum += std::mem::take(word));
        }
        all += all_here;
        for ((there, most), here) in shares.iter_mut().zip(&mut here) {
            let here = std::mem::take(here);
            *there += here;
            if clause.len() > 1 {
                *most = most.max(here / all_here);
            }
        }
    }
    let worth = move |(there, most): (f32, f32)| SPOKEN_OF * there / all + CLAUSE_SPOKEN_OF * most;
    shares.into_iter().map(worth)
}

fn words_of(postings: &Postings, clauses: &[Vec<QueryTerm>], place: DocumentNumber) -> Vec<String> {
    let stands = |(term, _): &(Term, f32)| {
        postings.places(*term).binary_search_by_key(&place, |(place, _)| *place).is_ok()
    };
    let mut words: Vec<String> = Vec::new();
    for query_term in clauses.iter().flatten() {
        if query_term.terms.iter().any(stands) && !words.contains(&query_term.word.written) {
            words.push(query_term.word.written.clone());
        }
    }
    words
}
