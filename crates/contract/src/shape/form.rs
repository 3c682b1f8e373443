//! Text formats: the texts that fields take, each with its pattern or parser and its message.

pub mod settings;

use haft_model::{Approval, parse_date, parse_duration, parse_timestamp};
use haft_notation::{NotationFault, Path, Pattern, Template, ecma_fault, range};

/// A kind of text.
pub struct TextFormat {
    /// The name of the format in messages: "a tool id".
    pub what: &'static str,
    /// The pattern it fits.
    pub pattern: Option<Pattern>,
    /// Fewest and most characters.
    pub length: (usize, usize),
    /// A check beyond the pattern.
    pub also: fn(&str) -> Option<NotationFault>,
    /// How to write one.
    pub help: &'static str,
}

impl TextFormat {
    /// The fault of a text, if it has one.
    pub fn fault(&self, text: &str) -> Option<NotationFault> {
        let length = text.chars().count();
        let (least, most) = self.length;
        if length < least || length > most {
            let wanted = match most {
                usize::MAX => format!(" (at least {least} characters)"),
                _ if least == most => format!(" ({most} characters)"),
                _ => format!(" ({least} to {most} characters)"),
            };
            return Some(self.refuse(text, wanted));
        }
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.fits(text)) {
            return Some(self.refuse(text, String::new()));
        }
        (self.also)(text)
    }

    fn refuse(&self, text: &str, detail: String) -> NotationFault {
        let shown: String = text.chars().take(80).collect();
        NotationFault::new(format!("`{shown}` is not {}{detail}", self.what)).help(self.help)
    }
}

const ANY_LENGTH: (usize, usize) = (0, usize::MAX);

const fn nothing(_: &str) -> Option<NotationFault> {
    None
}

/// Text that fits a pattern.
pub(crate) const fn pattern(
    what: &'static str,
    source: &'static str,
    length: (usize, usize),
    help: &'static str,
) -> TextFormat {
    TextFormat { what, pattern: Some(Pattern::new(source)), length, also: nothing, help }
}

const fn reader(
    what: &'static str,
    also: fn(&str) -> Option<NotationFault>,
    help: &'static str,
) -> TextFormat {
    TextFormat { what, pattern: None, length: (1, usize::MAX), also, help }
}

/// Text that is not empty.
pub static FILLED: TextFormat = reader("text", nothing, "write something");

/// A contract's id.
pub static TOOL_ID: TextFormat = pattern(
    "a tool id",
    r"^[a-z0-9][a-z0-9.\-]*[a-z0-9]$",
    (2, 80),
    "use 2 to 80 lowercase letters, digits, dots and dashes, beginning and ending with a letter or digit",
);

/// A name that models and clients see.
pub static EXPOSED_NAME: TextFormat = pattern(
    "a name for models",
    r"^[A-Za-z0-9_.\-]{1,64}$",
    ANY_LENGTH,
    "use 1 to 64 letters, digits, underscores, dots and dashes",
);

/// A driver's id.
pub static DRIVER_ID: TextFormat = pattern(
    "a driver id",
    r"^[a-z0-9][a-z0-9.\-]{1,79}$",
    ANY_LENGTH,
    "use 2 to 80 lowercase letters, digits, dots and dashes, beginning with a letter or digit",
);

/// A CLI bundle's id.
pub static CLI_ID: TextFormat = pattern(
    "a bundle id",
    r"^[a-z0-9][a-z0-9\-]{1,63}$",
    ANY_LENGTH,
    "use 2 to 64 lowercase letters, digits and dashes",
);

/// An action's id.
pub static ACTION_ID: TextFormat = pattern(
    "an action id",
    r"^[a-z0-9][a-z0-9.-]*(:[a-z0-9][a-z0-9.-]*)?$",
    (2, 80),
    "write `<target-kind>:<verb>`, as in `storage:commit`",
);

/// A version of a manifest.
pub static VERSION: TextFormat = TextFormat {
    what: "a version",
    pattern: Some(Pattern::new(r"^\d+\.\d+\.\d+(?:[-+][\w.\-]+)?$")),
    length: ANY_LENGTH,
    also: |text| {
        (!range::is_version(text))
            .then(|| NotationFault::new(format!("`{text}` is not a semantic version")))
    },
    help: "write three numbers, as in `1.0.0`",
};

/// A range of versions, as npm reads them.
pub static RANGE: TextFormat = reader(
    "a version range",
    |text| {
        range::parse(text).err().map(|_| {
            NotationFault::new(format!("`{text}` is not a version range"))
                .help("write a range as npm does: `^1.0.0`, `>=2.40 <3`, `1.x || 2.x`")
        })
    },
    "write a range as npm does: `^1.0.0`, `>=2.40 <3`, `1.x || 2.x`",
);

/// A range of versions of a package, as npm or pip reads them.
pub static PACKAGE_RANGE: TextFormat = reader(
    "a version range",
    |text| {
        let read = range::parse(text).or_else(|_| range::parse_python(text));
        read.err().map(|fault| fault.help("write a range as npm or pip does: `^1.0.0`, `~=1.4`"))
    },
    "write a range as npm or pip does: `^1.0.0`, `>=2.40 <3`, `>=1,<2`, `~=1.4`",
);

