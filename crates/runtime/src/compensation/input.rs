//! Compensation input: fills the contract's template from the original's input, output and key.

use haft_ledger::Story;
use haft_model::{Code, Digest, Stop};
use haft_notation::fill;
use serde_json::{Map, Value, json};

use crate::recorder::unrecorded;
use crate::redact::holds_withheld;
use crate::{Runtime, World};

impl Runtime {
    /// The input of the compensating call. Fails where it needs a withheld value.
    pub(super) async fn undoing_input(
        &self,
        story: &Story,
        template: &Value,
    ) -> Result<Value, Stop> {
        let input = match &story.inputs.call {
            Some(kept) => self.kept(story, &kept.digest).await?,
            None => Value::Null,
        };
        let mut scope = json!({ "input": input, "output": self.output_of(story).await? });
        if let (Some(key), Some(fields)) = (&story.key, scope.as_object_mut()) {
            fields.insert("idempotency".to_owned(), json!({ "key": key }));
        }
        let rendered = rendered(template, &scope)?;
        if holds_withheld(&rendered) {
            let words = format!("what undoing `{}` needs was withheld", story.invocation_id);
            return Err(Stop::new(Code::Conflict, words)
                .help("call the tool that undoes it yourself, or do not withhold that output"));
        }
        // The template may leave out an empty input.
        Ok(if rendered.is_null() { Value::Object(Map::new()) } else { rendered })
    }

    /// The output of a call, or its persisted payload; null where there is neither.
    async fn output_of(&self, story: &Story) -> Result<Value, Stop> {
        let envelope = self.reader().result(&story.invocation_id).await?;
        if let Some(value) = envelope.and_then(|envelope| envelope.output()) {
            return Ok(value);
        }
        match story.persistence.last().and_then(|(_, stored)| stored.payload.as_ref()) {
            Some(kept) => self.kept(story, &kept.digest).await,
            None => Ok(Value::Null),
        }
    }

    /// Sensitive JSON pointers of a call's input, and that input; `None` without pointers or
    /// payload.
    pub(super) async fn secrets_of(
        &self,
        world: &World,
        story: &Story,
    ) -> Option<(Vec<String>, Value)> {
        let entry = world.snapshot.find(&story.tool_id)?;
        let places = entry.contract.tool.extras.sensitive.clone();
        let kept = story.inputs.call.as_ref().filter(|_| !places.is_empty())?;
        self.kept(story, &kept.digest).await.ok().map(|input| (places, input))
    }

    async fn kept(&self, story: &Story, digest: &Digest) -> Result<Value, Stop> {
        let id = &story.invocation_id;
        let bytes = self.store.payload(id, digest).await.map_err(unrecorded)?;
        let bytes = bytes.ok_or_else(|| {
            let words =
                format!("what `{id}` was given or gave is forgotten, so it cannot be undone");
            Stop::new(Code::Conflict, words).help("call the tool that undoes it yourself")
        })?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

/// Fills every template in the compensation input.
fn rendered(template: &Value, scope: &Value) -> Result<Value, Stop> {
    fill(template, scope).map_err(|fault| {
        let words = format!("the input for undoing cannot be made: {fault}");
        Stop::new(Code::Conflict, words).help("call the tool that undoes it yourself")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::WITHHELD;

    #[test]
    fn templates_are_filled_in_wherever_they_stand() {
        let scope = json!({"input": {"n": 3}, "output": {"id": "c-1", "secret": WITHHELD}});
        let template =
            json!({"charge": "${output.id}", "list": ["${input.n}", true, "n=${input.n}"]});
        let expected = json!({"charge": "c-1", "list": [3, true, "n=3"]});
        assert_eq!(rendered(&template, &scope).unwrap(), expected);
        assert!(!holds_withheld(&expected));
        assert!(holds_withheld(&rendered(&json!([{"a": "x ${output.secret}"}]), &scope).unwrap()));
        assert_eq!(
            rendered(&json!({"a": "${output.gone}"}), &scope).unwrap_err().message,
            "the input for undoing cannot be made: `output.gone` has no value"
        );
    }
}
