//! Wire names: the names by which clients and models call tools, such as `fs_read` for `fs.read`.
//!
//! INVARIANT: a name has at most 48 letters, digits, `_` and `-` and begins with a letter or `_`, no
//! two tools share one, no name is another tool's id or alias, and the names depend on nothing but
//! the set of contracts: neither on the order of loading nor on the wire.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use haft_contract::Contract;
use haft_model::{Digest, Tier, ToolId, ToolKey};

/// The longest name: most clients take 64 characters, some 60, and put a prefix of their own first.
pub const LONGEST_NAME: usize = 48;

/// The tool that searches what a list leaves out.
pub const TOOL_SEARCH: &str = "tool_search";

/// The tool that loads the schemas of what a search found.
pub const TOOL_LOAD: &str = "tool_load";

/// Digits of the digest that keeps a name apart from others.
const DIGITS: usize = 8;

/// The wire names of a set of contracts.
#[derive(Clone, Debug, Default)]
pub struct WireNames {
    names: HashMap<ToolKey, Arc<str>>,
    keys: HashMap<Arc<str>, ToolKey>,
}

/// What a wanted name is made of. The first claim in this order keeps a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    /// The id. No two ids give the same name.
    Id,
    /// `exposed_as`, which an author may have given twice.
    Exposure,
    /// The id and the major, of every major but the one that the id means.
    OlderMajor,
}

/// One contract that wants a name.
struct Applicant<'c> {
    key: &'c ToolKey,
    claim: Claim,
    wanted: String,
    aliases: &'c [String],
}

impl WireNames {
    /// A name for each contract.
    ///
    /// A contract gets its `exposed_as`, or its id, with underscores for what a name does not take.
    /// Where that is too long, reserved, another tool's id or alias, or wanted by another tool with an
    /// equal or stronger claim, it ends with a part of the key's digest. So a tool whose name is its
    /// id keeps it whatever is added, unless an alias is declared to be that name.
    pub fn of<'c>(contracts: impl IntoIterator<Item = &'c Contract>) -> WireNames {
        let mut contracts: Vec<&Contract> = contracts.into_iter().collect();
        contracts.sort_by_key(|contract| contract.key());
        let main = main_majors(&contracts);
        let applicants: Vec<Applicant<'_>> =
            contracts.iter().map(|contract| Applicant::new(contract, &main)).collect();
        let mut declared: BTreeMap<&str, BTreeSet<&ToolId>> = BTreeMap::new();
        for one in &applicants {
            for name in one.aliases.iter().map(String::as_str).chain([one.key.id.as_str()]) {
                declared.entry(name).or_default().insert(&one.key.id);
            }
        }
        let may_have = |one: &Applicant<'_>| {
            let name = one.wanted.as_str();
            let is_others = |ids: &BTreeSet<&ToolId>| ids.iter().any(|id| **id != one.key.id);
            name.len() <= LONGEST_NAME
                && !is_reserved(name)
                && !declared.get(name).is_some_and(is_others)
        };
        // A claim that cannot hold takes no name from another.
        let mut claims: BTreeMap<&str, Vec<Claim>> = BTreeMap::new();
        for one in applicants.iter().filter(|one| may_have(one)) {
            claims.entry(&one.wanted).or_default().push(one.claim);
        }
        let keeps = |one: &Applicant<'_>| {
            let rivals = claims.get(one.wanted.as_str()).into_iter().flatten();
            may_have(one) && rivals.filter(|claim| **claim <= one.claim).count() == 1
        };
        let wanted = applicants.iter().map(|one| one.wanted.as_str());
        let known = wanted.chain(declared.keys().copied());
        let mut taken: BTreeSet<String> = known.map(str::to_owned).collect();
        let mut names = WireNames::default();
        for one in &applicants {
            let name = if keeps(one) { one.wanted.clone() } else { one.marked(&mut taken) };
            names.insert(one.key, name);
        }
        names
    }

    fn insert(&mut self, key: &ToolKey, name: String) {
        let name: Arc<str> = name.into();
        self.names.insert(key.clone(), name.clone());
        self.keys.insert(name, key.clone());
    }

    /// The name of a tool.
    pub fn name(&self, key: &ToolKey) -> Option<&Arc<str>> {
        self.names.get(key)
    }

    /// The tool of a name.
    pub fn key(&self, name: &str) -> Option<&ToolKey> {
        self.keys.get(name)
    }
}

/// Whether a name fits the rule.
pub fn is_wire_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_taken)
}

/// Names of our own tools on every wire.
fn is_reserved(name: &str) -> bool {
    let calls = [Tier::Read, Tier::Write, Tier::Destructive].map(Tier::way);
    name == TOOL_SEARCH || name == TOOL_LOAD || calls.contains(&name)
}

/// The major that each id means: the highest stable one, or else the highest.
fn main_majors<'c>(contracts: &[&'c Contract]) -> HashMap<&'c str, u64> {
    let mut best: HashMap<&str, (bool, u64)> = HashMap::new();
    for contract in contracts {
        let key = contract.key();
        let rank = (!contract.tool.version.contains('-'), key.major);
        let known = best.entry(key.id.as_str()).or_insert(rank);
        *known = (*known).max(rank);
    }
    best.into_iter().map(|(id, (_, major))| (id, major)).collect()
}

fn is_taken(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

fn mangled(text: &str) -> String {
    let name: String = text.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' => name,
        Some(_) | None => format!("_{name}"),
    }
}

impl<'c> Applicant<'c> {
    fn new(contract: &'c Contract, main: &HashMap<&str, u64>) -> Applicant<'c> {
        let (key, extras) = (contract.key(), &contract.tool.extras);
        let is_main = main.get(key.id.as_str()) == Some(&key.major);
        let (claim, wanted) = match &extras.exposed_as {
            Some(exposed) if is_main => (Claim::Exposure, exposed.clone()),
            None if is_main => (Claim::Id, key.id.to_string()),
            Some(_) | None => (Claim::OlderMajor, format!("{}_v{}", key.id, key.major)),
        };
        Applicant { key, claim, wanted: mangled(&wanted), aliases: &extras.aliases }
    }

    /// A truncated name with a part of the key's digest, which nothing else has.
    fn marked(&self, taken: &mut BTreeSet<String>) -> String {
        let beginning: String = self.wanted.chars().take(LONGEST_NAME - DIGITS - 1).collect();
        let mut seed = self.key.to_string();
        loop {
            let digest = Digest::of(&seed);
            let digits = digest.as_str().trim_start_matches("sha256:");
            let candidate = format!("{beginning}_{}", digits.get(..DIGITS).unwrap_or(digits));
            if taken.insert(candidate.clone()) {
                return candidate;
            }
            // A tool may be named like another's digest; the next digest is as good.
            seed = digits.to_owned();
        }
    }
}
