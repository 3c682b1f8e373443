//! OpenAPI operations: the id of each, and the HTTP request that performs it.

mod inputs;
mod path;

use serde_json::{Map, Value, json};

use super::answer::{self, ErrorResponse, OperationResponse};
use super::body::{self, OperationBody};
use super::document::Document;
use super::parameter::{self, Parameter, ParameterLocation};
use super::security::{Logins, SecurityNeed, SecurityScheme};
use super::server::{self, ApiServer};
use super::unresolved;
use super::unsafe_get::{self, UnsafeGet};
use super::verb::{MethodEffects, Verb};
use super::{OpenApiOptions, tool};
use crate::import::{Margin, Omissions};
use crate::text::{self, UniqueNames};
use inputs::Inputs;

/// One operation of the document.
#[derive(Clone, Debug)]
pub(super) struct Operation<'d> {
    pub(super) verb: Verb,
    pub(super) path: &'d str,
    /// What the document says of all operations of the path.
    pub(super) item: &'d Value,
    pub(super) raw: &'d Value,
    /// The id of its contract.
    pub(super) id: String,
    pub(super) server: ApiServer,
}

impl Operation<'_> {
    /// `GET /pets`.
    pub(super) fn called(&self) -> String {
        text::line(&format!("{} {}", self.verb.name(), self.path), 200)
    }

    /// Whether it is a GET that says that it changes something.
    pub(super) fn unsafe_get(&self) -> Option<UnsafeGet> {
        let is_get = self.verb == Verb::Get;
        let found =
            || unsafe_get::detect(self.path, self.text("operationId"), self.text("summary"));
        is_get.then(found).flatten()
    }

    /// The effects that its method implies, or its words.
    pub(super) fn effects(&self) -> MethodEffects {
        match self.unsafe_get() {
            Some(found) => MethodEffects::of_unsafe_get(&found),
            None => self.verb.effects(),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.raw.get(name).and_then(Value::as_str)
    }

    fn is_wanted(&self, options: &OpenApiOptions) -> bool {
        let Some(only) = &options.only else { return true };
        let called = self.called();
        let names = [self.id.as_str(), self.path, &called, self.text("operationId").unwrap_or("")];
        names.iter().any(|name| only.matches(name)) || options.known.contains(&self.id)
    }
}

/// The operations that can be called and are wanted, in the order of the document.
pub(super) fn all<'d>(
    document: &Document<'d>,
    import: &str,
    options: &OpenApiOptions,
    omissions: &mut Omissions,
) -> Vec<Operation<'d>> {
    let mut taken = UniqueNames::default();
    let mut found = Vec::new();
    for (path, raw) in document.paths() {
        let Some(item) = document.resolved(raw) else {
            omissions.skip(path, "the reference that it is leads nowhere in the document");
            continue;
        };
        for verb in Verb::ALL {
            let Some(raw) = item.get(verb.field()).filter(|raw| raw.is_object()) else { continue };
            let by_path = text::tool_id(import, &format!("{}/{path}", verb.field()));
            let stated = raw.get("operationId").and_then(Value::as_str);
            let stated = stated.map(|id| text::tool_id(import, id)).filter(|id| id != import);
            let names: Vec<String> = stated.into_iter().chain([by_path]).collect();
            let id = taken.first_free(&names);
            let server = server::of(document, item, raw, options);
            found.push(Operation { verb, path, item, raw, id, server });
        }
        for method in ["head", "options", "trace"] {
            if item.get(method).is_some() {
                let method = method.to_ascii_uppercase();
                omissions.skip(
                    format!("{method} {path}"),
                    "drivers of kind http do not send this method",
                );
            }
        }
    }
    let webhooks = document.get("webhooks").and_then(Value::as_object).into_iter().flatten();
    webhooks.for_each(|(name, _)| {
        omissions.skip(name, "a webhook is called by the service, not by us")
    });
    found.retain(|operation| operation.is_wanted(options));
    found
}

/// The HTTP request of an operation.
pub(super) struct OperationRequest {
    /// The schema of the input.
    pub(super) inputs: Value,
    pub(super) endpoint: String,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    /// `metadata.haft` of the driver's entry.
    pub(super) haft: Map<String, Value>,
    /// The header that carries the idempotency key, and whether it must.
    pub(super) key: Option<(String, bool)>,
    pub(super) logins: Vec<SecurityScheme>,
    /// Whether it needs no login at all, as opposed to one that is not available here.
    pub(super) public: bool,
    pub(super) answer: OperationResponse,
    pub(super) refusals: Vec<ErrorResponse>,
}

