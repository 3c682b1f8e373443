//! Trace output: one call as a page that a person reads from top to bottom.

mod inputs;
mod intent;
mod phases;
mod scheduling;
mod secrets;
mod undoing;

use anyhow::Result;
use haft_ledger::{Attempt, Cancel, Judgement, QuestionRecord, Story};
use haft_model::{Decision, Envelope, Timestamp, Verdict};
use haft_runtime::{ShownInputs, TraceView};

use super::{
    Table, clock, decision::mark, decision::opinions, driver_state, effect_words, line, needs,
    span, visible,
};

/// How many lines of a result are shown.
const SHOWN: usize = 12;

/// How many reports of progress are shown.
const REPORTS: usize = 20;

/// A call with everything that is known of it, on a page.
struct TracePage<'a> {
    story: &'a Story,
    envelope: Option<&'a Envelope>,
    inputs: &'a ShownInputs,
}

/// Prints everything that is known of a call.
pub(crate) fn trace(told: &TraceView) -> Result<()> {
    let TraceView { story, envelope, inputs } = told;
    TracePage { story, envelope: envelope.as_ref(), inputs }.show()
}

impl TracePage<'_> {
    fn show(&self) -> Result<()> {
        self.head()?;
        if !self.story.phases.is_empty() {
            heading("phases")?;
            phases::show(&self.story.phases)?;
        }
        heading("inputs")?;
        inputs::show(self.inputs, &self.story.mutations)?;
        self.decisions()?;
        for record in &self.story.questions {
            asked(record)?;
        }
        self.attempts()?;
        self.secrets()?;
        self.hooks()?;
        self.progress()?;
        self.cancels()?;
        self.discarded()?;
        self.result()?;
        self.context()?;
        self.since()
    }

    fn head(&self) -> Result<()> {
        let story = self.story;
        let version = story.tool_version.as_deref().unwrap_or_default();
        line(format!("\x1b[1m{}\x1b[0m  {version}", story.tool_id))?;
        line(story.invocation_id.as_str())?;
        line("")?;
        let effect = effect_words(story.effect_state);
        line(format!("status    {}; {effect}", story.status))?;
        if let Some(code) = story.error_code {
            let words = story.error_message.as_deref().unwrap_or_default();
            line(format!("error     {code}: {}", visible(words)))?;
        }
        if let Some(actor) = &story.actor {
            let typed = actor.speaking.as_ref().map(|who| format!(", typed by {who}"));
            let typed = typed.unwrap_or_default();
            line(format!("who       {}{typed}, for {}", actor.id, actor.tenant))?;
        }
        line(format!("came by   {}, as `{}`", story.channel, visible(&story.requested)))?;
        if let Some((driver, version)) = &story.driver {
            let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            line(format!("driver    {driver}{version}"))?;
        }
        if !story.driver_state.is_empty() {
            line(format!("state     {}", driver_state(&story.driver_state)))?;
        }
        if let Some(key) = &story.key {
            line(format!("key       {key}"))?;
        }
        self.intent()?;
        if let Some(original) = &story.compensates {
            line(format!("undoes    {original}"))?;
        }
        self.batch()?;
        let took = story.ended_at.map(|end| between(story.created_at, end));
        let took = took.unwrap_or_else(|| "not over yet".to_owned());
        line(format!("when      {}, {took}", clock(story.created_at)))
    }

    /// Every decision once: the one behind a question stands in the log with the question too.
    fn decisions(&self) -> Result<()> {
        let mut last: Option<&Decision> = None;
        for judgement in &self.story.decisions {
            let decision = match judgement {
                Judgement::Asked(decision, _) => &**decision,
                Judgement::Settled(decided) => &decided.decision,
            };
            if last != Some(decision) {
                decided(decision)?;
            }
            last = Some(decision);
        }
        Ok(())
    }

    fn attempts(&self) -> Result<()> {
        if self.story.attempts.is_empty() {
            return Ok(());
        }
        heading("attempts")?;
        for attempt in &self.story.attempts {
            line(format!("  {}", attempted(attempt)))?;
        }
        Ok(())
    }

    fn hooks(&self) -> Result<()> {
        if self.story.hooks.is_empty() {
            return Ok(());
        }
        heading("hooks")?;
        let mut table = Table::new(&["  HOOK", "AT", "TOOK", "SAID"]);
        for (ended, run) in &self.story.hooks {
            let stopped = run.stopped.as_ref().map(|why| format!("stop: {why}"));
            let failed = run.failed.as_ref().map(|why| format!("not heard: {why}"));
            let opinion = run.opinion.as_ref().map(|one| format!("{}: {}", one.says, one.reason));
            let said = failed.or(stopped).or(opinion).or_else(|| run.message.clone());
            let said = said.unwrap_or_else(|| "nothing".to_owned());
            let took = between(run.started_at, *ended);
            table.row(vec![format!("  {}", run.hook), run.point.to_string(), took, said]);
        }
        table.print()
    }

    fn progress(&self) -> Result<()> {
        let reports = &self.story.progress;
        if reports.is_empty() {
            return Ok(());
        }
        heading("progress")?;
        let skipped = reports.len().saturating_sub(REPORTS);
        if skipped > 0 {
            line(format!("  … {skipped} earlier ones"))?;
        }
        for (_, report) in reports.iter().skip(skipped) {
            let percent = report.progress.percent.map(|percent| format!(" {percent:.0} %"));
            let words = visible(report.progress.message.as_deref().unwrap_or_default());
            let took = span(report.elapsed_ms.saturating_mul(1000));
            let percent = percent.unwrap_or_default();
            line(format!("  {took:>8}  {}{percent} {words}", report.status))?;
        }
        Ok(())
    }

    fn cancels(&self) -> Result<()> {
        for cancel in &self.story.cancels {
            match cancel {
                Cancel::Requested(at, wish) => {
                    line(format!("\ncancel    {} wished it at {}", wish.by, clock(*at)))?;
                }
                Cancel::Noted(at, note) => {
                    line(format!("\ncancel    {} at {}", note.fact, clock(*at)))?;
                }
            }
        }
        Ok(())
    }

    fn result(&self) -> Result<()> {
        let Some(envelope) = self.envelope else { return Ok(()) };
        heading("result")?;
        line(format!("  {}", visible(&envelope.summary)))?;
        for (_, persisted) in &self.story.persistence {
            line(format!(
                "  stored as {}: {} of {} bytes shown; {}",
                persisted.strategy,
                persisted.preview_size,
                persisted.original_size,
                persisted.reason
            ))?;
        }
        if let Some(redacted) = &self.story.redaction {
            let fields = redacted.fields.join(", ");
            line(format!("  withheld: {fields} and {} other places", redacted.occurrences))?;
        }
        if envelope.is_error {
            return Ok(());
        }
        let text = visible(&super::pieces(envelope));
        for shown in text.lines().take(SHOWN) {
            line(format!("  │ {shown}"))?;
        }
        if text.lines().count() > SHOWN {
            line(format!("  │ … `haft trace {} --output` prints it all", envelope.invocation_id))?;
        }
        Ok(())
    }
}