/// One entry of `mutates`.
pub static MUTATION: TextFormat = pattern(
    "a `<class>:<scope>` entry",
    r"^[a-z]+:[^\s]+$",
    ANY_LENGTH,
    "write `workspace:/path`, `network:host`, `database:table`, `secret:slug` or `external:service`",
);

/// An approval class.
pub static APPROVAL: TextFormat = TextFormat {
    what: "an approval class",
    pattern: Some(Pattern::new(r"^(auto|always|on-mutate|policy:[A-Za-z0-9_./-]+)$")),
    length: ANY_LENGTH,
    also: |text| {
        Approval::parse(text).is_none().then(|| NotationFault::new(format!("`{text}` is unknown")))
    },
    help: "use auto, on-mutate, always or policy:<name>",
};

/// A discovery tag.
pub static TAG: TextFormat = pattern(
    "a tag",
    r"^[a-z0-9][a-z0-9-]*$",
    ANY_LENGTH,
    "use lowercase letters, digits and dashes",
);

/// A tag of a driver.
pub static SHORT_TAG: TextFormat = pattern(
    "a tag",
    r"^[a-z0-9][a-z0-9\-]{0,63}$",
    ANY_LENGTH,
    "use at most 64 lowercase letters, digits and dashes",
);

/// A currency.
pub static CURRENCY: TextFormat =
    pattern("a currency", r"^[A-Z]{3}$", ANY_LENGTH, "use three capital letters, as in `EUR`");

/// An ISO 8601 duration.
pub static DURATION: TextFormat = reader(
    "a duration",
    |text| {
        parse_duration(text).is_none().then(|| {
            NotationFault::new(format!("`{text}` is not an ISO 8601 duration"))
                .help("write `PT10M` for ten minutes, `P7D` for a week")
        })
    },
    "write `PT10M` for ten minutes, `P7D` for a week",
);

/// A UTC day.
pub static DATE: TextFormat = reader(
    "a date",
    |text| {
        parse_date(text).is_none().then(|| {
            NotationFault::new(format!("`{text}` is not a date"))
                .help("write a UTC day, as in `2026-01-31`")
        })
    },
    "write a UTC day, as in `2026-01-31`",
);

/// An instant.
pub static DATE_TIME: TextFormat = reader(
    "a date and time",
    |text| {
        parse_timestamp(text).is_none().then(|| {
            NotationFault::new(format!("`{text}` is not an instant"))
                .help("write `2026-01-31T12:00:00Z`, in UTC")
        })
    },
    "write `2026-01-31T12:00:00Z`, in UTC",
);

/// An absolute address.
pub static URL: TextFormat = pattern(
    "a URL",
    r"^[a-z][a-z0-9+.-]*://[^\s]+$",
    ANY_LENGTH,
    "write it with its scheme, as in `https://api.example`",
);

const WEB_PATTERN: &str = r"^https?://[^\s/$?#]+[^\s]*$";

/// A web address.
pub static WEB_URL: TextFormat = pattern(
    "a web address",
    WEB_PATTERN,
    ANY_LENGTH,
    "write it with its scheme, as in `https://api.example`",
);

/// Text with placeholders.
pub static TEMPLATE: TextFormat = TextFormat {
    what: "a template",
    pattern: None,
    length: ANY_LENGTH,
    also: |text| Template::parse(text).err(),
    help: "placeholders look like `${input.name}`",
};

/// A path into an answer.
pub static JSON_PATH: TextFormat = reader(
    "a path",
    |text| Path::parse(text).err(),
    "a path is `$` followed by `.name`, `[0]`, `[*]` or `[?(@.key=='value')]`",
);

/// A regular expression with a group.
pub static VERSION_PATTERN: TextFormat =
    reader("a pattern", ecma_fault, "put the version in a group");

/// A JSON pointer.
pub static POINTER: TextFormat =
    pattern("a JSON pointer", r"^(/[^/]+)+$", ANY_LENGTH, "write `/card` or `/customer/email`");

/// A name of an environment variable.
pub static ENVIRONMENT_NAME: TextFormat = pattern(
    "the name of an environment variable",
    r"^[A-Z_][A-Z0-9_]*$",
    ANY_LENGTH,
    "use capital letters, digits and underscores",
);

/// A slug of letters, digits and dashes.
pub static SLUG: TextFormat = pattern(
    "a slug",
    r"^[a-z][a-z0-9-]*[a-z0-9]$",
    (2, 64),
    "use 2 to 64 lowercase letters, digits and dashes, beginning with a letter",
);

/// A path inside the workspace.
pub static INSIDE: TextFormat = reader(
    "a path inside the workspace",
    |text| {
        let escapes = text.starts_with('/') || text.split(['/', '\\']).any(|step| step == "..");
        escapes.then(|| {
            NotationFault::new(format!("`{text}` leaves the workspace"))
                .help("name a file below the workspace's root")
        })
    },
    "name a file below the workspace's root",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for form in [
            &TOOL_ID,
            &EXPOSED_NAME,
            &DRIVER_ID,
            &CLI_ID,
            &ACTION_ID,
            &VERSION,
            &MUTATION,
            &APPROVAL,
            &TAG,
            &SHORT_TAG,
            &CURRENCY,
            &URL,
            &WEB_URL,
            &POINTER,
            &ENVIRONMENT_NAME,
            &SLUG,
        ] {
            assert!(form.pattern.as_ref().is_some_and(Pattern::compiles), "{}", form.what);
        }
    }
}
