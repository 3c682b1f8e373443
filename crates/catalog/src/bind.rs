//! Binding: checks a driver's claim against the contract that it claims.

mod driver_state;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use haft_contract::{
    Contract, Driver, Finding, Implements, ManifestKind, MappingEntry, Severity, StatusQuery, rules,
};
use haft_model::{CallLimits, CostClass, parse_duration, renamed};
use haft_notation::Template;
use serde_json::Value;

use crate::CatalogEntry;

/// One driver's claim to serve one contract.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The driver that claims the contract.
    pub driver: Arc<Driver>,
    /// The index of the claiming entry in the driver's `implements`.
    pub entry: usize,
    /// Whether the driver comes with the program and not from a file, so that it needs no acceptance.
    pub given: bool,
    /// Why the claim is refused; `None` where it holds.
    pub refused: Option<String>,
    /// Timeout and retry limits: the contract's, narrowed by the driver.
    pub limits: CallLimits,
    /// Cost of one call in units; `None` where the driver states none.
    pub units: Option<f64>,
    /// The cost class.
    pub cost_class: CostClass,
    /// Contract input names to backend input names, where they differ.
    pub(crate) renames: Arc<[(String, String)]>,
}

impl Binding {
    /// The driver's own words about this contract.
    pub fn implements(&self) -> Option<&Implements> {
        self.driver.implements.get(self.entry)
    }

    /// An input as the driver's backend names its fields.
    pub fn mapped<'i>(&self, input: &'i Value) -> Cow<'i, Value> {
        renamed(input, &self.renames)
    }

    /// The status query of a call whose response was lost: the driver's, which knows its backend,
    /// else the contract's.
    pub fn status(&self, entry: &CatalogEntry) -> Option<StatusQuery> {
        let said = self.implements().and_then(|said| said.metadata.pointer("/haft/status"));
        let Some(said) = said else { return entry.contract.tool.extras.status.clone() };
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let value = |name: &str| said.get(name).cloned().unwrap_or_default();
        Some(StatusQuery {
            tool: text("tool")?,
            input: value("input"),
            committed: text("committed"),
            absent: text("absent"),
            final_after: text("final_after").as_deref().and_then(parse_duration),
            output: value("output"),
        })
    }

    /// Whether the backend deduplicates calls by their idempotency key: the driver says so
    /// outright, or names the header that carries the key.
    pub fn enforces_key(&self) -> bool {
        let Some(implements) = self.implements() else { return false };
        let said = implements.metadata.pointer("/haft/enforces_key").and_then(Value::as_bool);
        said.unwrap_or_else(|| {
            implements.metadata.pointer("/http/idempotency_key_header").is_some()
        })
    }

    /// The driver's id and major.
    pub(crate) fn key(&self) -> String {
        let major = haft_notation::range::major(&self.driver.version).unwrap_or_default();
        format!("{}@{major}", self.driver.id)
    }

    /// What the driver leaves out of the contract, and what it opens beyond the workspace.
    pub(crate) fn left_out(&self) -> BTreeSet<String> {
        let lists = self.implements().map(|entry| (&entry.drop_inputs, &entry.drop_outputs));
        let (inputs, outputs) = lists.map_or((&[][..], &[][..]), |(i, o)| (i.as_slice(), o));
        let inputs = inputs.iter().map(|name| format!("input {name}"));
        let left_out = inputs.chain(outputs.iter().map(|name| format!("output {name}")));
        left_out.chain(self.driver.opens.iter().cloned()).collect()
    }

    /// The currency of the units.
    pub fn currency(&self) -> Option<&str> {
        let own = self.implements().and_then(|entry| entry.cost.currency.as_deref());
        own.or(self.driver.cost.currency.as_deref())
    }

    /// Inputs that this call uses and the driver does not take.
    pub(crate) fn dropped<'b>(&'b self, input: &Value) -> Vec<&'b str> {
        let dropped = self.implements().map(|entry| entry.drop_inputs.as_slice());
        let used = |name: &&str| input.get(*name).is_some();
        dropped.unwrap_or_default().iter().map(String::as_str).filter(used).collect()
    }
}

