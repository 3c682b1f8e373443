//! Catalog entry: one contract, the drivers that serve it, and the reason why it is blocked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use haft_contract::{AcceptedContract, Action, Contract, Finding, Standing, ToolManifest};
use haft_model::{Date, Digest, DriverId, Lifecycle, Stop};
use haft_notation::{NotationFault, Schema};
use serde_json::{Value as Json, json};

use crate::Binding;
use crate::claims::Claim;

/// A contract with the drivers that claim it.
#[derive(Debug)]
pub struct CatalogEntry {
    /// The contract with its derived effects.
    pub contract: Arc<Contract>,
    /// The drivers, by id.
    pub bindings: Vec<Binding>,
    /// Findings of the checks across manifests.
    pub findings: Vec<Finding>,
    /// Why it may not be called on any day.
    pub block: Option<Block>,
    /// The digest of its effects, worked out once.
    pub fingerprint: Digest,
    standing: Standing,
    schemas: OnceLock<Result<Schemas, NotationFault>>,
    schema_digest: OnceLock<Digest>,
}

/// Why a contract may not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The reason as a stable word, for machines.
    pub reason: &'static str,
    /// The reason as a sentence, for people.
    pub message: String,
    /// What lifts the block.
    pub help: String,
}

/// The compiled schemas of a contract.
#[derive(Debug)]
pub(crate) struct Schemas {
    pub(crate) input: Schema,
    pub(crate) whole_input: Schema,
    pub(crate) output: Schema,
    pub(crate) context: Option<Schema>,
}

impl CatalogEntry {
    /// Paths that a driver's manifest opens for writing as its own state.
    pub fn driver_state(&self, driver: &DriverId) -> &[String] {
        let binding = self.bindings.iter().find(|binding| binding.driver.id == *driver);
        binding.map(|binding| &*binding.driver.state).unwrap_or_default()
    }

    /// What the tool is called where it comes from: on its MCP server, or as its author exposes it.
    pub fn backend_names(&self) -> BTreeSet<&str> {
        let native = self.bindings.iter().filter_map(|binding| {
            binding.implements()?.metadata.pointer("/mcp/tool_name")?.as_str()
        });
        native.chain(self.contract.tool.extras.exposed_as.as_deref()).collect()
    }

    /// Whether a status query can resolve a call whose response was lost.
    pub fn is_askable(&self) -> bool {
        self.bindings.iter().any(|binding| binding.status(self).is_some())
    }

    /// The tool's `operationId` in the OpenAPI document that it was imported from, as calls of it
    /// are labelled.
    pub fn operation(&self) -> Option<Json> {
        let id = self.contract.tool.extras.imported.as_ref()?.operation_id()?;
        Some(json!({ "source": "openapi", "operation_id": id }))
    }

    pub(crate) fn new(
        contract: Arc<Contract>,
        bindings: Vec<Binding>,
        findings: Vec<Finding>,
        block: Option<Block>,
        standing: Standing,
    ) -> CatalogEntry {
        let fingerprint = contract.effects.fingerprint();
        CatalogEntry {
            contract,
            bindings,
            findings,
            block,
            fingerprint,
            standing,
            schemas: OnceLock::new(),
            schema_digest: OnceLock::new(),
        }
    }

