//! Redaction of exports: removes internal inputs and Haft's own keywords from a contract.

use std::collections::BTreeSet;

use haft_contract::Contract;
use haft_notation::{model_facing, without_internal};
use serde_json::Value as Json;

/// The inputs as a model may see them.
pub(super) fn inputs(contract: &Contract) -> Json {
    contract.model_schema()
}

/// The outputs as others may see them.
pub(super) fn outputs(contract: &Contract) -> Json {
    model_facing(&contract.tool.outputs, &BTreeSet::new())
}

/// A value for the inputs, without what is internal.
pub(super) fn example(contract: &Contract, value: &Json) -> Json {
    without_internal(value, &contract.internal)
}