/// Makes the request of an operation.
pub(super) fn request(
    document: &Document<'_>,
    operation: &Operation<'_>,
    logins: &Logins,
    margin: &mut Margin,
) -> OperationRequest {
    let mut parameters = parameter::all(document, operation.item, operation.raw);
    let asks = !matches!(logins.asked(document, operation.raw), SecurityNeed::Nothing);
    let mut logins = asked(document, operation, logins, &mut parameters, margin);
    logins.dedup_by(|one, other| one.secret == other.secret);
    let key = parameters.iter().position(Parameter::is_key).map(|at| parameters.remove(at));
    let body = body::of(document, operation.raw);
    let answer = answer::of(document, operation.raw);
    let mut inputs = Inputs::new(document, &parameters, body.as_ref());
    let mut request = OperationRequest {
        endpoint: path::endpoint(operation.path, &parameters, &mut inputs, margin),
        inputs: Value::Null,
        query: path::fixed_query(operation.path),
        headers: Map::new(),
        haft: Map::new(),
        key: key.map(|key| (key.wire.to_owned(), key.required)),
        public: !asks && logins.is_empty(),
        logins,
        refusals: answer::refusals(document, operation.raw),
        answer,
    };
    request.place(&parameters, &mut inputs, margin);
    request.put_body(operation.verb, body.as_ref(), &mut inputs, margin);
    if let Some(accept) = &request.answer.accept {
        request.headers.insert("Accept".to_owned(), json!(accept));
    }
    if let Some(name) = request.answer.wrap {
        request.haft.insert("wrap".to_owned(), json!(name));
    }
    request.inputs = inputs.finish(margin);
    let lost = unresolved::in_answers(document, operation);
    margin.hollow("outputs", &lost.into_iter().map(str::to_owned).collect::<Vec<_>>(), false);
    tool::lost(&request.answer, margin);
    request
}

impl OperationRequest {
    /// Puts parameters where they go, but for those of the path.
    fn place<'d>(
        &mut self,
        parameters: &[Parameter<'d>],
        inputs: &mut Inputs<'_, 'd>,
        margin: &mut Margin,
    ) {
        let mut styles = Map::new();
        let mut cookies = Map::new();
        for parameter in
            parameters.iter().filter(|parameter| parameter.place != ParameterLocation::Path)
        {
            let several = inputs.is_several(parameter) && !parameter.as_json;
            if several && parameter.place != ParameterLocation::Query {
                inputs.join(parameter, margin);
            }
            let name = inputs.add(parameter);
            let template = json!(parameter.template(&name));
            let wire = parameter.wire.to_owned();
            match parameter.place {
                ParameterLocation::Path => {}
                ParameterLocation::Query => {
                    if several {
                        styles.insert(wire.clone(), parameter.query_style());
                    }
                    self.query.insert(wire, template);
                }
                ParameterLocation::Header => {
                    self.headers.insert(wire, template);
                }
                ParameterLocation::Cookie => {
                    cookies.insert(wire, template);
                }
            }
        }
        for (name, map) in [("query_style", styles), ("cookies", cookies)] {
            if !map.is_empty() {
                self.haft.insert(name.to_owned(), Value::Object(map));
            }
        }
    }

    fn put_body<'d>(
        &mut self,
        verb: Verb,
        body: Option<&OperationBody<'d>>,
        inputs: &mut Inputs<'_, 'd>,
        margin: &mut Margin,
    ) {
        let sends_input = !matches!(verb, Verb::Get | Verb::Delete);
        let Some(body) = body else {
            // Without a word, a driver sends the whole input as JSON.
            if sends_input {
                self.haft.insert("body_inputs".to_owned(), json!([]));
            }
            return;
        };
        let alone = inputs.is_empty();
        let made_of = inputs.add_body(body, margin);
        if !body.styles.is_empty() {
            let styles = self.haft.entry("query_style").or_insert_with(|| json!({}));
            if let Value::Object(styles) = styles {
                styles.extend(body.styles.clone());
            }
        }
        if body.form != body::BodyEncoding::Json {
            self.haft.insert("body".to_owned(), json!(body.form.name()));
        }
        if body::is_special(body.media, body.form) {
            self.headers.insert("Content-Type".to_owned(), json!(text::line(body.media, 100)));
        }
        if !(alone && sends_input && made_of.is_array()) {
            self.haft.insert("body_inputs".to_owned(), made_of);
        }
    }
}

/// The logins that an operation asks for, and those that hide among its parameters.
fn asked(
    document: &Document<'_>,
    operation: &Operation<'_>,
    logins: &Logins,
    parameters: &mut Vec<Parameter<'_>>,
    margin: &mut Margin,
) -> Vec<SecurityScheme> {
    let mut wanted: Vec<SecurityScheme> = match logins.asked(document, operation.raw) {
        SecurityNeed::Nothing => Vec::new(),
        SecurityNeed::Logins(logins) => logins.into_iter().cloned().collect(),
        SecurityNeed::Unknown(names) => {
            let why = format!("no driver can log in by `{}`", text::line(&names, 100));
            margin.guess("requires.secrets", "none", &why, "write the login into the driver");
            Vec::new()
        }
    };
    fill(parameters, &mut wanted, logins, margin);
    wanted
}

/// Takes out the parameters that a secret of the driver fills, and adds the logins that only they ask
/// for.
fn fill(
    parameters: &mut Vec<Parameter<'_>>,
    wanted: &mut Vec<SecurityScheme>,
    logins: &Logins,
    margin: &mut Margin,
) {
    parameters.retain(|parameter| {
        let login = logins.filling(parameter);
        let is_login = login.is_some() || (!wanted.is_empty() && parameter.is_login_by_name());
        if is_login && !parameter.is_credential() {
            let field = format!("inputs.{}", text::input_name(parameter.wire));
            let why = "the secret of the driver stands in its place";
            margin.guess(&field, "no input", why, "edit the contract and the driver");
        }
        // What an operation does not require is no reason to demand a login.
        let asks = parameter.is_credential() || (parameter.required && wanted.is_empty());
        let known = |login: &SecurityScheme| wanted.iter().any(|w| w.secret == login.secret);
        let more = login.filter(|login| asks && !known(login));
        wanted.extend(more);
        !is_login
    });
}
