//! Elicitation at the terminal: a person fills in a backend's form.

use haft_model::{ElicitationForm, Question};
use haft_runtime::Reply;
use serde_json::{Map, Value};

use super::{Terminal, line};
use crate::arguments::{typed, typed_flaw};
use crate::output;

impl Terminal<'_> {
    /// Asks until the form is filled in or declined, or the person leaves it to the inbox.
    pub(super) async fn fill_in(&self, question: &Question, form: &ElicitationForm) {
        output::remark(format!("\n\x1b[1;33m?\x1b[0m {}", output::visible(&question.summary)));
        output::form(form).iter().for_each(output::remark);
        loop {
            let menu = "[f]ill it in  [n]o, and why  [l]eave it to the inbox > ";
            let Some(words) = line(menu).await else { return };
            let words = words.trim();
            let reply = match words.split_once(' ').unwrap_or((words, "")) {
                ("f" | "fill", _) => match fields(form).await {
                    Some(content) => Reply { content: Some(content), ..self.reply(true) },
                    None => return,
                },
                ("n" | "no", reason) => {
                    let given = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
                    match self.reason(given).await {
                        Some(reason) => Reply { reason: Some(reason), ..self.reply(false) },
                        None => continue,
                    }
                }
                ("l" | "leave", _) => return,
                _ => continue,
            };
            if self.given(question, reply).await {
                return;
            }
        }
    }
}

/// Prompts for each field; an empty line leaves it out.
async fn fields(form: &ElicitationForm) -> Option<Value> {
    let mut filled = Map::new();
    for (name, field, _) in form.fields() {
        let words = format!("{} ({}): ", output::visible(name), output::takes(field));
        loop {
            let typed_in = line(&words).await?;
            let text = typed_in.trim_end_matches(['\r', '\n']);
            if let Some(flaw) = typed_flaw(text, Some(field)) {
                output::remark(output::visible(&flaw.to_string()));
                continue;
            }
            if !text.is_empty() {
                filled.insert(name.to_owned(), typed(text, Some(field)));
            }
            break;
        }
    }
    Some(Value::Object(filled))
}