fn heading(text: &str) -> Result<()> {
    line(format!("\n\x1b[1m{text}\x1b[0m"))
}

fn between(from: Timestamp, to: Timestamp) -> String {
    let micros = to.as_microsecond().saturating_sub(from.as_microsecond());
    span(u64::try_from(micros).unwrap_or_default())
}

fn decided(decision: &Decision) -> Result<()> {
    let word = match decision.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asked",
        Verdict::Deny => "denied",
    };
    let at = clock(decision.decided_at);
    heading(&format!("{} {word}", mark(decision.verdict)))?;
    line(format!("  {} at {at}", decision.reason()))?;
    opinions(&decision.opinions, "  ")
}

fn asked(record: &QuestionRecord) -> Result<()> {
    let question = &record.question;
    heading("question")?;
    line(format!("  {}  {}, asked {}", question.id, record.state, clock(question.asked_at)))?;
    for one in &question.needs {
        line(format!("  answers: {}", needs(one)))?;
    }
    for answer in &record.answers {
        let word = if answer.approves { "yes" } else { "no" };
        let always = if answer.always { ", always" } else { "" };
        let edited = answer.edited_input.as_ref().map_or("", |_| ", with another input");
        let typed = answer.speaking.as_ref().map(|who| format!(" (typed by {who})"));
        let reason =
            answer.reason.as_ref().map(|why| format!(": {}", visible(why))).unwrap_or_default();
        line(format!(
            "  {}{} said {word}{always}{edited}{reason}, {} later, by {}",
            answer.by,
            typed.unwrap_or_default(),
            between(question.asked_at, answer.at),
            answer.channel
        ))?;
    }
    Ok(())
}

fn attempted(attempt: &Attempt) -> String {
    let took = attempt.ended_at.map(|end| between(attempt.started_at, end));
    let effect = attempt.effect.map_or("no end on record", effect_words);
    let code = attempt.code.map(|code| format!(", {code}")).unwrap_or_default();
    let took = took.unwrap_or_else(|| "?".to_owned());
    let sent = attempt.submitted_at.map(|at| between(attempt.started_at, at));
    let sent = sent.map(|after| format!("; sent after {after}")).unwrap_or_default();
    let off =
        attempt.native.iter().any(|known| known.get("unconfined").is_some_and(|off| off == true));
    let off = if off { "; \x1b[31mUNCONFINED, since `sandbox = \"off\"`\x1b[0m" } else { "" };
    format!("{}  {} in {took}; {effect}{code}{sent}{off}", attempt.number, attempt.driver)
}
