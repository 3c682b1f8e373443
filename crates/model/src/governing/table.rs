//! Table of protected paths, each row with its reason.

use super::Extent::{Entry, Whole};
use super::GoverningKind::{
    Client, Credentials, Editor, Environment, Lock, Manifest, Pipeline, Settings, Startup, State,
    VersionControl,
};
use super::{Extent, Governing, GoverningKind, LOCK_FILE, SETTINGS_FILE, STATE_FOLDER};
use super::{MANIFEST_FILES, MANIFEST_FOLDERS};

const fn row(
    pattern: &'static str,
    kind: GoverningKind,
    extent: Extent,
    reason: &'static str,
) -> Governing {
    Governing { pattern, kind, extent, reason }
}

/// The loader's folders and files, taken from its own lists, before the other rows of a workspace.
#[expect(clippy::indexing_slicing, reason = "an index beyond the end fails the build")]
const fn workspace() -> [Governing; READ + OTHERS.len()] {
    let first = row(SETTINGS_FILE, Settings, Whole, SETS);
    let mut rows = [first; READ + OTHERS.len()];
    let (mut at, mut from) = (1, 0);
    while from < MANIFEST_FOLDERS.len() {
        rows[at] = row(MANIFEST_FOLDERS[from], Manifest, Whole, SAYS);
        (at, from) = (at + 1, from + 1);
    }
    from = 0;
    while from < MANIFEST_FILES.len() {
        rows[at] = row(MANIFEST_FILES[from], Manifest, Whole, SAYS);
        (at, from) = (at + 1, from + 1);
    }
    from = 0;
    while from < OTHERS.len() {
        rows[at] = OTHERS[from];
        (at, from) = (at + 1, from + 1);
    }
    rows
}

const READ: usize = 1 + MANIFEST_FOLDERS.len() + MANIFEST_FILES.len();
const SAYS: &str = "the loader reads it: it says what tools may do and who may allow it";
const SETS: &str = "it sets the sandbox, the policies, the hooks and who may call";
const EDITOR: &str = "an editor that opens the folder executes what it names";
const PIPELINE: &str = "a pipeline executes it with secrets of its own";
const COMMIT: &str = "a hook of version control executes it at the next commit";
const CLIENT: &str = "a client starts the programs and the hooks that it names";
const SHELL: &str = "a shell executes it when it starts";
const SESSION: &str = "a session executes it when it begins";
const GIT: &str = "git executes what it names: hooks, filters, editors, transports";
const REDIRECT: &str = "it sends git to another folder, with hooks and a configuration of its own";
const ENVIRONMENT: &str = "it is executed when the folder is entered";

/// From the root of a workspace.
pub(super) const WORKSPACE: &[Governing] = &workspace();

