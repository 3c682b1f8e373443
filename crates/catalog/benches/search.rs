//! Search benchmark: latency and ranking quality, run by `scripts/bench search [FOLDER]`.
//!
//! The folder holds a catalog of tools and questions, which are not part of the repository; a second
//! argument is the folder for the rankings. Plain BM25 over the same texts runs beside ours.

#![expect(clippy::unwrap_used, reason = "data that cannot be read ends the measurement")]

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use haft_catalog::{Text, WordIndex};
use serde_json::{Value, json};

/// How many tools are ranked for each question.
const MOST: usize = 10;

/// How often each question is asked for its time.
const REPEATS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let (Some(data), Some(rankings)) = (arguments.next(), arguments.next()) else {
        return println!("usage: scripts/bench search [FOLDER]");
    };
    let (folder, rankings) = (PathBuf::from(data), PathBuf::from(rankings));
    let tools: Vec<Tool> = lines(&folder.join("catalog.jsonl")).iter().map(Tool::read).collect();
    let questions = lines(&folder.join("queries.dev.jsonl"));

    index(tools.iter().take(20));
    let ours = index(tools.iter());
    measure(&rankings.join("ours"), &tools, &questions, |question| {
        ours.rank(question, MOST, |_| true).into_iter().map(|hit| hit.found).collect()
    });
    let plain = Plain::new(&tools);
    measure(&rankings.join("plain BM25"), &tools, &questions, |question| plain.rank(question));
}

fn index<'t>(tools: impl ExactSizeIterator<Item = &'t Tool>) -> WordIndex {
    let count = tools.len();
    let begun = Instant::now();
    let index = WordIndex::new(tools.map(Tool::text));
    println!("{count} tools indexed in {:?}, {} kB", begun.elapsed(), index.bytes() / 1000);
    index
}

fn measure(ranking: &Path, tools: &[Tool], questions: &[Value], rank: impl Fn(&str) -> Vec<usize>) {
    let mut times = Vec::with_capacity(questions.len());
    let mut ranked = String::new();
    for question in questions {
        let text = question.get("query").and_then(Value::as_str).unwrap();
        let found = rank(text);
        // The shortest of a few runs, because other processes use the machine as well.
        let times_of_one = (0..REPEATS).map(|_| {
            let begun = Instant::now();
            black_box(rank(black_box(text)));
            begun.elapsed()
        });
        times.extend(times_of_one.min());
        let ids: Vec<&str> =
            found.iter().filter_map(|at| Some(tools.get(*at)?.id.as_str())).collect();
        ranked += &format!("{}\n", json!({ "id": question.get("id"), "ranked": ids }));
    }
    times.sort();
    let at =
        |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    let name = ranking.file_name().unwrap_or_default().display();
    println!("{name}: median {:?}, p99 {:?} a question", at(0.5), at(0.99));
    fs::write(ranking, ranked).unwrap();
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One tool of the catalog.
struct Tool {
    id: String,
    name: String,
    namespace: String,
    description: String,
    parameters: String,
    parameter_texts: String,
}

impl Tool {
    fn read(line: &Value) -> Tool {
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let parameters = line.get("params").and_then(Value::as_array).into_iter().flatten();
        let (names, texts): (Vec<String>, Vec<String>) = parameters
            .map(|parameter| (text(parameter, "name"), text(parameter, "description")))
            .unzip();
        Tool {
            id: text(line, "id"),
            name: text(line, "name"),
            namespace: text(line, "namespace"),
            description: text(line, "description"),
            parameters: names.join(" "),
            parameter_texts: texts.join(" "),
        }
    }

    fn text(&self) -> Text<'_> {
        Text {
            name: &self.name,
            namespace: &self.namespace,
            description: &self.description,
            parameters: &self.parameters,
            parameter_texts: &self.parameter_texts,
            ..Text::default()
        }
    }
}

/// BM25 as the books have it: all texts in one, words between spaces and signs.
struct Plain {
    places: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
}

impl Plain {
    fn new(tools: &[Tool]) -> Plain {
        let mut plain = Plain { places: HashMap::new(), lengths: Vec::new() };
        for (at, tool) in tools.iter().enumerate() {
            let Tool { id: _, name, namespace, description, parameters, parameter_texts } = tool;
            let text = [name, namespace, description, parameters, parameter_texts];
            let mut counts: HashMap<String, f64> = HashMap::new();
            text.iter().flat_map(|text| plain_words(text)).for_each(|word| {
                *counts.entry(word).or_default() += 1.0;
            });
            plain.lengths.push(counts.values().sum());
            for (word, count) in counts {
                plain.places.entry(word).or_default().push((at, count));
            }
        }
        plain
    }

    fn rank(&self, question: &str) -> Vec<usize> {
        let count = self.lengths.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / count;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for places in plain_words(question).filter_map(|word| self.places.get(&word)) {
            let having = places.len() as f64;
            let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
            for (at, times) in places {
                let long = self.lengths.get(*at).map_or(1.0, |length| length / average);
                let score = rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * long));
                *scores.entry(*at).or_default() += score;
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
        found.sort_by(|(at, one), (other_at, other)| other.total_cmp(one).then(at.cmp(other_at)));
        found.into_iter().take(MOST).map(|(at, _)| at).collect()
    }
}

fn plain_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
