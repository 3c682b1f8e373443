//! Foreign JSON formats: tells the standards apart and folds their names into Haft's ids.

#[cfg(test)]
pub(crate) mod probe;

use std::collections::BTreeSet;

use haft_model::Requires;
use serde_json::Value as Json;

use crate::read::{owned, text};
use crate::shape::form::TOOL_ID;
use crate::source::Node;
use crate::tool::object_schema;
use crate::{ParsedManifest, Report, Source, agent_tool, aruntime, range, rules};

/// Reads a tool in JSON, whichever standard it follows.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<ParsedManifest> {
    let has = |field| node.entry(field).is_some();
    if has("interface_id") {
        agent_tool::read_interface(source, node, report).map(ParsedManifest::Interface)
    } else if has("toolId") {
        aruntime::read(source, node, report).map(ParsedManifest::Tool)
    } else if has("tool_id") {
        agent_tool::read_declaration(source, node, report).map(ParsedManifest::Tool)
    } else {
        report
            .add(&rules::Y012, node.span.start..node.span.start, "nothing says whose format this is")
            .help("write `tool_id` (Agent Tool), `interface_id` (its interface) or `toolId` (ARuntime)");
        None
    }
}

/// The id of the tool that a record is about, readable even where the rest is not.
pub(crate) fn id(node: &Node) -> Option<String> {
    match text(node, "toolId") {
        Some(stated) => fold(split_version(stated).0).or_else(|| Some(stated.to_owned())),
        None => agent_tool::id(node).or_else(|| owned(node, "tool_id")),
    }
}

/// Our places and what the formats call them, the longest first.
const PLACES: [(&str, &[&str]); 4] = [
    ("/metadata/haft/lifecycle", &["/deprecation"]),
    ("/metadata/haft/compensation/tool", &["/compensation/toolId"]),
    ("/metadata/haft", &[""]),
    ("/id", &["/tool_id", "/toolId"]),
];

/// The value of a record at one of our places, or the last one on the way.
pub(crate) fn nearest<'n>(node: &'n Node, pointer: &str) -> &'n Node {
    let theirs = PLACES.iter().find_map(|(ours, theirs)| {
        let rest = pointer.strip_prefix(ours)?;
        Some(theirs.iter().map(move |theirs| format!("{theirs}{rest}")))
    });
    let found = theirs.into_iter().flatten().map(|place| node.nearest(&place));
    found.into_iter().find(|found| !std::ptr::eq(*found, node)).unwrap_or(node.nearest(pointer))
}

/// Splits `id@1` or `id@1.2.3` into the id and a full version.
pub(crate) fn split_version(name: &str) -> (&str, Option<String>) {
    let Some((id, version)) = name.rsplit_once('@') else { return (name, None) };
    let full = match version.parse::<u64>() {
        Ok(major) => format!("{major}.0.0"),
        Err(_) => version.to_owned(),
    };
    if range::major(&full).is_some() { (id, Some(full)) } else { (name, None) }
}

