//! JSON scanner: walks strings, numbers and structure without building values.

use std::borrow::Cow;
use std::collections::HashSet;

use super::decimal::is_exact_number;
use super::{JsonFlaw, JsonFlawKind, JsonScope};

/// Twice as deep as values are read. A parser skips unwanted members at any depth, so deeper
/// nesting is a flaw and not the end of the search.
const DEEPEST: u32 = 256;

/// Keys of an object that are compared one by one before a hash table is used.
const FEW: usize = 12;

/// Why the scan ended early.
enum Halt {
    /// The text is no JSON.
    NotJson,
    Flaw(JsonFlaw),
}

type Step = Result<(), Halt>;

/// How the scanner treats the current value.
#[derive(Clone, Copy)]
enum Mode<'s> {
    /// Checks it for flaws.
    Check,
    /// Skips it until a path leads in; duplicate keys on the way are flaws.
    Follow(Trail<'s>),
    /// Skips it until a key of this name; duplicate keys are flaws anywhere.
    Seek(&'s str),
    /// Skips it.
    Skip,
}

/// Paths that lead here, and how far.
#[derive(Clone, Copy)]
struct Trail<'s> {
    paths: &'s [&'s [&'s str]],
    depth: usize,
    /// One bit for each of the paths that lead here.
    live: u8,
}

impl<'s> Trail<'s> {
    fn start(paths: &'s [&'s [&'s str]]) -> Mode<'s> {
        if paths.iter().any(|path| path.is_empty()) {
            return Mode::Check;
        }
        Mode::Follow(Trail { paths, depth: 0, live: u8::MAX })
    }

    fn step(self, key: &str) -> Mode<'s> {
        let mut live = 0;
        for (index, path) in self.paths.iter().enumerate().take(u8::BITS as usize) {
            let bit = 1 << index;
            if self.live & bit != 0 && path.get(self.depth) == Some(&key) {
                if path.len() == self.depth + 1 {
                    return Mode::Check;
                }
                live |= bit;
            }
        }
        match live {
            0 => Mode::Skip,
            live => Mode::Follow(Trail { live, depth: self.depth + 1, ..self }),
        }
    }
}

pub(super) fn first_flaw(text: &[u8], scope: JsonScope<'_>) -> Option<JsonFlaw> {
    let mode = match scope {
        JsonScope::Whole => Mode::Check,
        JsonScope::Below(paths) => Trail::start(paths),
        JsonScope::Member(name) => Mode::Seek(name),
    };
    let mut scan = Scan { text, at: 0 };
    loop {
        match scan.value(mode, 0) {
            Err(Halt::Flaw(flaw)) => return Some(flaw),
            Err(Halt::NotJson) => return None,
            Ok(()) => {}
        }
        // A text may hold several values in a row.
        scan.space();
        if scan.at >= text.len() {
            return None;
        }
    }
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Step {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            _ => Err(Halt::NotJson),
        }
    }

    fn value(&mut self, mode: Mode<'_>, depth: u32) -> Step {
        if depth > DEEPEST {
            let kind = JsonFlawKind::TooDeep;
            return Err(Halt::Flaw(JsonFlaw { pointer: String::new(), kind }));
        }
        self.space();
        match self.peek().ok_or(Halt::NotJson)? {
            b'{' => self.object(mode, depth),
            b'[' => self.array(mode, depth),
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number(mode),
            b'a'..=b'z' => {
                while self.peek().is_some_and(|byte| byte.is_ascii_lowercase()) {
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(Halt::NotJson),
        }
    }

    fn number(&mut self, mode: Mode<'_>) -> Step {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        match mode {
            Mode::Check if !is_exact_number(text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                let kind = JsonFlawKind::InexactNumber(text);
                Err(Halt::Flaw(JsonFlaw { pointer: String::new(), kind }))
            }
            Mode::Check | Mode::Follow(_) | Mode::Seek(_) | Mode::Skip => Ok(()),
        }
    }

    /// A string, without its quotes and as it is written.
    fn string(&mut self) -> Result<&'t [u8], Halt> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.peek().ok_or(Halt::NotJson)? {
                b'"' => {
                    let text = self.text.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn array(&mut self, mode: Mode<'_>, depth: u32) -> Step {
        self.take(b'[')?;
        self.space();
        if self.peek() == Some(b']') {
            return self.take(b']');
        }
        // A path of keys leads through objects alone.
        let mode = if let Mode::Follow(_) = mode { Mode::Skip } else { mode };
        let mut index = 0_usize;
        loop {
            self.value(mode, depth + 1).map_err(|halt| halt.inside(|| index.to_string()))?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.take(b']'),
            }
            index += 1;
        }
    }

    fn object(&mut self, mode: Mode<'_>, depth: u32) -> Step {
        self.take(b'{')?;
        self.space();
        if self.peek() == Some(b'}') {
            return self.take(b'}');
        }
        let mut keys = Keys::default();
        loop {
            self.space();
            let written = self.string()?;
            let checks = !matches!(mode, Mode::Skip);
            if checks && !keys.add(written) {
                let key = decoded(written).into_owned();
                let kind = JsonFlawKind::DuplicateKey(key.clone());
                let flaw = JsonFlaw { pointer: String::new(), kind };
                return Err(Halt::Flaw(flaw.inside(&key)));
            }
            self.space();
            self.take(b':')?;
            self.value(mode.below(written), depth + 1)
                .map_err(|halt| halt.inside(|| decoded(written).into_owned()))?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.take(b'}'),
            }
        }
    }
}

impl Halt {
    fn inside(self, key: impl FnOnce() -> String) -> Halt {
        match self {
            Halt::NotJson => Halt::NotJson,
            Halt::Flaw(flaw) => Halt::Flaw(flaw.inside(&key())),
        }
    }
}

impl Mode<'_> {
    /// The mode below a key.
    fn below(self, written: &[u8]) -> Self {
        match self {
            Mode::Follow(trail) => trail.step(&decoded(written)),
            Mode::Seek(name) if *decoded(written) == *name => Mode::Check,
            same @ (Mode::Check | Mode::Seek(_) | Mode::Skip) => same,
        }
    }
}

/// The keys of one object; a few need no table.
#[derive(Default)]
struct Keys<'t> {
    few: [&'t [u8]; FEW],
    count: usize,
    /// Whether a key was written with escapes, so that bytes no longer tell keys apart.
    is_escaped: bool,
    many: HashSet<Cow<'t, str>>,
}

impl<'t> Keys<'t> {
    /// Whether a key is new here.
    fn add(&mut self, written: &'t [u8]) -> bool {
        self.is_escaped |= written.contains(&b'\\');
        if self.many.is_empty() && !self.is_escaped && self.count < FEW {
            let before = self.few.get(..self.count).unwrap_or_default();
            if before.contains(&written) {
                return false;
            }
            if let Some(place) = self.few.get_mut(self.count) {
                *place = written;
            }
            self.count += 1;
            return true;
        }
        if self.many.is_empty() {
            for key in self.few.get(..self.count).unwrap_or_default() {
                self.many.insert(decoded(key));
            }
        }
        self.many.insert(decoded(written))
    }
}

/// A key with its escapes decoded: two spellings of one key are the same key. An undecodable key
/// stays as written, since a parser that skips it does not decode it either.
fn decoded(written: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(written);
    if !text.contains('\\') {
        return text;
    }
    serde_json::from_str(&format!("\"{text}\"")).map_or(text, Cow::Owned)
}