/// Holds one entry of a driver against a contract. An error refuses the claim; the contract and the
/// driver's other claims stand.
pub(crate) fn bind(
    driver: &Arc<Driver>,
    entry: usize,
    given: bool,
    contract: &Contract,
) -> (Binding, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut binding = Binding {
        driver: driver.clone(),
        entry,
        given,
        refused: None,
        limits: CallLimits { timeout_ms: contract.tool.timeout_ms, retry: contract.tool.retry },
        units: None,
        cost_class: contract.tool.cost_class,
        renames: Arc::new([]),
    };
    if let Some(implements) = driver.implements.get(entry) {
        let mut claim = BindingClaim { driver, implements, contract, findings: &mut findings };
        claim.version();
        claim.narrowing();
        binding.renames = claim.mapping().into();
        claim.templates();
        claim.egress();
        claim.state();
        binding.limits = claim.limits();
        let own = &implements.cost;
        binding.units = own.units.or(driver.cost.units);
        binding.cost_class = own.class.or(driver.cost.class).unwrap_or(contract.tool.cost_class);
    }
    let error = findings.iter().find(|finding| finding.rule.severity == Severity::Error);
    binding.refused = error.map(|finding| finding.message.clone());
    (binding, findings)
}

/// Whether a driver is written as a CLI.md.
pub(crate) fn is_bundle(driver: &Driver) -> bool {
    ManifestKind::of(&driver.file) == Some(ManifestKind::Cli)
}

struct BindingClaim<'a> {
    driver: &'a Driver,
    implements: &'a Implements,
    contract: &'a Contract,
    findings: &'a mut Vec<Finding>,
}