/// A name as one of our ids: unchanged where it is one, else in lower case with dots and dashes.
pub(crate) fn fold(name: &str) -> Option<String> {
    let fits = |id: &str| TOOL_ID.fault(id).is_none();
    if fits(name) {
        return Some(name.to_owned());
    }
    let mut id = String::new();
    let mut before = '.';
    for letter in name.chars() {
        let separator = match letter {
            'a'..='z' | '0'..='9' => None,
            'A'..='Z' if before.is_ascii_lowercase() => Some('-'),
            'A'..='Z' => None,
            '.' | ':' | '/' => Some('.'),
            _ => Some('-'),
        };
        if let Some(separator) = separator {
            let stronger = if id.ends_with('.') { '.' } else { separator };
            id.truncate(id.trim_end_matches(['.', '-']).len());
            id.push(stronger);
        }
        if letter.is_ascii_alphanumeric() {
            id.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    Some(id.trim_matches(['.', '-']).to_owned()).filter(|id| fits(id))
}

/// A reference to another tool, its id folded and its version kept.
pub(crate) fn fold_reference(name: &str) -> Option<String> {
    let (id, version) = split_version(name);
    let major = version.as_deref().and_then(range::major);
    let id = fold(id)?;
    Some(major.map_or_else(|| id.clone(), |major| format!("{id}@{major}")))
}

/// A field of the input, as far as a pointer can name it.
#[derive(Debug, PartialEq)]
pub(crate) enum InputField {
    /// Exactly the field.
    Exact(String),
    /// What the field lies in: a pointer cannot say "of every item".
    Around(String),
}

/// Where a field lies: a pointer, a dotted path or a property's name.
pub(crate) fn place(field: &str, schema: &Json) -> Option<InputField> {
    let is_property = schema.get("properties").is_some_and(|known| known.get(field).is_some());
    if is_property {
        return Some(InputField::Exact(format!("/{}", escape(field))));
    }
    let steps: Vec<String> = match field.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(str::to_owned).collect(),
        None => {
            let path = field.strip_prefix("$.").unwrap_or(field);
            path.replace('[', ".[").split('.').map(escape).collect()
        }
    };
    let many = |step: &str| step == "*" || step.starts_with('[');
    let plain: Vec<&str> =
        steps.iter().map(String::as_str).take_while(|step| !many(step)).collect();
    if plain.is_empty() || plain.contains(&"") {
        return None;
    }
    let pointer = format!("/{}", plain.join("/"));
    Some(if plain.len() == steps.len() {
        InputField::Exact(pointer)
    } else {
        InputField::Around(pointer)
    })
}

/// One step of a JSON pointer.
pub(crate) fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// Pointers to fields that are to be guarded; where in doubt, to more than was named.
pub(crate) fn guarded(fields: &[String], schema: &Json) -> Vec<String> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let every = || properties.into_iter().flatten().map(|(name, _)| format!("/{}", escape(name)));
    let pointers = |field: &String| match place(field, schema) {
        Some(InputField::Exact(pointer) | InputField::Around(pointer)) => vec![pointer],
        None => every().collect(),
    };
    fields.iter().flat_map(pointers).collect()
}

/// Pointers to fields that may be shown; where in doubt, none.
pub(crate) fn shown(fields: &[String], schema: &Json) -> Vec<String> {
    let pointer = |field: &String| match place(field, schema)? {
        InputField::Exact(pointer) => Some(pointer),
        InputField::Around(_) => None,
    };
    fields.iter().filter_map(pointer).collect()
}

/// Reports each schema of a record that describes something other than an object.
pub(crate) fn object_schemas(node: &Node, paths: &[&[&str]], report: &mut Report) {
    for path in paths {
        if let (Some(schema), Some(name)) = (node.at(path), path.last()) {
            object_schema(schema, name, report);
        }
    }
}

/// The capabilities that a tool needs. Unstated hosts mean any host, since none would be a claim.
pub(crate) fn needs(
    network: Option<BTreeSet<String>>,
    secrets: BTreeSet<String>,
) -> Option<Requires> {
    if network.is_none() && secrets.is_empty() {
        return None;
    }
    let network = network.unwrap_or_else(|| BTreeSet::from(["*".to_owned()]));
    Some(Requires { network, secrets, tools: BTreeSet::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn foreign_name_folds_to_id_and_ids_stay_unchanged() {
        for (name, id) in [
            ("payment.charge", Some("payment.charge")),
            ("read_file", Some("read-file")),
            ("FileRead", Some("file-read")),
            ("HTTPGet", Some("httpget")),
            ("urn:acme:Tools/web_search", Some("urn.acme.tools.web-search")),
            ("a.-b__c-.d.", Some("a.b-c.d")),
            ("検索", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(fold(name).as_deref(), id, "{name}");
        }
    }

    #[test]
    fn a_version_is_a_major_or_a_whole_one() {
        for (name, id, version) in [
            ("a.b@2", "a.b", Some("2.0.0")),
            ("a.b@2.1.3", "a.b", Some("2.1.3")),
            ("a.b", "a.b", None),
            ("a@latest", "a@latest", None),
        ] {
            assert_eq!(split_version(name), (id, version.map(str::to_owned)), "{name}");
        }
        assert_eq!(fold_reference("Undo_It@3.2.0").as_deref(), Some("undo-it@3"));
    }

    #[test]
    fn fields_are_guarded_too_widely_and_shown_too_narrowly() {
        let schema = json!({ "properties": { "card": {}, "a.b": {}, "c/d": {} } });
        let fields = ["card", "a.b", "c/d", "/x/y", "$.x.y", "items[].card", "/items/*/card", "*"]
            .map(str::to_owned);
        assert_eq!(
            guarded(&fields, &schema),
            [
                "/card", "/a.b", "/c~1d", "/x/y", "/x/y", "/items", "/items", "/card", "/a.b",
                "/c~1d"
            ]
        );
        assert_eq!(shown(&fields, &schema), ["/card", "/a.b", "/c~1d", "/x/y", "/x/y"]);
    }
}
