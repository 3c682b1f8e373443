//! Driver builder: drivers written in Rust, with the contracts they serve and the function behind
//! each.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_contract::{ManifestKind, ParsedManifest};
use haft_model::DriverId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::body::{Args, JsonFunction, ToolFailure};
use super::code_driver::CodeDriver;
use super::definition::Fields;
use super::{DefineError, DefinedManifest, ToolHandle, read_written};

/// Begins a driver of this id, whose bodies run in this process.
///
/// ```
/// # #[derive(schemars::JsonSchema, serde::Deserialize)] struct In { words: Vec<String> }
/// # #[derive(schemars::JsonSchema, serde::Serialize)] struct Out { text: String }
/// let join = haft::Tool::<In, Out>::builder("text.join")
///     .description("Joins words to a text.")
///     .read_only()
///     .define()?;
/// let driver = haft::define_driver("host-text")
///     .implement(&join, |args: haft::Args<In>| async move {
///         Ok(Out { text: args.input.words.join(" ") })
///     })
///     .define()?;
/// # Ok::<(), haft::DefineError>(())
/// ```
///
/// A body that takes or gives something else than the contract says does not compile:
///
/// ```compile_fail,E0271
/// # #[derive(schemars::JsonSchema, serde::Deserialize)] struct In { words: Vec<String> }
/// # #[derive(schemars::JsonSchema, serde::Serialize)] struct Out { text: String }
/// let join = haft::Tool::<In, Out>::builder("text.join")
///     .description("Joins words to a text.")
///     .read_only()
///     .define()?;
/// let driver = haft::define_driver("host-text")
///     .implement(&join, |args: haft::Args<In>| async move {
///         Ok::<usize, haft::ToolFailure>(args.input.words.len())
///     })
///     .define()?;
/// # Ok::<(), haft::DefineError>(())
/// ```
///
/// ```compile_fail,E0631
/// # #[derive(schemars::JsonSchema, serde::Deserialize)] struct In { words: Vec<String> }
/// # #[derive(schemars::JsonSchema, serde::Serialize)] struct Out { text: String }
/// let join = haft::Tool::<In, Out>::builder("text.join")
///     .description("Joins words to a text.")
///     .read_only()
///     .define()?;
/// let driver = haft::define_driver("host-text")
///     .implement(&join, |args: haft::Args<String>| async move { Ok(Out { text: args.input }) })
///     .define()?;
/// # Ok::<(), haft::DefineError>(())
/// ```
pub fn define_driver(id: impl Into<String>) -> DriverBuilder {
    DriverBuilder {
        id: id.into(),
        name: None,
        description: None,
        version: None,
        region: Vec::new(),
        policy_tags: Vec::new(),
        implements: None,
        bodies: Vec::new(),
        served: Vec::new(),
        code: None,
        too_early: false,
    }
}

/// A driver that is being written.
#[must_use]
pub struct DriverBuilder {
    id: String,
    name: Option<String>,
    description: Option<String>,
    version: Option<String>,
    region: Vec<String>,
    policy_tags: Vec<String>,
    implements: Option<BTreeSet<String>>,
    bodies: Vec<(Arc<haft_contract::ToolManifest>, JsonFunction)>,
    /// Contracts that code of another shape serves.
    served: Vec<Arc<haft_contract::ToolManifest>>,
    code: Option<Arc<dyn haft_driver::Driver>>,
    /// Whether a body was spoken of before there was one.
    too_early: bool,
}

impl DriverBuilder {
    /// Its name for people; its id when absent.
    pub fn name(self, name: impl Into<String>) -> DriverBuilder {
        DriverBuilder { name: Some(name.into()), ..self }
    }

    /// The description of the driver.
    pub fn description(self, description: impl Into<String>) -> DriverBuilder {
        DriverBuilder { description: Some(description.into()), ..self }
    }

    /// Its version; 1.0.0 when absent.
    pub fn version(self, version: impl Into<String>) -> DriverBuilder {
        DriverBuilder { version: Some(version.into()), ..self }
    }

    /// The regions it serves; all of them when absent.
    pub fn region(mut self, region: impl IntoIterator<Item = impl Into<String>>) -> DriverBuilder {
        self.region.extend(region.into_iter().map(Into::into));
        self
    }