#[rustfmt::skip]
const OTHERS: &[Governing] = &[
    row(LOCK_FILE, Lock, Whole, "it holds what people accepted"),
    row(".hooks", Manifest, Whole, "hooks of a workspace lie there, and they decide about calls"),
    row(".imports", State, Whole, "an import decides by it which manifests it replaces and removes"),
    row("mise.toml", Environment, Whole, ENVIRONMENT),
    row(".mise.toml", Environment, Whole, ENVIRONMENT),
    row(".mise", Environment, Whole, ENVIRONMENT),
    row(".vscode", Editor, Whole, EDITOR),
    row("*.code-workspace", Editor, Whole, EDITOR),
    row(".idea", Editor, Whole, EDITOR),
    row(".run", Editor, Whole, EDITOR),
    row(".fleet", Editor, Whole, EDITOR),
    row(".zed", Editor, Whole, EDITOR),
    row(".theia", Editor, Whole, EDITOR),
    row(".devcontainer", Editor, Whole, EDITOR),
    row(".devcontainer.json", Editor, Whole, EDITOR),
    row(".exrc", Editor, Whole, EDITOR),
    row(".nvimrc", Editor, Whole, EDITOR),
    row(".nvim.lua", Editor, Whole, EDITOR),
    row(".dir-locals.el", Editor, Whole, EDITOR),
    row(".github/workflows", Pipeline, Whole, PIPELINE),
    row(".github/actions", Pipeline, Whole, PIPELINE),
    row(".forgejo", Pipeline, Whole, PIPELINE),
    row(".gitea", Pipeline, Whole, PIPELINE),
    row(".gitlab-ci.yml", Pipeline, Whole, PIPELINE),
    row(".gitlab", Pipeline, Whole, PIPELINE),
    row(".circleci", Pipeline, Whole, PIPELINE),
    row(".buildkite", Pipeline, Whole, PIPELINE),
    row(".teamcity", Pipeline, Whole, PIPELINE),
    row(".woodpecker", Pipeline, Whole, PIPELINE),
    row(".woodpecker.yml", Pipeline, Whole, PIPELINE),
    row(".woodpecker.yaml", Pipeline, Whole, PIPELINE),
    row(".drone.yml", Pipeline, Whole, PIPELINE),
    row(".travis.yml", Pipeline, Whole, PIPELINE),
    row(".cirrus.yml", Pipeline, Whole, PIPELINE),
    row(".appveyor.yml", Pipeline, Whole, PIPELINE),
    row("appveyor.yml", Pipeline, Whole, PIPELINE),
    row("azure-pipelines.yml", Pipeline, Whole, PIPELINE),
    row(".azure-pipelines", Pipeline, Whole, PIPELINE),
    row("bitbucket-pipelines.yml", Pipeline, Whole, PIPELINE),
    row("cloudbuild.yaml", Pipeline, Whole, PIPELINE),
    row("Jenkinsfile", Pipeline, Whole, PIPELINE),
    row(".husky", Pipeline, Whole, COMMIT),
    row(".githooks", Pipeline, Whole, COMMIT),
    row(".pre-commit-config.yaml", Pipeline, Whole, COMMIT),
    row(".pre-commit-hooks.yaml", Pipeline, Whole, COMMIT),
    row(".overcommit.yml", Pipeline, Whole, COMMIT),
    row("lefthook.yml", Pipeline, Whole, COMMIT),
    row("lefthook.yaml", Pipeline, Whole, COMMIT),
    row("lefthook.toml", Pipeline, Whole, COMMIT),
    row("lefthook.json", Pipeline, Whole, COMMIT),
    row("lefthook.jsonc", Pipeline, Whole, COMMIT),
    row(".lefthook.yml", Pipeline, Whole, COMMIT),
    row(".lefthook.yaml", Pipeline, Whole, COMMIT),
    row(".lefthook.toml", Pipeline, Whole, COMMIT),
    row(".lefthook.json", Pipeline, Whole, COMMIT),
    row(".lefthook.jsonc", Pipeline, Whole, COMMIT),
    row("lefthook-local.yml", Pipeline, Whole, COMMIT),
    row("lefthook-local.yaml", Pipeline, Whole, COMMIT),
    row("lefthook-local.toml", Pipeline, Whole, COMMIT),
    row("lefthook-local.json", Pipeline, Whole, COMMIT),
    row("lefthook-local.jsonc", Pipeline, Whole, COMMIT),
    row(".lefthook-local.yml", Pipeline, Whole, COMMIT),
    row(".lefthook-local.yaml", Pipeline, Whole, COMMIT),
    row(".lefthook-local.toml", Pipeline, Whole, COMMIT),
    row(".lefthook-local.json", Pipeline, Whole, COMMIT),
    row(".lefthook-local.jsonc", Pipeline, Whole, COMMIT),
    row(".lefthook", Pipeline, Whole, COMMIT),
    row(".mcp.json", Client, Whole, CLIENT),
    row(".claude", Client, Whole, CLIENT),
    row(".cursor", Client, Whole, CLIENT),
    row(".codex", Client, Whole, CLIENT),
    row(".gemini", Client, Whole, CLIENT),
    row("opencode.json", Client, Whole, CLIENT),
    row("opencode.jsonc", Client, Whole, CLIENT),
    row(".opencode", Client, Whole, CLIENT),
    row(".windsurf", Client, Whole, CLIENT),
    row(".cline", Client, Whole, CLIENT),
    row(".roo", Client, Whole, CLIENT),
    row(".goose", Client, Whole, CLIENT),
    row(".continue", Client, Whole, CLIENT),
    row(".kiro", Client, Whole, CLIENT),
    row(".amazonq", Client, Whole, CLIENT),
    row(".aider.conf.yml", Client, Whole, CLIENT),
];

