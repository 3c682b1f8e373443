//! Planning: turns a call into a plan, or into the reason why not.

use std::sync::Arc;

use haft_contract::did_you_mean;
use haft_model::{
    Call, CallLimits, CauseDetail, Code, Date, Digest, FrozenInput, JsonFlaw, Plan, Route, Stop,
    canonical, settle_numbers,
};
use haft_notation::{Violation, is_small};
use serde_json::Value;

use crate::entry::Schemas;
use crate::route::Question;
use crate::{Binding, Block, CatalogEntry, Outlook, Snapshot};

impl Snapshot {
    /// Plans a call on a day: its contract, its driver, its input, its limits, as far as the
    /// snapshot knows.
    pub fn plan(&self, call: Call, today: Date) -> Result<Plan, Stop> {
        let entry = self.select(&call.tool, today)?;
        let input = entry.parse(call.input.clone(), Sender::Caller)?;
        Ok(self.bind(entry, &call, input.into(), &Outlook::default())?.0)
    }

    /// The contract that a name means on a day, if it may be called at all.
    pub fn select(&self, name: &str, today: Date) -> Result<&Arc<CatalogEntry>, Stop> {
        let entry = self.find_called(name, |_| true).ok_or_else(|| self.unknown(name))?;
        match entry.blocked(today) {
            Some(block) => Err(block.stop()),
            None => Ok(entry),
        }
    }

    /// The plan for an input that was parsed, and the driver that would carry it out as things are.
    pub fn bind<'s>(
        &'s self,
        entry: &'s CatalogEntry,
        call: &Call,
        input: FrozenInput,
        outlook: &Outlook,
    ) -> Result<(Plan, &'s Binding), Stop> {
        check_context(entry, &call.context)?;
        let question = Question {
            entry,
            input: &input,
            pinned: call.pinned.as_ref(),
            outlook,
            region: &call.region,
            policy: self.routing(),
            host: self.host(),
        };
        let (binding, route) = question.answer()?;
        let contract = &entry.contract;
        let digest = Digest::of_parts(&[
            call.actor.id.as_str().as_bytes(),
            call.actor.tenant.as_bytes(),
            contract.key().id.as_str().as_bytes(),
            contract.tool.version.as_bytes(),
            route.driver.as_str().as_bytes(),
            binding.driver.version.as_bytes(),
            input.canonical(),
            &canonical(&call.context),
            entry.fingerprint.as_str().as_bytes(),
        ]);
        let driver_state = binding.driver.state.clone();
        let digest = match driver_state.is_empty() {
            true => digest,
            false => Digest::of(&(digest, &driver_state)),
        };
        let plan = Plan {
            actor: call.actor.clone(),
            tool: contract.key().clone(),
            version: contract.tool.version.clone(),
            route,
            renames: binding.renames.clone(),
            input,
            context: call.context.clone(),
            effects: contract.effects.clone(),
            driver_state,
            limits: binding.limits,
            digest,
        };
        Ok((plan, binding))
    }

    /// Explains a call: every step answers on its own, so that a failing step does not hide the
    /// next. Without an input only the route is explained.
    pub fn explain(
        &self,
        call: &Call,
        input: Option<Value>,
        today: Date,
        outlook: &Outlook,
    ) -> Result<Explanation, Stop> {
        let found = self.find_called(&call.tool, |_| true);
        let entry = found.ok_or_else(|| self.unknown(&call.tool))?;
        let given = input.clone();
        let flawed = call.flaw();
        let checked = input.map(|input| match &flawed {
            Some(flaw) => Err(flaw.stop()),
            None => entry.parse(input, Sender::Caller),
        });
        let used = match &checked {
            Some(Ok(input)) => input.clone(),
            Some(Err(_)) => given.unwrap_or_default(),
            None => Value::Object(Default::default()),
        };
        let question = Question {
            entry,
            input: &used,
            pinned: call.pinned.as_ref(),
            outlook,
            region: &call.region,
            policy: self.routing(),
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

    /// The refusal of an unknown name.
    pub fn unknown(&self, name: &str) -> Stop {
        self.unknown_among(name, self.names())
    }

    /// The refusal of an unknown name, with a suggestion among the names that the caller may know.
    pub(crate) fn unknown_among<'n>(
        &self,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> Stop {
        let stop = Stop::new(Code::ToolUnknown, format!("there is no tool `{name}`"));
        match did_you_mean(name, known).map(|near| self.spelled_like(name, near)) {
            Some(near) => stop.help(format!("did you mean `{near}`?")),
            None => stop.help("`haft tools` lists those that there are"),
        }
    }
}

/// The explanation of a call, step by step.
pub struct Explanation {
    /// The contract that the name means.
    pub entry: Arc<CatalogEntry>,
    /// Why it may not be called at all.
    pub block: Option<Stop>,
    /// Whether the input fits; absent when none was given.
    pub input: Option<Result<Value, Stop>>,
    /// The driver and the ceilings, or why there is none.
    pub route: Result<(Route, CallLimits), Stop>,
}

/// The sender of an input, which decides which fields it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A caller, who may not fill in internal fields.
    Caller,
    /// The host: a hook or a person who was asked.
    Host,
}