impl BindingClaim<'_> {
    fn version(&mut self) {
        let version = &self.contract.tool.version;
        if !self.implements.range.contains(version) {
            let range = &self.implements.range_text;
            self.add(
                rules::D051,
                "/version",
                format!(
                    "the driver serves `{range}` of `{}`, and the contract is {version}",
                    self.contract.key().id
                ),
                format!("widen the range, or add a driver for {version}"),
            );
        }
    }

    fn narrowing(&mut self) {
        let sides = [
            ("drop_inputs", &self.implements.drop_inputs, &self.contract.tool.inputs, rules::D052),
            (
                "drop_outputs",
                &self.implements.drop_outputs,
                &self.contract.tool.outputs,
                rules::D065,
            ),
        ];
        for (list, dropped, schema, rule) in sides {
            for (index, name) in dropped.iter().enumerate() {
                let pointer = format!("/schema_narrowing/{list}/{index}");
                let tool = &self.contract.key().id;
                if is_required(schema, name) {
                    self.add(
                        rule,
                        &pointer,
                        format!("`{name}` is required by `{tool}` and cannot be dropped"),
                        "a driver may drop optional fields only".into(),
                    );
                } else if !has_property(schema, name) {
                    self.add(
                        rules::D053,
                        &pointer,
                        format!("`{tool}` has no `{name}` to drop"),
                        "remove it from the list".into(),
                    );
                }
            }
        }
    }

    /// Contract names to backend names. A string renames the contract's key; `{from}` is read in
    /// whichever direction names an input of the contract.
    fn mapping(&mut self) -> Vec<(String, String)> {
        let mut renames = Vec::new();
        let inputs = &self.contract.tool.inputs;
        for (key, mapped) in &self.implements.mapping {
            let pointer = format!("/mapping/{key}");
            let rename = match mapped {
                MappingEntry::To(backend) => has_property(inputs, key).then_some((key, backend)),
                MappingEntry::From { from, .. } if has_property(inputs, from) => Some((from, key)),
                MappingEntry::From { from, .. } => has_property(inputs, key).then_some((key, from)),
            };
            let tool = &self.contract.key().id;
            match rename {
                Some((from, to)) => renames.push((from.clone(), to.clone())),
                None => self.add(
                    rules::D054,
                    &pointer,
                    format!("neither side of the mapping `{key}` is an input of `{tool}`"),
                    "map the contract's name to the backend's".into(),
                ),
            }
            if let MappingEntry::From { transform: Some(transform), .. } = mapped {
                self.add(
                    rules::D055,
                    &format!("{pointer}/transform"),
                    format!("the driver provides no transformer `{transform}`"),
                    "a manifest has no code; register the transformer in a Rust driver".into(),
                );
            }
        }
        renames
    }

    /// Placeholders refer to inputs that exist, and optional ones have something to fall back on.
    fn templates(&mut self) {
        let mut leaves = Vec::new();
        let metadata = &self.implements.metadata;
        collect_texts(metadata, "/metadata".into(), &mut leaves);
        for field in ["user", "password"].map(|field| format!("/haft/basic/{field}")) {
            if let Some(name) = metadata.pointer(&field).and_then(Value::as_str) {
                self.named_secret(&format!("/metadata{field}"), name);
            }
        }
        for (pointer, text) in leaves {
            // What does not parse was reported when the driver was read.
            let Ok(template) = Template::parse(&text) else { continue };
            for expression in template.expressions() {
                match (expression.root(), expression.field()) {
                    ("input", Some(field)) => {
                        self.input_in_template(&pointer, field, expression.tolerates_absence());
                    }
                    ("secrets", Some(name)) => self.named_secret(&pointer, name),
                    ("input" | "secrets", None) => self.add(
                        rules::D061,
                        &pointer,
                        "a placeholder names no field".into(),
                        "write `${input.name}`".into(),
                    ),
                    _ => {}
                }
            }
        }
    }

    /// A secret is one that the driver says it logs in by.
    fn named_secret(&mut self, pointer: &str, name: &str) {
        let auth = self.driver.auth.as_ref();
        if auth.is_none_or(|auth| auth.env.iter().all(|known| known != name)) {
            self.add(
                rules::D063,
                pointer,
                format!("`{name}` is not in `auth.state.env`"),
                format!("add `auth: {{ state: {{ env: [{name}] }} }}`"),
            );
        }
    }

    fn input_in_template(&mut self, pointer: &str, field: &str, tolerant: bool) {
        let inputs = &self.contract.tool.inputs;
        let tool = &self.contract.key().id;
        if !has_property(inputs, field) {
            self.add(
                rules::D061,
                pointer,
                format!("`{tool}` has no input `{field}`"),
                "a driver cannot add inputs to a contract".into(),
            );
        } else if !is_required(inputs, field) && !has_default(inputs, field) && !tolerant {
            self.add(
                rules::D062,
                pointer,
                format!("`{field}` is optional, and a call without it could not be sent"),
                format!("write `${{input.{field} | default('…')}}`"),
            );
        }
    }

    fn egress(&mut self) {
        let required = &self.contract.effects.requires.network;
        let stated = self.contract.tool.requires.is_some();
        let covered =
            |host: &&String| !required.iter().any(|allowed| allowed == "*" || allowed == *host);
        let stray = self.driver.egress.iter().find(covered);
        if let (Some(host), true) = (stray, stated) {
            let finding = Finding::new(
                rules::D064,
                &self.driver.file,
                if is_bundle(self.driver) { "/sandbox/network/egress" } else { "/network/egress" },
                format!(
                    "`{host}` is not among the hosts that `{}` requires",
                    self.contract.key().id
                ),
            );
            self.findings.push(finding.help("add it to `requires.network` of the contract"));
        }
    }

    fn limits(&mut self) -> CallLimits {
        let ceiling = self.contract.tool.timeout_ms;
        let wanted = self.implements.timeout_ms.or(self.driver.timeout_ms);
        if let Some(wider) = wanted.filter(|wanted| *wanted > ceiling) {
            let own = self.implements.timeout_ms.is_some();
            let holder = if own { self.implements.place.as_str() } else { "" };
            let finding = Finding::new(
                rules::D056,
                &self.driver.file,
                &format!("{holder}/timeout_override_ms"),
                format!("{wider} ms is longer than the contract's {ceiling} ms, and is ignored"),
            );
            self.findings.push(finding.help(format!("say at most {ceiling}")));
        }
        CallLimits {
            timeout_ms: wanted.map_or(ceiling, |wanted| wanted.min(ceiling)),
            retry: self.implements.retry.or(self.driver.retry).or(self.contract.tool.retry),
        }
    }

    fn add(&mut self, rule: haft_contract::Rule, pointer: &str, message: String, help: String) {
        let pointer = format!("{}{pointer}", self.implements.place);
        self.findings.push(Finding::new(rule, &self.driver.file, &pointer, message).help(help));
    }
}

fn collect_texts(value: &Value, pointer: String, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if text.contains("${") => leaves.push((pointer, text.clone())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_texts(item, format!("{pointer}/{index}"), leaves);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect_texts(item, format!("{pointer}/{name}"), leaves);
            }
        }
        _ => {}
    }
}

fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties").and_then(|properties| properties.get(name))
}

/// Whether a schema describes a property. One that lists none describes nothing we could check.
fn has_property(schema: &Value, name: &str) -> bool {
    schema.get("properties").is_none() || property(schema, name).is_some()
}

fn has_default(schema: &Value, name: &str) -> bool {
    property(schema, name).is_some_and(|property| property.get("default").is_some())
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|listed| listed.as_str() == Some(name)))
}
