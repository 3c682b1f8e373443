//! The tables of every document Haft reads.

pub mod action;
pub mod auth;
pub mod cli;
pub mod driver;
pub mod governance;
pub mod haft;
pub mod http;
pub mod io;
pub mod mcp;
pub mod policy;
pub mod runner;
pub mod sandbox;
pub mod sdk;
pub mod secrets;
pub mod tool;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use haft_notation::Pattern;

    use crate::shape::{Shape, Takes};

    const GOVERNING: [&Shape; 8] = [
        &super::policy::POLICY,
        &super::governance::RULE,
        &super::governance::WORKSPACE,
        &super::secrets::SECRETS,
        &super::auth::AUTH,
        &super::runner::RUNNER,
        &super::sandbox::SANDBOX,
        &super::io::FILES,
    ];

    fn walk(takes: &Takes) {
        match takes {
            Takes::Formed(form) => {
                assert!(form.pattern.as_ref().is_none_or(Pattern::compiles), "{}", form.what);
            }
            Takes::List(_, inner) | Takes::Set(inner) | Takes::Nullable(inner) => walk(inner),
            Takes::Names(form, inner) => {
                form.iter().for_each(|form| walk(&Takes::Formed(form)));
                walk(inner);
            }
            Takes::Map(shape) => shape.fields.iter().for_each(|field| walk(&field.takes)),
            Takes::Kinds(_, kinds) => kinds.iter().for_each(|(_, shape)| walk(&Takes::Map(shape))),
            Takes::Either(choices) => choices.iter().for_each(walk),
            Takes::Any
            | Takes::Text(..)
            | Takes::Word(_)
            | Takes::Integer(..)
            | Takes::Number(_)
            | Takes::Flag
            | Takes::Schema
            | Takes::Object => {}
        }
    }

    #[test]
    fn every_pattern_of_the_governing_documents_compiles() {
        GOVERNING.into_iter().for_each(|shape| walk(&Takes::Map(shape)));
    }

    #[test]
    fn a_code_means_one_thing() {
        let tables = GOVERNING.into_iter().flat_map(Shape::rules).map(|rule| rule.code);
        // A value in a secret is refused by the table and, deeper down, by the rule of that name.
        let stated = crate::rules::ALL.iter().map(|rule| rule.code).filter(|code| *code != "S040");
        let codes: Vec<_> = tables.chain(stated).collect();
        let distinct: BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), codes.len());
    }
}
