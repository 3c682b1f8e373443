//! Audience of a message: a person may read the command that fixes a problem, a model may not.

use std::borrow::Cow;

use serde_json::Value;

use crate::{Actor, Content, Envelope, ResultStatus, Stop};

/// What a model reads in place of a command: who has to act, not how.
const FOR_PEOPLE: &str = "a person who runs this workspace has to see to it";

/// How a quoted command of ours begins.
const QUOTED: &str = "`haft ";

/// Read-only commands. They decide nothing, so a clause with one is left out without calling for a
/// person; any other word after `haft` counts as a command that decides.
const LOOKING: [&str; 11] = [
    "approvals",
    "audit",
    "check",
    "doctor",
    "events",
    "explain",
    "runs",
    "show",
    "tools",
    "trace",
    "why",
];

/// Who reads a message. A model that sees the command by which people decide could run it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal.
    Person,
    /// A model, or a program that hands our messages to one.
    #[default]
    Agent,
}

impl Audience {
    /// The audience of a call's answer: a person only where a person made the call at a terminal.
    /// An agent that runs the command reads what it prints.
    pub fn of_call(channel: &str, actor: &Actor) -> Audience {
        match channel == "cli" && actor.is_person() {
            true => Audience::Person,
            false => Audience::Agent,
        }
    }

    /// A message without the clauses that hold a command, unless a person reads it.
    pub fn words(self, text: &str) -> Cow<'_, str> {
        match self {
            Audience::Agent if names_command(text) => Cow::Owned(without_commands(text)),
            Audience::Agent | Audience::Person => Cow::Borrowed(text),
        }
    }

    /// The same for every string in a JSON value.
    pub fn value(self, mut value: Value) -> Value {
        if self == Audience::Agent {
            clean(&mut value);
        }
        value
    }
}

impl Stop {
    /// The refusal, worded for its audience.
    pub fn told_to(mut self, audience: Audience) -> Stop {
        if audience == Audience::Person {
            return self;
        }
        self.message = in_place(self.message);
        self.help = self.help.map(in_place).filter(|help| !help.is_empty());
        self.cause.edit(clean);
        for rejected in &mut self.rejected {
            if names_command(&rejected.reason) {
                rejected.reason = without_commands(&rejected.reason).into();
            }
        }
        self
    }
}

impl Envelope {
    /// The answer, worded for its audience. Backend output stays as it is.
    pub fn told_to(mut self, audience: Audience) -> Envelope {
        if audience == Audience::Person {
            return self;
        }
        self.summary = in_place(self.summary);
        self.ui_facing_summary = in_place(self.ui_facing_summary);
        if let Some(error) = &mut self.error {
            error.message = in_place(std::mem::take(&mut error.message));
            error.help = error.help.take().map(in_place).filter(|help| !help.is_empty());
            error.cause.edit(clean);
            error.rejected.iter_mut().for_each(clean);
        }
        // The first error text is ours, and so is the notice that a person has to answer.
        let is_ours = self.error.is_some() || self.status == ResultStatus::Pending;
        if is_ours && let Some(Content::Text { text, .. }) = self.model_facing_content.first_mut() {
            *text = in_place(std::mem::take(text));
        }
        self
    }
}

fn in_place(text: String) -> String {
    if names_command(&text) { without_commands(&text) } else { text }
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if names_command(text) {
                *text = without_commands(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text holds a command of ours: quoted, or as its only content.
fn names_command(text: &str) -> bool {
    text.contains(QUOTED) || text.lines().any(is_command)
}

/// Whether a line is nothing but a command, such as a step that fixes a problem.
fn is_command(line: &str) -> bool {
    let mut words = line.trim().split(' ');
    let verb = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    // "haft is about to stop" is a sentence.
    words.next() == Some("haft") && words.next().is_some_and(|word| verb(word) && word != "is")
}

/// The text without its command clauses, naming who has to act instead.
fn without_commands(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if !names_command(line) {
            return line.to_owned();
        }
        let clauses = line.split("; ").flat_map(|clause| clause.split(", or "));
        let (gone, mut kept): (Vec<&str>, Vec<&str>) =
            clauses.partition(|clause| names_command(clause));
        if !gone.into_iter().all(only_looks) {
            kept.push(FOR_PEOPLE);
        }
        kept.join("; ")
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Whether every command in a clause is read-only.
fn only_looks(clause: &str) -> bool {
    let mut named = clause.split("haft ").skip(1);
    named.all(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(rest.len());
        rest.get(..end).is_some_and(|verb| LOOKING.contains(&verb))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Code;

    #[test]
    fn agent_reads_no_clause_that_holds_a_command() {
        for (text, told) in [
            ("if that is right, `haft accept a@1`", FOR_PEOPLE),
            ("haft secrets set bank/key", FOR_PEOPLE),
            ("call it again", "call it again"),
            ("haft is about to stop", "haft is about to stop"),
            ("written by haft", "written by haft"),
        ] {
            assert_eq!(Audience::Agent.words(text), told, "{text}");
            assert_eq!(Audience::Person.words(text), text);
        }
        assert_eq!(
            Audience::Agent.words("do not call it again; `haft trace inv_1` tells more"),
            "do not call it again"
        );
        assert_eq!(
            Audience::Agent
                .words("find out, and tell with `haft settle inv_1`; `haft runs` lists them"),
            FOR_PEOPLE
        );
        assert_eq!(Audience::Agent.words("`haft tools` lists those that there are"), "");
        assert_eq!(
            Audience::Agent.words("no login (credential.missing)\nrun `haft login bank`"),
            format!("no login (credential.missing)\n{FOR_PEOPLE}")
        );
    }

    #[test]
    fn refusal_is_clean_in_every_part() {
        let stop = Stop::new(Code::CredentialMissing, "no login; run `haft login bank`")
            .help("haft login bank --as agent:coder")
            .because(json!({ "login": { "run": "haft login bank" }, "count": 1 }));
        let told = json!(stop.clone().told_to(Audience::Agent));
        assert!(!told.to_string().contains("haft login"), "{told}");
        assert_eq!(told["cause"]["count"], 1);
        assert_eq!(stop.clone().told_to(Audience::Person), stop);
    }
}
