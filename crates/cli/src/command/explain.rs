//! `haft explain`: a page for every error code, a sentence for every rule.

use anyhow::Result;
use haft_contract::{Severity, all_rules, did_you_mean};
use haft_model::Code;
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// An error code such as `route.none`, or a rule such as `T012`; all rules when absent.
    code: Option<String>,
}

macro_rules! pages {
    ($($name:literal)*) => {
        /// The page of an error code.
        fn page(code: &str) -> Option<&'static str> {
            match code {
                $($name => Some(include_str!(concat!("../../../../docs/errors/", $name, ".md"))),)*
                _ => None,
            }
        }
    };
}

pages! {
    "tool.unknown" "tool.blocked" "tool.schema_not_loaded" "input.schema" "input.value"
    "input.number_not_exact" "input.context" "input.unsupported" "input.mutation" "route.none" "route.pin_unavailable"
    "route.policy" "route.region" "setup.required" "credential.missing" "hook.blocked"
    "hook.failed" "hook.post_failed" "permission.denied" "policy.blocked" "approval.required"
    "approval.rejected" "approval.expired" "sandbox.violation" "effect.undeclared" "rate.limited"
    "timeout.before_submit" "timeout.unknown_commit" "dependency.unavailable" "store.unavailable"
    "execution.failed"
    "resource.not_found" "conflict" "effect.partial" "compensation.failed" "output.invalid"
    "result.too_large" "result.redacted" "canceled.caller" "canceled.sibling" "canceled.discarded"
    "internal"
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let rules = all_rules();
    let Some(wanted) = arguments.code else {
        if context.json {
            let rules: Vec<_> = rules
                .iter()
                .map(|rule| json!({ "code": rule.code, "severity": rule.severity, "about": rule.about }))
                .collect();
            output::json(&json!({ "rules": rules, "errors": Code::ALL }))?;
        } else {
            for rule in rules {
                output::line(format!(
                    "{}  {}  {}",
                    rule.code,
                    severity(rule.severity),
                    rule.about
                ))?;
            }
        }
        return Ok(Exit::Done);
    };
    if let Some(page) = page(&wanted) {
        match context.json {
            true => output::json(&json!({ "code": wanted, "page": page }))?,
            false => output::line(page.trim_end())?,
        }
        return Ok(Exit::Done);
    }
    if let Some(rule) = rules.iter().find(|rule| rule.code.eq_ignore_ascii_case(&wanted)) {
        if context.json {
            output::json(
                &json!({ "code": rule.code, "severity": rule.severity, "about": rule.about }),
            )?;
            return Ok(Exit::Done);
        }
        output::line(format!(
            "{} ({}): {}",
            rule.code,
            severity(rule.severity).trim(),
            rule.about
        ))?;
        return Ok(Exit::Done);
    }
    let known = Code::ALL.iter().map(|code| code.name()).chain(rules.iter().map(|rule| rule.code));
    output::remark(format!("there is no code `{wanted}`"));
    if let Some(near) = did_you_mean(&wanted, known) {
        output::remark(format!("help: did you mean `{near}`?"));
    }
    Ok(Exit::INVALID)
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error  ",
        Severity::Warning => "warning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_has_its_page() {
        for code in Code::ALL {
            assert!(page(code.name()).is_some_and(|page| page.len() > 200), "{code}");
        }
    }
}
