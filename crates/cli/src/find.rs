//! Id lookup: finds a call or a question by its id, the other's id, or a prefix of either.

use haft::Host;
use haft_ledger::{QuestionFilter, QuestionRecord, Run, RunFilter};
use haft_model::{Actor, Code, InvocationId, QuestionState, Stop};

/// How many calls are searched for one whose id was not written in full.
const SEARCHED: usize = 10_000;

/// One call, by its own id, that of its question or result, or the beginning of it.
pub(crate) async fn run(host: &Host, given: &str) -> Result<Run, Stop> {
    let reader = host.reader();
    // The second question of a call has a number after the id that they share.
    let shared = bare(given).split('_').next().unwrap_or_default();
    let whole = InvocationId::from(format!("inv_{shared}").as_str());
    let exact = RunFilter { id: Some(whole), ..RunFilter::default() };
    if let Some(run) = reader.runs(&exact).await?.into_iter().next() {
        return Ok(run);
    }
    let all = RunFilter { most: SEARCHED, ..RunFilter::default() };
    let mut runs = reader.runs(&all).await?;
    runs.retain(|run| begins(run.invocation_id.as_str(), shared));
    only(runs, given, "call", "`haft runs` lists those that there are")
}

/// One question, by its own id, that of its call, or the beginning of either.
pub(crate) async fn question(host: &Host, by: &Actor, given: &str) -> Result<QuestionRecord, Stop> {
    let filter =
        QuestionFilter { tenant: Some(by.tenant.to_string()), ..QuestionFilter::default() };
    let mut found = host.runtime().questions(&filter).await?;
    if let Some(at) = found.iter().position(|record| record.question.id.as_str() == given) {
        return Ok(found.swap_remove(at));
    }
    found.retain(|record| begins(record.question.id.as_str(), given));
    // A call that was asked about twice has one question that matters: the open one, or the last.
    let mut last: Vec<QuestionRecord> = Vec::new();
    for record in found {
        let same = |other: &QuestionRecord| {
            other.question.bound.invocation == record.question.bound.invocation
        };
        match last.iter().position(same) {
            Some(at) if record.state == QuestionState::Open || !is_open(&last, at) => {
                last.swap_remove(at);
                last.push(record);
            }
            Some(_) => {}
            None => last.push(record),
        }
    }
    only(last, given, "question", "`haft approvals` lists those that are open")
}

fn is_open(records: &[QuestionRecord], at: usize) -> bool {
    records.get(at).is_some_and(|record| record.state == QuestionState::Open)
}

fn only<T>(mut found: Vec<T>, given: &str, what: &str, help: &str) -> Result<T, Stop> {
    let last = found.pop();
    match (last, found.len()) {
        (Some(one), 0) => Ok(one),
        (None, _) => {
            let words = format!("there is no {what} `{given}`");
            Err(Stop::new(Code::ResourceNotFound, words).help(help))
        }
        (Some(_), others) => {
            let words = format!("`{given}` is the beginning of {} {what}s", others + 1);
            Err(Stop::new(Code::InputValue, words).help("write more of the id"))
        }
    }
}

/// Whether an id begins with what was given, whichever kind of id that is.
fn begins(id: &str, given: &str) -> bool {
    let wanted = bare(given);
    !wanted.is_empty() && bare(id).starts_with(wanted)
}

/// An id without its kind, because the ids of one call differ in that alone.
fn bare(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_prefix_of_call_or_approval_matches() {
        for given in ["apr_0198ab", "inv_0198ab", "0198ab", "apr_0198abcd_2"] {
            assert!(begins("apr_0198abcd_2", given), "{given}");
        }
        for given in ["", "apr_", "0199", "inv_0198abcd_3"] {
            assert!(!begins("apr_0198abcd_2", given), "{given}");
        }
    }
}
