//! Prompt choices: what an approver may answer, and how to spell it.

use haft_model::{Decision, Opinion, Says};

/// The choice of an approver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Approve.
    Yes,
    /// Reject, with an optional reason.
    No(Option<String>),
    /// Approve with an edited input.
    Edit,
    /// Approve, and remember it for calls like this one.
    Always,
    /// Another approver may answer.
    Leave,
}

impl Choice {
    /// The choice of a line; none where it is none of them.
    pub(super) fn parse(line: &str, rememberable: bool) -> Option<Choice> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        match (word.to_lowercase().as_str(), rest) {
            ("y" | "yes", None) => Some(Choice::Yes),
            ("n" | "no", reason) => Some(Choice::No(reason)),
            ("e" | "edit", None) => Some(Choice::Edit),
            ("a" | "always", None) if rememberable => Some(Choice::Always),
            ("l" | "leave", None) => Some(Choice::Leave),
            (_, _) => None,
        }
    }
}

/// The choices that there are.
pub(super) fn menu(rememberable: bool) -> String {
    let always = if rememberable { "[a]lways  " } else { "" };
    format!("[y]es  [n]o, and why  [e]dit  {always}[l]eave it to the inbox > ")
}

/// The opinions that ask and that nothing answered.
pub(super) fn asks(decision: &Decision) -> impl Iterator<Item = &Opinion> {
    let opinions = decision.opinions.iter();
    opinions.filter(|opinion| opinion.says == Says::Ask && opinion.answered_by.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_choice_or_none() {
        for (line, expected) in [
            ("y\n", Some(Choice::Yes)),
            (" YES ", Some(Choice::Yes)),
            ("n", Some(Choice::No(None))),
            ("no  not on a Friday\n", Some(Choice::No(Some("not on a Friday".into())))),
            ("e", Some(Choice::Edit)),
            ("always", Some(Choice::Always)),
            ("l", Some(Choice::Leave)),
            ("", None),
            ("yes please", None),
            ("yep", None),
        ] {
            assert_eq!(Choice::parse(line, true), expected, "{line:?}");
        }
    }

    #[test]
    fn single_use_approval_offers_no_always_answer() {
        assert_eq!(Choice::parse("a", false), None);
        assert!(!menu(false).contains("always"));
    }
}