    /// Whether a rebuild from these parts would give this very entry.
    pub(crate) fn made_of(
        &self,
        tool: &Arc<ToolManifest>,
        action: Option<&Arc<Action>>,
        claims: &[Claim],
        standing: &Standing,
    ) -> bool {
        let same_action = match (&self.contract.action, action) {
            (Some(own), Some(other)) => own == other,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        Arc::ptr_eq(&self.contract.tool, tool)
            && same_action
            && self.standing == *standing
            && self.bindings.len() == claims.len()
            && claims.iter().all(|(driver, index)| {
                self.bindings
                    .iter()
                    .any(|binding| Arc::ptr_eq(&binding.driver, driver) && binding.entry == *index)
            })
    }

    /// The acceptance of the contract and its drivers as they are now.
    pub fn acceptance(&self) -> AcceptedContract {
        let drivers = self.bindings.iter().map(|binding| (binding.key(), binding.left_out()));
        AcceptedContract::of(&self.contract, drivers.collect())
    }

    /// The acceptance of some files, and nothing else: the contract where it is new and comes from
    /// one of them, and those of its new drivers that do. `None` where that changes nothing.
    pub fn acceptance_of_files(&self, written: impl Fn(&str) -> bool) -> Option<AcceptedContract> {
        let mut accepted = match &self.standing {
            Standing::Accepted(accepted) | Standing::Given(Some(accepted)) => {
                AcceptedContract::clone(accepted)
            }
            Standing::New if !written(&self.contract.tool.file) => return None,
            Standing::New | Standing::Given(None) => {
                AcceptedContract::of(&self.contract, BTreeMap::new())
            }
            Standing::Lost => return None,
        };
        let known = accepted.drivers.len();
        for binding in self.bindings.iter().filter(|binding| written(&binding.driver.file)) {
            accepted.drivers.entry(binding.key()).or_insert_with(|| binding.left_out());
        }
        (self.is_new() || accepted.drivers.len() > known).then_some(accepted)
    }

    /// The acceptance record of the contract; `None` where it was never accepted.
    pub fn accepted(&self) -> Option<&AcceptedContract> {
        match &self.standing {
            Standing::Accepted(accepted) | Standing::Given(Some(accepted)) => Some(accepted),
            Standing::New | Standing::Given(None) | Standing::Lost => None,
        }
    }

    /// Whether the contract was never accepted.
    pub fn is_new(&self) -> bool {
        self.standing == Standing::New
    }

    /// The claims that calls may go by: none where the contract is blocked, and none of a driver that
    /// is refused. Nothing else may start a program of a driver or speak to its backend.
    pub fn callable(&self) -> impl Iterator<Item = &Binding> {
        let bindings = self.bindings.iter().filter(|_| self.block.is_none());
        bindings.filter(|binding| binding.refused.is_none())
    }

    /// The digest of description and schemas, which the model sees; computed at the first call.
    pub fn schema_digest(&self) -> &Digest {
        self.schema_digest.get_or_init(|| self.contract.schema_digest())
    }

    /// Whether the contract comes with the program, so that it needs no acceptance.
    pub fn is_given(&self) -> bool {
        matches!(self.standing, Standing::Given(_))
    }

    /// The schemas, compiled at the first call.
    pub(crate) fn schemas(&self) -> Result<&Schemas, &NotationFault> {
        let compile = || {
            let context = self.contract.tool.context_schema.as_ref();
            Ok(Schemas {
                input: Schema::compile(&self.contract.model_schema())?,
                whole_input: Schema::compile(&self.contract.tool.inputs)?,
                output: Schema::compile(&self.contract.tool.outputs)?,
                context: context.map(Schema::compile).transpose()?,
            })
        };
        self.schemas.get_or_init(compile).as_ref()
    }

    /// The schemas, if a call compiled them already.
    pub(crate) fn compiled_schemas(&self) -> Option<&Schemas> {
        self.schemas.get()?.as_ref().ok()
    }

    /// The lifecycle stage of the contract on a day.
    pub fn lifecycle(&self, today: Date) -> Lifecycle {
        self.contract.tool.extras.lifecycle.on(today)
    }

    /// Why the contract may not be called on a day, if it may not.
    pub fn blocked(&self, today: Date) -> Option<Block> {
        if let Some(block) = &self.block {
            return Some(block.clone());
        }
        let dates = &self.contract.tool.extras.lifecycle;
        let (reason, message) = match dates.on(today) {
            Lifecycle::Available | Lifecycle::Deprecated | Lifecycle::Deferred => return None,
            Lifecycle::Draft => ("lifecycle_draft", "is not introduced yet"),
            Lifecycle::Disabled => ("lifecycle_disabled", "is switched off"),
            Lifecycle::RequiresSetup => ("setup_required", "has to be set up first"),
            Lifecycle::Retired => ("lifecycle_retired", "has been removed"),
        };
        Some(Block {
            reason,
            message: format!("`{}` {message}", self.contract.key()),
            help: match &dates.replacement {
                Some(other) => format!("call `{other}` instead"),
                None => "see `metadata.haft.lifecycle` of the contract".into(),
            },
        })
    }
}

impl Block {
    /// The block as an answer.
    pub(crate) fn stop(self) -> Stop {
        Stop::new(haft_model::Code::ToolBlocked, self.message)
            .help(self.help)
            .because(haft_model::CauseDetail::Reason(self.reason.to_owned()))
    }
}