    /// Tags that workspaces allow or forbid.
    pub fn policy_tags(
        mut self,
        tags: impl IntoIterator<Item = impl Into<String>>,
    ) -> DriverBuilder {
        self.policy_tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// The ids of all tools that it implements. Said or not, each needs a body; once said, no other
    /// may have one.
    pub fn implements(
        mut self,
        tools: impl IntoIterator<Item = impl Into<String>>,
    ) -> DriverBuilder {
        self.implements.get_or_insert_default().extend(tools.into_iter().map(Into::into));
        self
    }

    /// Implements a contract with a function that takes and gives what it says. The function runs
    /// where the caller waits, so it must not block.
    pub fn implement<In, Out, Ctx, F, Running>(
        mut self,
        tool: &ToolHandle<In, Out, Ctx>,
        body: F,
    ) -> DriverBuilder
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + 'static,
        Ctx: DeserializeOwned + Send + 'static,
        F: Fn(Args<In, Ctx>) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Out, ToolFailure>> + Send + 'static,
    {
        self.bodies.push((tool.contract().clone(), JsonFunction::new(body)));
        self
    }

    /// Serves a contract by [`DriverBuilder::by`] instead of a body of its own.
    pub fn serves<In, Out, Ctx>(mut self, tool: &ToolHandle<In, Out, Ctx>) -> DriverBuilder {
        self.served.push(tool.contract().clone());
        self
    }

    /// The implementation of every contract that it serves: for answers that are more than a value,
    /// and for drivers that offer prompts and resources as well. It replaces all bodies.
    pub fn by(self, code: Arc<dyn haft_driver::Driver>) -> DriverBuilder {
        DriverBuilder { code: Some(code), ..self }
    }

    /// Says that the body just given calls `link.submit()` itself, before its effect begins. One that
    /// does not is taken to have begun at once.
    pub fn reports_submission(mut self) -> DriverBuilder {
        match self.bodies.last_mut() {
            Some((_, body)) => body.reports_submission = true,
            None => self.too_early = true,
        }
        self
    }

    /// The driver, or what is wrong with it.
    pub fn define(self) -> Result<DriverHandle, DefineError> {
        self.check_bodies()?;
        let file = format!("code:driver:{}", self.id);
        let defined = read_written(ManifestKind::Driver, &file, self.manifest(), |reading| {
            match reading.manifest {
                Some(ParsedManifest::Driver(driver)) => Some(driver),
                _ => None,
            }
        })?;
        if let Some(code) = self.code {
            return Ok(DriverHandle { defined, code });
        }
        let bodies: HashMap<_, _> =
            self.bodies.into_iter().map(|(tool, body)| (tool.key.id.clone(), body)).collect();
        Ok(DriverHandle { defined, code: Arc::new(CodeDriver { bodies }) })
    }

    fn check_bodies(&self) -> Result<(), DefineError> {
        let driver = self.id.clone();
        if self.too_early {
            return Err(DefineError::NothingToReport { driver });
        }
        if let (Some(served), None) = (self.served.first(), &self.code) {
            return Err(DefineError::NoBody { driver, tool: served.key.id.to_string() });
        }
        let Some(said) = &self.implements else { return Ok(()) };
        let given: BTreeSet<String> = self.tools().map(|tool| tool.key.id.to_string()).collect();
        if let Some(tool) = said.difference(&given).next() {
            return Err(DefineError::NoBody { driver, tool: tool.clone() });
        }
        match given.difference(said).next() {
            Some(tool) => Err(DefineError::NotImplemented { driver, tool: tool.clone() }),
            None => Ok(()),
        }
    }

    fn tools(&self) -> impl Iterator<Item = &Arc<haft_contract::ToolManifest>> {
        self.bodies.iter().map(|(tool, _)| tool).chain(&self.served)
    }

    /// The frontmatter of an equivalent DRIVER.md.
    fn manifest(&self) -> Map<String, Value> {
        let name = self.name.clone().unwrap_or_else(|| self.id.clone());
        let description = self.description.clone();
        let mut manifest = Fields::default();
        manifest.put("name", Some(name));
        manifest.put("id", Some(self.id.clone()));
        manifest.put(
            "description",
            Some(description.unwrap_or_else(|| "Functions of the program that runs Haft.".into())),
        );
        manifest.put("version", Some(self.version.clone().unwrap_or_else(|| "1.0.0".into())));
        manifest.put("kind", Some("builtin"));
        let entry = |tool: &Arc<haft_contract::ToolManifest>| json!({ "tool": tool.key.id, "version": format!("^{}", tool.version) });
        let entries: Vec<Value> = self.tools().map(entry).collect();
        manifest.put("implements", Some(entries));
        manifest.list("region", self.region.clone());
        manifest.list("policy_tags", self.policy_tags.clone());
        manifest.put("metadata", Some(json!({ "builtin": { "host_id": "haft" } })));
        manifest.0
    }
}

/// A driver that was defined in code, with its bodies.
#[derive(Clone)]
pub struct DriverHandle {
    pub(crate) defined: DefinedManifest<haft_contract::Driver>,
    code: Arc<dyn haft_driver::Driver>,
}

impl DriverHandle {
    /// Its id.
    pub fn id(&self) -> &DriverId {
        &self.defined.value.id
    }

    /// The driver, as a DRIVER.md would have given it.
    pub fn manifest(&self) -> &Arc<haft_contract::Driver> {
        &self.defined.value
    }

    /// The implementation that executes its calls.
    pub fn code(&self) -> &Arc<dyn haft_driver::Driver> {
        &self.code
    }
}

impl fmt::Debug for DriverHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DriverHandle").field(self.id()).finish()
    }
}
