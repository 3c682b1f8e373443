//! Protected path tests, by table and in every spelling.

use super::*;

fn kind(base: Base, path: &str) -> Option<GoverningKind> {
    let names: Vec<&str> = path.split('/').collect();
    governing(base, &names).map(|row| row.kind)
}

/// A seeded generator: the same seed gives the same spellings.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }

    /// Another spelling of a name that a lenient file system takes for the same.
    fn respelled(&mut self, name: &str) -> String {
        let mut spelled = String::new();
        for letter in name.chars() {
            match (self.below(6), letter) {
                (0, 's') => spelled.push('ſ'),
                (0, 'k') => spelled.push('\u{212a}'),
                (1, _) => spelled.extend(letter.to_uppercase()),
                (2, _) => spelled.extend([letter, '\u{200c}']),
                _ => spelled.push(letter),
            }
        }
        if self.below(5) == 0 { spelled + "." } else { spelled }
    }
}

#[test]
fn paths_govern_by_base_depth_and_kind() {
    use GoverningKind::*;
    let cases = [
        (Base::Workspace, "haft.toml", Some(Settings)),
        (Base::Workspace, "haft.lock", Some(Lock)),
        (Base::Workspace, ".cli/p/TOOL.md", Some(Manifest)),
        (Base::Workspace, "GOVERNANCE.md", Some(Manifest)),
        (Base::Workspace, "docs/haft.toml", None),
        (Base::Workspace, "src/main.rs", None),
        (Base::Workspace, "a/b/.haft/x", Some(State)),
        (Base::Workspace, ".git", Some(VersionControl)),
        (Base::Workspace, ".git/index", None),
        (Base::Workspace, ".git/config", Some(VersionControl)),
        (Base::Workspace, "a/.git/hooks/pre-commit", Some(VersionControl)),
        (Base::Workspace, ".git/modules/a/b/hooks/x", Some(VersionControl)),
        (Base::Workspace, ".git/modules/a/index", None),
        (Base::Workspace, ".git/worktrees/w/commondir", Some(VersionControl)),
        (Base::Workspace, ".git/worktrees/w/HEAD", None),
        (Base::Workspace, "a/.envrc", Some(Environment)),
        (Base::Workspace, ".github/workflows/ci.yml", Some(Pipeline)),
        (Base::Workspace, ".github/CODEOWNERS", None),
        (Base::Workspace, "x.code-workspace", Some(Editor)),
        (Base::Workspace, ".code-workspace", None),
        (Base::Workspace, ".bashrc", None),
        (Base::Home, ".bashrc", Some(Startup)),
        (Base::Home, ".ssh/authorized_keys", Some(Credentials)),
        (Base::Home, ".codex/auth.json", None),
        (Base::Home, ".codex/config.toml", Some(Client)),
        (Base::Home, ".local/state/haft/x", Some(State)),
        (Base::Folder, "haft.toml", None),
        (Base::Folder, "a/.git/config", Some(VersionControl)),
    ];
    for (base, path, expected) in cases {
        assert_eq!(kind(base, path), expected, "{base:?} {path}");
    }
}

#[test]
fn every_row_governs_in_any_spelling() {
    let mut seeded = Seeded(0x5eed_0001);
    for base in [Base::Workspace, Base::Home] {
        let anywhere = ANYWHERE.iter().map(|row| (row, "a/b/"));
        for (row, before) in rows(base).iter().map(|row| (row, "")).chain(anywhere) {
            for _ in 0..50 {
                let path = format!("{before}{}", row.pattern.replace("**", "x/y"));
                let path = path.replace('*', "x");
                let names: Vec<String> =
                    path.split('/').map(|name| seeded.respelled(name)).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                assert!(governing(base, &names).is_some(), "{names:?} of {}", row.pattern);
                let above = names.split_last().unwrap().1;
                let own = above.len() > before.matches('/').count();
                assert!(!own || leads_to_governing(base, above), "{above:?}");
            }
        }
    }
}

#[test]
fn rows_have_a_reason_and_are_no_duplicates() {
    for rows in [WORKSPACE, ANYWHERE, HOME] {
        for (at, row) in rows.iter().enumerate() {
            assert!(row.reason.len() > 10, "{}", row.pattern);
            let later = rows.get(at + 1..).unwrap_or_default();
            assert!(!later.iter().any(|other| other.pattern == row.pattern), "{}", row.pattern);
        }
    }
}