impl CatalogEntry {
    /// Parses an input: drops nulls that stand for nothing, fills in defaults, normalises numbers, and checks that the sender may send
    /// it. A number that would lose precision is refused from every sender.
    pub fn parse(&self, mut input: Value, sender: Sender) -> Result<Value, Stop> {
        let internal = self.contract.internal.iter().filter(|_| sender == Sender::Caller);
        let sent = internal.into_iter().find(|path| input.pointer(&format!("/{path}")).is_some());
        if let Some(name) = sent {
            return Err(Stop::new(
                Code::InputSchema,
                format!("`{name}` is filled in by the host, never by a caller"),
            )
            .at(format!("/{name}"))
            .help("leave it out"));
        }
        let schemas = self.compiled()?;
        let schema = match sender {
            Sender::Caller => &schemas.input,
            Sender::Host => &schemas.whole_input,
        };
        haft_notation::without_nulls(&mut input, &self.contract.tool.inputs);
        schema.fill(&mut input);
        settle_numbers(&mut input).map_err(|flaw| flaw.stop())?;
        match schema.check(&input) {
            Ok(()) => Ok(input),
            Err(violations) => Err(misfit(Code::InputSchema, "the input", violations)),
        }
    }

    /// Checks an input that was parsed before, as the host's: it still fits, and no default is
    /// missing.
    pub fn check_input(&self, input: &Value) -> Result<(), Stop> {
        let schema = &self.compiled()?.whole_input;
        if schema.fills(input) {
            return Err(Stop::new(Code::InputMutation, "the input changed after it was judged"));
        }
        let checked = schema.check(input);
        checked.map_err(|violations| misfit(Code::InputSchema, "the input", violations))
    }

    /// Whether parsing an input is certainly short: its schema is compiled, and few steps decide. The
    /// answer itself is short, however large the input.
    pub fn input_is_light(&self, input: &Value, sender: Sender) -> bool {
        self.compiled_schemas().is_some_and(|schemas| match sender {
            Sender::Caller => schemas.input.is_light(input),
            Sender::Host => schemas.whole_input.is_light(input),
        })
    }

    /// Like `input_is_light`, for the check of an output.
    pub fn output_is_light(&self, output: &Value) -> bool {
        self.compiled_schemas().is_some_and(|schemas| schemas.output.is_light(output))
    }

    /// Like `input_is_light`, for the check of a context.
    pub fn context_is_light(&self, context: &Value) -> bool {
        self.compiled_schemas().is_some_and(|schemas| match &schemas.context {
            Some(schema) => schema.is_light(context),
            None => is_small(context),
        })
    }

    /// Whether an output is what the contract promises.
    pub fn check_output(&self, output: &Value) -> Result<(), Stop> {
        let schemas = self.compiled()?;
        let checked = schemas.output.check(output);
        checked.map_err(|violations| misfit(Code::OutputInvalid, "the output", violations))
    }

    /// Whether the contract says anything about its output, so that a call has to give a value.
    pub fn demands_value(&self) -> bool {
        haft_notation::keywords::constrains(&self.contract.tool.outputs)
    }

    fn compiled(&self) -> Result<&Schemas, Stop> {
        self.schemas().map_err(|fault| {
            let key = self.contract.key();
            Stop::new(Code::Internal, format!("the schema of `{key}` is broken: {fault}"))
        })
    }
}

fn check_context(entry: &CatalogEntry, context: &Value) -> Result<(), Stop> {
    if let Some(flaw) = JsonFlaw::in_value(context) {
        return Err(flaw.inside("context").stop().at("context"));
    }
    let Ok(schemas) = entry.schemas() else { return Ok(()) };
    let Some(schema) = &schemas.context else { return Ok(()) };
    schema.check(context).map_err(|violations| {
        misfit(Code::InputContext, "the host's context", violations).at("context")
    })
}

/// Names the place, the rule and the value of every misfit; the first leads.
fn misfit(code: Code, what: &str, violations: Vec<Violation>) -> Stop {
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
        .because(CauseDetail::Violations(violations.into_iter().map(Into::into).collect()))
}