/// At every depth: repositories and environments lie inside one another.
#[rustfmt::skip]
pub(super) const ANYWHERE: &[Governing] = &[
    row(STATE_FOLDER, State, Whole, "Haft keeps its records, its vault and its quarantine there"),
    row(".git", VersionControl, Entry, REDIRECT),
    row(".git/config", VersionControl, Whole, GIT),
    row(".git/config.worktree", VersionControl, Whole, GIT),
    row(".git/hooks", VersionControl, Whole, GIT),
    row(".git/commondir", VersionControl, Whole, REDIRECT),
    row(".git/worktrees/*/config.worktree", VersionControl, Whole, GIT),
    row(".git/worktrees/*/commondir", VersionControl, Whole, REDIRECT),
    row(".git/modules/**/config", VersionControl, Whole, GIT),
    row(".git/modules/**/config.worktree", VersionControl, Whole, GIT),
    row(".git/modules/**/hooks", VersionControl, Whole, GIT),
    row(".git/modules/**/commondir", VersionControl, Whole, REDIRECT),
    row(".gitmodules", VersionControl, Whole, "it names the repositories that git fetches and where they go"),
    row(".hg", VersionControl, Entry, "hg takes the configuration of the repository that it finds"),
    row(".hg/hgrc", VersionControl, Whole, "hg executes the hooks and the extensions that it names"),
    row(".hg/hgrc-not-shared", VersionControl, Whole, "hg executes the hooks and the extensions that it names"),
    row(".hg/sharedpath", VersionControl, Whole, "it sends hg to another repository"),
    row(".jj", VersionControl, Entry, "jj takes the configuration of the repository that it finds"),
    row(".jj/repo", VersionControl, Entry, "it sends jj to another repository"),
    row(".jj/repo/config.toml", VersionControl, Whole, "jj executes the tools that it names"),
    row(".jj/workspace-config.toml", VersionControl, Whole, "jj executes the tools that it names"),
    row(".envrc", Environment, Whole, ENVIRONMENT),
];

