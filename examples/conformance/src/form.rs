//! Elicitation client: fills in every form with its defaults.

use std::collections::BTreeMap;

use haft_driver::{Abilities, BoxFuture, Caller, Inquiry, InquiryKind, Remark};
use haft_model::{Reported, Stop};
use serde_json::{Map, Value, json};

/// Who can be asked to fill in forms, and for nothing else.
pub(crate) struct Person(Abilities);

impl Default for Person {
    fn default() -> Person {
        Person(Abilities {
            kinds: [InquiryKind::Form].into(),
            told: json!({ "elicitation": { "form": {} } }),
            ..Abilities::default()
        })
    }
}

impl Caller for Person {
    fn abilities(&self) -> &Abilities {
        &self.0
    }

    fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, Value>, Stop>> {
        let filled = asked.into_iter().map(|(name, inquiry)| {
            let content = proposed(inquiry.params.pointer("/requestedSchema/properties"));
            (name, json!({ "action": "accept", "content": content }))
        });
        let filled = filled.collect();
        Box::pin(async move { Ok(filled) })
    }

    fn progress(&self, _: &Reported) {}

    fn remark(&self, _: Remark) {}
}

/// What a form proposes.
fn proposed(fields: Option<&Value>) -> Map<String, Value> {
    let fields = fields.and_then(Value::as_object).into_iter().flatten();
    let proposed =
        fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    proposed.collect()
}
