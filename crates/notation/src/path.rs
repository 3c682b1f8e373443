//! JSONPath-lite: `$`, `.name`, `[0]`, `[*]` and `[?(@.key=='value')]`, and nothing else.
//!
//! The subset of AIP-31. A path that stays in it is a path of RFC 9535 with the same meaning, so
//! the engine behind it is an ordinary one.

use crate::NotationFault;

/// A path into a backend's answer.
#[derive(Clone, Debug)]
pub struct Path {
    whole: serde_json_path::JsonPath,
    /// The part before the first step that finds many, if there is one.
    stem: Option<serde_json_path::JsonPath>,
}

impl Path {
    /// Reads a path, refusing everything outside the subset by name.
    pub fn parse(text: &str) -> Result<Path, NotationFault> {
        let Some(mut rest) = text.strip_prefix('$') else {
            return Err(NotationFault::new(format!("the path `{text}` does not start with `$`")));
        };
        while !rest.is_empty() {
            rest = step(rest).map_err(|what| {
                NotationFault::new(format!("the path `{text}` uses {what}")).help(HELP)
            })?;
        }
        let parse = |part: &str| {
            serde_json_path::JsonPath::parse(part).map_err(|cause| {
                NotationFault::new(format!("the path `{text}` does not parse: {cause}"))
            })
        };
        let many = ["[*]", "[?"].iter().filter_map(|step| text.find(step)).min();
        let stem = many.and_then(|end| text.get(..end)).map(parse).transpose()?;
        Ok(Path { whole: parse(text)?, stem })
    }

    /// The values that the path selects.
    pub fn find<'a>(&self, value: &'a serde_json::Value) -> Vec<&'a serde_json::Value> {
        self.whole.query(value).all()
    }

    /// The value that the path selects: a list where it can select many, `None` where it selects
    /// nothing.
    pub fn extract(&self, value: &serde_json::Value) -> Option<serde_json::Value> {
        match &self.stem {
            Some(stem) => {
                stem.query(value).exactly_one().ok()?;
                Some(self.find(value).into_iter().cloned().collect())
            }
            None => self.whole.query(value).exactly_one().ok().cloned(),
        }
    }

    /// JSON pointer of the one value that the path selects.
    pub fn place(&self, value: &serde_json::Value) -> Option<String> {
        let found = self.whole.query_located(value);
        found.exactly_one().ok().map(|node| node.location().to_json_pointer())
    }
}

const HELP: &str = "a path is `$` followed by `.name`, `[0]`, `[*]` or `[?(@.key=='value')]`";

/// Eats one step of the subset, or names what is not in it.
fn step(rest: &str) -> Result<&str, String> {
    if rest.starts_with("..") {
        return Err("`..`, which searches at every depth".into());
    }
    if let Some(name) = rest.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        return match name {
            "" => Err("an empty name".into()),
            "*" => Err("`.*`".into()),
            name if name.chars().all(plain) => Ok(after),
            name => Err(format!("`{name}`, which is not a plain name")),
        };
    }
    let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Err(format!("`{rest}`, which is no step"));
    };
    let is_index = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
    if is_index || inside == "*" || is_equality(inside) {
        return Ok(after);
    }
    Err(match inside {
        slice if slice.contains(':') => format!("`[{slice}]`, which is a slice"),
        other => format!("`[{other}]`"),
    })
}

/// Whether the inside of brackets is `?(@.key=='value')`.
fn is_equality(inside: &str) -> bool {
    let Some(test) = inside.strip_prefix("?(@.").and_then(|test| test.strip_suffix(')')) else {
        return false;
    };
    let Some((key, value)) = test.split_once("==") else { return false };
    let quoted = value.trim();
    let key_is_plain = key.trim().chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    key_is_plain
        && quoted.len() >= 2
        && (quoted.starts_with('\'') && quoted.ends_with('\'')
            || quoted.starts_with('"') && quoted.ends_with('"'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_subset_is_read_and_finds_what_it_says() {
        let value = json!({"rows": [{"k": "a", "n": 1}, {"k": "b", "n": 2}]});
        let find = |path: &str| {
            json!(Path::parse(path).unwrap().find(&value).into_iter().cloned().collect::<Vec<_>>())
        };
        assert_eq!(find("$.rows[1].n"), json!([2]));
        assert_eq!(find("$.rows[*].k"), json!(["a", "b"]));
        assert_eq!(find("$.rows[?(@.k=='b')]"), json!([{"k": "b", "n": 2}]));
        assert_eq!(find("$"), json!([value]));
    }

    #[test]
    fn missing_path_differs_from_empty_list() {
        let value = json!({"rows": [{"n": 1}, {"n": 2}], "none": []});
        let extract = |path: &str| Path::parse(path).unwrap().extract(&value);
        assert_eq!(extract("$.rows[1].n"), Some(json!(2)));
        assert_eq!(extract("$.rows[*].n"), Some(json!([1, 2])));
        assert_eq!(extract("$.none[*]"), Some(json!([])));
        assert_eq!(extract("$.gone[*]"), None);
        assert_eq!(extract("$.rows[7].n"), None);
    }

    #[test]
    fn path_to_single_value_has_json_pointer() {
        let value = json!({"a/b": 1, "rows": [{"n": 1}, {"n": 2}]});
        let place = |path: &str| Path::parse(path).unwrap().place(&value);
        for (path, expected) in [
            ("$", Some("")),
            ("$.rows[1].n", Some("/rows/1/n")),
            ("$.rows[*].n", None),
            ("$.x", None),
        ] {
            assert_eq!(place(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for (path, why) in [
            ("rows", "does not start with `$`"),
            ("$..n", "searches at every depth"),
            ("$.rows[0:2]", "is a slice"),
            ("$.rows[?(@.n>1)]", "`[?(@.n>1)]`"),
            ("$.rows[?length(@.k)==1]", "`[?length(@.k)==1]`"),
            ("$.*", "`.*`"),
            ("$.rows[", "is no step"),
        ] {
            let fault = Path::parse(path).unwrap_err();
            assert!(fault.message.contains(why), "{path}: {}", fault.message);
        }
    }
}
