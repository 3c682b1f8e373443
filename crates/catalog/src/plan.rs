//! Choosing: a call in, a plan out, or the reason why not.

use std::sync::Arc;

use haft_contract::did_you_mean;
use haft_model::{Call, Code, Date, Digest, Limits, Plan, Route, Stop, canonical};
use haft_notation::Schema;
use serde_json::{Value, json};

use crate::route::Question;
use crate::{Block, Entry, Snapshot};

impl Snapshot {
    /// What a call means on a day: its contract, its driver, its input, its limits.
    pub fn plan(&self, call: Call, today: Date) -> Result<Plan, Stop> {
        let entry = self.find(&call.tool).ok_or_else(|| self.unknown(&call.tool))?;
        if let Some(block) = entry.blocked(today) {
            return Err(block.stop());
        }
        let Call { actor, input, context, pinned, region, .. } = call;
        let input = checked_input(entry, input)?;
        check_context(entry, &context)?;
        let question = Question {
            entry,
            input: &input,
            pinned: pinned.as_ref(),
            region: &region,
            policy: self.routing(),
            states: self.states(),
            host: self.host(),
        };
        let (binding, route) = question.answer()?;
        let contract = &entry.contract;
        let digest = Digest::of_parts(&[
            actor.id.as_str().as_bytes(),
            actor.tenant.as_bytes(),
            contract.key().id.as_str().as_bytes(),
            contract.tool.version.as_bytes(),
            route.driver.as_str().as_bytes(),
            binding.driver.version.as_bytes(),
            &canonical(&input),
            &canonical(&context),
            entry.fingerprint.as_str().as_bytes(),
        ]);
        Ok(Plan {
            actor,
            tool: contract.key().clone(),
            version: contract.tool.version.clone(),
            route,
            renames: binding.renames.clone(),
            input,
            context,
            effects: contract.effects.clone(),
            limits: binding.limits,
            digest,
        })
    }

    /// What would become of a call: every step answered on its own, so that one that fails does not
    /// hide the next. Without an input only the route is asked for.
    pub fn explain(
        &self,
        call: &Call,
        input: Option<Value>,
        today: Date,
    ) -> Result<Explanation, Stop> {
        let entry = self.find(&call.tool).ok_or_else(|| self.unknown(&call.tool))?;
        let given = input.clone();
        let checked = input.map(|input| checked_input(entry, input));
        let used = match &checked {
            Some(Ok(input)) => input.clone(),
            Some(Err(_)) => given.unwrap_or_default(),
            None => Value::Object(Default::default()),
        };
        let question = Question {
            entry,
            input: &used,
            pinned: call.pinned.as_ref(),
            region: &call.region,
            policy: self.routing(),
            states: self.states(),
            host: self.host(),
        };
        Ok(Explanation {
            entry: entry.clone(),
            block: entry.blocked(today).map(Block::stop),
            input: checked.map(|checked| {
                checked.and_then(|input| check_context(entry, &call.context).map(|()| input))
            }),
            route: question.answer().map(|(binding, route)| (route, binding.limits)),
        })
    }

    /// The answer to a name that nobody has.
    pub fn unknown(&self, name: &str) -> Stop {
        let stop = Stop::new(Code::ToolUnknown, format!("there is no tool `{name}`"));
        match did_you_mean(name, self.names()) {
            Some(near) => stop.help(format!("did you mean `{near}`?")),
            None => stop.help("`haft tools` lists those that there are"),
        }
    }
}

/// What would become of a call.
pub struct Explanation {
    /// The contract.
    pub entry: Arc<Entry>,
    /// Why it may not be called at all.
    pub block: Option<Stop>,
    /// Whether the input fits; absent when none was given.
    pub input: Option<Result<Value, Stop>>,
    /// The driver and the ceilings, or why there is none.
    pub route: Result<(Route, Limits), Stop>,
}

/// The input with its defaults filled in, if it fits what a model may send.
fn checked_input(entry: &Entry, mut input: Value) -> Result<Value, Stop> {
    let internal = &entry.contract.internal;
    let sent = internal.iter().find(|path| input.pointer(&format!("/{path}")).is_some());
    if let Some(name) = sent {
        return Err(Stop::new(
            Code::InputSchema,
            format!("`{name}` is filled in by the host, never by a caller"),
        )
        .at(format!("/{name}"))
        .help("leave it out"));
    }
    let schemas = entry.schemas().map_err(|fault| {
        Stop::new(
            Code::Internal,
            format!("the schema of `{}` is broken: {fault}", entry.contract.key()),
        )
    })?;
    schemas.input.fill(&mut input);
    if schemas.input.fits(&input) {
        return Ok(input);
    }
    Err(misfit(Code::InputSchema, "the input", &schemas.input, &input))
}

fn check_context(entry: &Entry, context: &Value) -> Result<(), Stop> {
    let Ok(schemas) = entry.schemas() else { return Ok(()) };
    match &schemas.context {
        Some(schema) if !schema.fits(context) => {
            Err(misfit(Code::InputContext, "the host's context", schema, context).at("context"))
        }
        _ => Ok(()),
    }
}

/// Names the place, the rule and the value of every misfit; the first leads.
fn misfit(code: Code, what: &str, schema: &Schema, value: &Value) -> Stop {
    let violations = schema.violations(value);
    let first = violations.first();
    let place = first.map(|first| first.pointer.clone()).unwrap_or_default();
    let shown = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
    let message = first.map(|first| first.message.clone()).unwrap_or_default();
    let more = match violations.len() {
        0 | 1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    Stop::new(code, format!("{what} does not fit{shown}: {message}{more}"))
        .at(place)
        .because(json!({ "violations": violations }))
}
