//! Result output: a call's content for people on standard output, one line about it beside.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Result;
use haft_model::{Content, EffectState, Envelope, Link, ResultStatus};

use super::{json, line, remark, span, visible};
use crate::exit::Exit;

/// Prints what a call came to, and says how the command ends.
pub(crate) fn envelope(envelope: &Envelope, took: Duration, as_json: bool) -> Result<Exit> {
    if as_json {
        json(&serde_json::to_value(envelope)?)?;
        return Ok(Exit::after(envelope));
    }
    match (&envelope.error, envelope.status) {
        (_, ResultStatus::Pending) => waits(envelope),
        (Some(error), _) => {
            // What a tool gave before it failed is still what it gave.
            for piece in envelope.model_facing_content.iter().skip(1) {
                line(for_people(text(piece)))?;
            }
            let message = visible(&error.message);
            remark(format!("\x1b[1;31m{}\x1b[0m: {message}", error.error_code));
            if let Some(help) = &error.help {
                remark(format!("\x1b[1;36mhelp\x1b[0m: {}", visible(help)));
            }
            remark(format!("\x1b[31m✘\x1b[0m {}", about(envelope, took)));
        }
        (None, _) => {
            line(for_people(pieces(envelope)))?;
            let mark = match envelope.unrecorded {
                None => "\x1b[32m✔\x1b[0m",
                Some(_) => "\x1b[1;33m!\x1b[0m",
            };
            remark(format!("{mark} {}", about(envelope, took)));
        }
    }
    for warning in &envelope.warnings {
        remark(format!("\x1b[1;33mwarning\x1b[0m: {}", visible(warning)));
    }
    if envelope.replayed {
        remark("  the same call was made before; this is its answer, and nothing was done again");
    }
    if let Some(why) = &envelope.unrecorded {
        remark(format!("\x1b[1;33mwarning\x1b[0m: its end is not on record: {why}"));
    }
    Ok(Exit::after(envelope))
}

/// A tool's output: unchanged for a program that reads it, sanitised for a terminal.
fn for_people(text: String) -> String {
    if std::io::stdout().is_terminal() { visible(&text) } else { text }
}

fn waits(envelope: &Envelope) {
    remark(format!("\x1b[33m?\x1b[0m {}", visible(&envelope.summary)));
    remark(format!("  {} waits", envelope.invocation_id));
}

fn about(envelope: &Envelope, took: Duration) -> String {
    // A call that was stopped may never have reached the driver that was chosen for it.
    let driver = envelope.driver.as_ref().filter(|_| !envelope.is_error);
    let driver = driver.map(|driver| format!(" by {driver}")).unwrap_or_default();
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    format!(
        "{} {}{driver} in {}; {}  \x1b[2m{}\x1b[0m",
        envelope.tool_id,
        envelope.status.name().replace('_', " "),
        span(micros),
        effect_words(envelope.effect_state),
        envelope.invocation_id,
    )
}

/// The state of an effect, in words.
pub(crate) fn effect_words(effect: EffectState) -> &'static str {
    match effect {
        EffectState::None => "nothing changed",
        EffectState::NotSubmitted => "nothing was sent",
        EffectState::Submitted => "it was sent",
        EffectState::Unknown => "its effect is unknown",
        EffectState::NotCommitted => "it took no effect",
        EffectState::PartiallyCommitted => "part of it took effect",
        EffectState::Committed => "it took effect",
        EffectState::Compensated => "it took effect and was undone",
        EffectState::CompensationFailed => "it took effect and could not be undone",
    }
}

/// The content of a result, as text.
pub(crate) fn pieces(envelope: &Envelope) -> String {
    match (&envelope.structured_content, envelope.content.is_empty()) {
        (Some(serde_json::Value::String(text)), true) => return text.clone(),
        (Some(value), true) => return serde_json::to_string_pretty(value).unwrap_or_default(),
        (Some(_) | None, _) => {}
    }
    let pieces: Vec<String> = envelope.model_facing_content.iter().map(text).collect();
    pieces.join("\n")
}

fn text(piece: &Content) -> String {
    let link = |link: &Link| format!("[{}: {}]", link.name.as_deref().unwrap_or("see"), link.uri);
    match piece {
        Content::Text { text, .. }
        | Content::EmbeddedResource { text, .. }
        | Content::Log { text, .. }
        | Content::Diff { text, .. } => text.clone(),
        Content::StructuredContent { data } => {
            serde_json::to_string_pretty(data).unwrap_or_default()
        }
        Content::Image(media)
        | Content::Audio(media)
        | Content::Video(media)
        | Content::File(media) => {
            format!("[{} of {} bytes]", media.mime_type, media.data.len() / 4 * 3)
        }
        Content::ResourceLink(found)
        | Content::ArtifactRef(found)
        | Content::PersistedOutputRef(found)
        | Content::HandoffRef(found) => link(found),
    }
}
