//! Hook protocol: the JSON question and answer that programs and webhooks share.

use haft_driver::{HookAnswer, HookInput};
use haft_model::{Content, Decision, Envelope, HookPoint, JsonFlaw, JsonScope, Progress, Says};
use serde::Deserialize;
use serde_json::{Value, json};

/// Most bytes of an answer.
pub(super) const LONGEST: usize = 1024 * 1024;

/// Most characters of an invalid answer that a message repeats.
const LONGEST_SHOWN: usize = 160;

/// The question that a hook reads.
pub(super) fn question(point: HookPoint, heard: &HookInput<'_>) -> Vec<u8> {
    let plan = heard.plan;
    let effects = &plan.effects;
    let mut question = json!({
        "event": point,
        "actor": {
            "id": heard.actor.id,
            "tenant": heard.actor.tenant,
            "roles": heard.actor.roles,
        },
        "tool": { "id": plan.tool.id, "version": plan.version, "driver": plan.route.driver },
        "observable_input": heard.observable_input,
        "effects": {
            "mutates": effects.mutates,
            "mutates_stated": effects.mutates_stated,
            "classes": effects.classes,
            "risk": effects.risk,
            "requires": effects.requires,
            "read_only": effects.facts.read_only,
            "destructive": effects.facts.destructive,
            "open_world": effects.facts.open_world,
        },
    });
    if let Value::Object(fields) = &mut question {
        fields.extend(heard.decision.map(|it| ("decision".to_owned(), decision(it))));
        fields.extend(heard.result.map(|it| ("result".to_owned(), result(it))));
    }
    serde_json::to_vec(&question).unwrap_or_default()
}

fn decision(decision: &Decision) -> Value {
    json!({
        "verdict": decision.verdict,
        "reason": decision.reason(),
        "opinions": decision.opinions,
    })
}

fn result(result: &Envelope) -> Value {
    let text: Vec<_> = result.content.iter().filter_map(text_of).collect();
    let error = result.error.as_ref();
    json!({
        "status": result.status,
        "is_error": result.is_error,
        "effect_state": result.effect_state,
        "output": result.output(),
        "text": (!text.is_empty()).then(|| text.join("\n")),
        "error": error.map(|error| json!({"code": error.error_code, "message": error.message})),
    })
}

fn text_of(content: &Content) -> Option<&str> {
    match content {
        Content::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The answer of a hook. An unknown field is refused, because it may matter.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct HookReply {
    message: Option<String>,
    progress: Option<SaidProgress>,
    updated_input: Option<Value>,
    permission: Option<Permission>,
    #[serde(default)]
    additional_context: Vec<Value>,
    stop: Option<String>,
    updated_output: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Permission {
    behavior: Behavior,
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Behavior {
    Allow,
    Ask,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidProgress {
    message: Option<String>,
    percent: Option<f64>,
    current_step: Option<String>,
    step_index: Option<u64>,
    total_steps: Option<u64>,
}

/// Parses an answer. Empty output is no opinion; everything else must be one object whose fields
/// all have an effect at this point.
pub(super) fn answer(point: HookPoint, text: &[u8]) -> Result<HookAnswer, String> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(HookAnswer::default());
    }
    let nonsense = |why: String| nonsense(point, text, &why);
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(nonsense("it is not a JSON object".to_owned()));
    }
    if let Some(flaw) = JsonFlaw::within(text, JsonScope::Below(&[&["updated_input"]])) {
        return Err(nonsense(flaw.to_string()));
    }
    let said: HookReply =
        serde_json::from_slice(text).map_err(|fault| nonsense(fault.to_string()))?;
    fitting(point, &said).map_err(nonsense)?;
    Ok(HookAnswer {
        message: said.message,
        progress: said.progress.map(progress),
        updated_input: said.updated_input,
        opinion: said.permission.map(|permission| {
            let says = match permission.behavior {
                Behavior::Allow => Says::Allow,
                Behavior::Ask => Says::Ask,
                Behavior::Deny => Says::Deny,
            };
            (says, permission.reason)
        }),
        additional_context: said.additional_context,
        stop: said.stop,
        updated_output: said.updated_output,
    })
}

fn progress(said: SaidProgress) -> Progress {
    Progress {
        message: said.message,
        percent: said.percent,
        current_step: said.current_step,
        step_index: said.step_index,
        total_steps: said.total_steps,
        ..Progress::default()
    }
}

/// Refuses a field without effect at this point, so that no hook relies on it.
fn fitting(point: HookPoint, said: &HookReply) -> Result<(), String> {
    let given = [
        ("updated_input", said.updated_input.is_some()),
        ("permission", said.permission.is_some()),
        ("updated_output", said.updated_output.is_some()),
    ];
    let may = words(point);
    match given.iter().find(|(word, given)| *given && !may.contains(word)) {
        Some((word, _)) => Err(format!("`{word}` cannot be said at `{point}`")),
        None => Ok(()),
    }
}

/// The fields that have an effect at a point.
fn words(point: HookPoint) -> Vec<&'static str> {
    use HookPoint::{
        PermissionDecision, PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse,
        ResultPersistence,
    };
    let own: &[&str] = match point {
        PreToolUse => &["updated_input", "permission"],
        PermissionRequest | PermissionDecision => &["permission"],
        PostToolUse | ResultPersistence => &["updated_output"],
        PostToolUseFailure => &[],
    };
    ["message", "progress", "additional_context", "stop"].iter().chain(own).copied().collect()
}

/// The message about an invalid answer: the mistake, the answer, and the valid fields.
fn nonsense(point: HookPoint, text: &[u8], why: &str) -> String {
    let may = words(point).join("`, `");
    format!(
        "its answer is not what a hook can say: {why}; it answered `{}`; at `{point}` it may say \
         nothing, or one JSON object with any of `{may}`",
        shown(text)
    )
}

/// The beginning of an answer in one printable line.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut plain = text.trim().chars().map(|letter| match letter {
        '`' => '\'',
        letter if letter.is_control() || letter.is_whitespace() || turns(letter) => ' ',
        letter => letter,
    });
    let beginning: String = plain.by_ref().take(LONGEST_SHOWN).collect();
    if plain.next().is_some() { format!("{beginning}…") } else { beginning }
}

/// Whether a character is a bidirectional control character.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