/// From a person's home folder.
#[rustfmt::skip]
pub(super) const HOME: &[Governing] = &[
    row(".bashrc", Startup, Whole, SHELL),
    row(".bash_profile", Startup, Whole, SHELL),
    row(".bash_login", Startup, Whole, SHELL),
    row(".bash_logout", Startup, Whole, SHELL),
    row(".bash_aliases", Startup, Whole, SHELL),
    row(".bashrc.d", Startup, Whole, SHELL),
    row(".profile", Startup, Whole, SHELL),
    row(".zshrc", Startup, Whole, SHELL),
    row(".zshenv", Startup, Whole, SHELL),
    row(".zprofile", Startup, Whole, SHELL),
    row(".zlogin", Startup, Whole, SHELL),
    row(".zlogout", Startup, Whole, SHELL),
    row(".kshrc", Startup, Whole, SHELL),
    row(".cshrc", Startup, Whole, SHELL),
    row(".tcshrc", Startup, Whole, SHELL),
    row(".login", Startup, Whole, SHELL),
    row(".logout", Startup, Whole, SHELL),
    row(".inputrc", Startup, Whole, SHELL),
    row(".config/fish", Startup, Whole, SHELL),
    row(".config/nushell", Startup, Whole, SHELL),
    row(".config/powershell", Startup, Whole, SHELL),
    row(".pam_environment", Startup, Whole, SESSION),
    row(".xprofile", Startup, Whole, SESSION),
    row(".xinitrc", Startup, Whole, SESSION),
    row(".xsession", Startup, Whole, SESSION),
    row(".xsessionrc", Startup, Whole, SESSION),
    row(".config/autostart", Startup, Whole, SESSION),
    row(".config/environment.d", Startup, Whole, SESSION),
    row(".config/systemd", Startup, Whole, SESSION),
    row(".local/share/systemd", Startup, Whole, SESSION),
    row("Library/LaunchAgents", Startup, Whole, SESSION),
    row(".config/direnv", Environment, Whole, ENVIRONMENT),
    row(".config/mise", Environment, Whole, ENVIRONMENT),
    row(".ssh", Credentials, Whole, "keys, and the programs that ssh starts on the way to a host"),
    row(".gnupg", Credentials, Whole, "keys, and the programs that gpg starts"),
    row(".gitconfig", VersionControl, Whole, GIT),
    row(".config/git", VersionControl, Whole, GIT),
    row(".hgrc", VersionControl, Whole, "hg executes the hooks and the extensions that it names"),
    row(".config/hg", VersionControl, Whole, "hg executes the hooks and the extensions that it names"),
    row(".jjconfig.toml", VersionControl, Whole, "jj executes the tools that it names"),
    row(".config/jj", VersionControl, Whole, "jj executes the tools that it names"),
    row(".vimrc", Editor, Whole, EDITOR),
    row(".vim", Editor, Whole, EDITOR),
    row(".config/nvim", Editor, Whole, EDITOR),
    row(".emacs", Editor, Whole, EDITOR),
    row(".emacs.d", Editor, Whole, EDITOR),
    row(".config/emacs", Editor, Whole, EDITOR),
    row(".config/haft", State, Whole, "the settings of Haft for this person"),
    row(".local/state/haft", State, Whole, "what Haft remembers of its stores"),
    row(".local/share/haft", State, Whole, "the programs that Haft fetched and starts"),
    row(".claude.json", Client, Whole, CLIENT),
    row(".claude/settings.json", Client, Whole, CLIENT),
    row(".claude/settings.local.json", Client, Whole, CLIENT),
    row(".claude/hooks", Client, Whole, CLIENT),
    row(".claude/commands", Client, Whole, CLIENT),
    row(".claude/agents", Client, Whole, CLIENT),
    row(".claude/skills", Client, Whole, CLIENT),
    row(".claude/plugins", Client, Whole, CLIENT),
    row(".config/Claude", Client, Whole, CLIENT),
    row("Library/Application Support/Claude", Client, Whole, CLIENT),
    row(".cursor/mcp.json", Client, Whole, CLIENT),
    row(".cursor/hooks.json", Client, Whole, CLIENT),
    row(".config/Cursor/User", Client, Whole, CLIENT),
    row("Library/Application Support/Cursor/User", Client, Whole, CLIENT),
    row(".config/Code/User", Client, Whole, CLIENT),
    row("Library/Application Support/Code/User", Client, Whole, CLIENT),
    row(".vscode-server/data/Machine", Client, Whole, CLIENT),
    row(".codex/config.toml", Client, Whole, CLIENT),
    row(".gemini/settings.json", Client, Whole, CLIENT),
    row(".gemini/extensions", Client, Whole, CLIENT),
    row(".config/opencode", Client, Whole, CLIENT),
    row(".codeium/windsurf", Client, Whole, CLIENT),
    row(".config/zed", Client, Whole, CLIENT),
    row(".cline", Client, Whole, CLIENT),
    row(".config/goose", Client, Whole, CLIENT),
    row(".continue/config.yaml", Client, Whole, CLIENT),
    row(".continue/config.json", Client, Whole, CLIENT),
    row(".aider.conf.yml", Client, Whole, CLIENT),
];
