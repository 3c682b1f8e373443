//! Whoever made a call, as far as a driver can turn to them while it runs.

use std::collections::{BTreeMap, BTreeSet};

use haft_model::{Reported, Stop};
use serde_json::Value;

use crate::BoxFuture;

/// What a backend may want from a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InquiryKind {
    /// That a person fills in a form.
    Form,
    /// That a person opens a page.
    Page,
    /// That the caller's model says something.
    Sample,
    /// Which folders the caller works in.
    Roots,
}

/// One thing that a backend wants from a caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Inquiry {
    /// What kind of thing.
    pub kind: InquiryKind,
    /// What is said about it, as the backend's protocol has it. Nothing in it is to be trusted.
    pub params: Value,
}

/// What a caller can be asked, in its own words. It is handed on as it is: what nobody behind us can
/// do is promised to no backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abilities {
    /// The kinds of inquiry that it answers.
    pub kinds: BTreeSet<InquiryKind>,
    /// What it said of itself, as its protocol has it.
    pub told: Value,
    /// Whether people of the workspace fill in forms in its place, as they answer questions about
    /// calls. `kinds` holds forms then, and `told` need not.
    pub people: bool,
    /// From which level on it wants to hear remarks; none where it wants to hear none.
    pub remarks: Option<String>,
    /// Whether its backend may take long: it goes on meanwhile, or waits however long that is.
    pub patient: bool,
}

/// A remark of a backend for whoever called.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// How grave: `debug`, `info`, `notice`, `warning`, `error` …
    pub level: String,
    /// Who speaks.
    pub logger: Option<String>,
    /// What is said.
    pub data: Value,
}

/// Whoever made a call and can be turned to while it runs.
pub trait Caller: Send + Sync {
    /// What it can be asked.
    fn abilities(&self) -> &Abilities;

    /// Asks several things at once; each answer is under the name of its inquiry.
    fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, Value>, Stop>>;

    /// Says how far the call is.
    fn progress(&self, reported: &Reported);

    /// Hands a remark on.
    fn remark(&self, remark: Remark);
}
