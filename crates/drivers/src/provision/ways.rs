//! Install methods: the exact command of each installer, as data.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use haft_contract::driver::manifest::InstallEntry;
use haft_model::Stop;

use super::{Provision, download, setup};
use crate::cli::program;

/// Who may run an installer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Anybody,
    Root,
}

/// Installers: the method, the command before the package, and who may run it.
const INSTALLERS: [(&str, &[&str], By); 10] = [
    ("brew", &["brew", "install"], By::Anybody),
    ("apt", &["apt-get", "install", "--yes"], By::Root),
    ("dnf", &["dnf", "install", "--assumeyes"], By::Root),
    ("pacman", &["pacman", "--sync", "--noconfirm"], By::Root),
    ("choco", &["choco", "install", "--yes"], By::Anybody),
    ("scoop", &["scoop", "install"], By::Anybody),
    ("cargo", &["cargo", "install"], By::Anybody),
    ("go", &["go", "install"], By::Anybody),
    ("npm", &["npm", "install"], By::Anybody),
    ("pip", &["pip", "install"], By::Anybody),
];

/// One way to install a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallWay {
    /// The install method, such as `brew`.
    pub method: String,
    /// What it does, as a command or in words.
    pub says: String,
    /// Why it cannot run here; `None` if it can.
    pub skipped: Option<String>,
    act: InstallAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum InstallAction {
    Run(Vec<String>),
    /// Downloads a script and runs it.
    Script {
        url: String,
        sha256: String,
    },
    /// Downloads the program, or an archive that holds it.
    Fetch {
        url: String,
        sha256: String,
        inner: String,
    },
    /// Takes the program from the workspace.
    Take(PathBuf),
    Nothing,
}

impl Provision {
    /// The ways to install the program, in manifest order.
    pub fn ways(&self) -> Vec<InstallWay> {
        self.manifest.install.iter().map(|entry| self.way(entry)).collect()
    }

    fn way(&self, entry: &InstallEntry) -> InstallWay {
        let method = entry.method.clone();
        let experimental = entry.experimental;
        let (act, says) = match self.act(entry) {
            Ok(act) => {
                let says = says(&act);
                (act, says)
            }
            Err(why) => {
                return InstallWay {
                    says: method.clone(),
                    method,
                    skipped: Some(why),
                    act: InstallAction::Nothing,
                };
            }
        };
        let skipped = match experimental {
            true => Some("it is experimental".to_owned()),
            false => self.obstacle(&method, &act),
        };
        InstallWay { method, says, skipped, act }
    }

    /// The action of an entry; an entry that is not plain is refused.
    fn act(&self, entry: &InstallEntry) -> Result<InstallAction, String> {
        let hash = || {
            entry
                .verify_sha256
                .clone()
                .ok_or("it has no `verify_sha256`, so the download cannot be verified")
        };
        let url = || entry.url.clone().ok_or("it has no `url`");
        match entry.method.as_str() {
            "curl" => Ok(InstallAction::Script { url: url()?, sha256: hash()? }),
            "download" => {
                let inner = entry.extract_bin.clone().ok_or("it has no `extract_bin`")?;
                Ok(InstallAction::Fetch { url: url()?, sha256: hash()?, inner: inside(&inner)? })
            }
            "vendored" => {
                let path = inside(entry.path.as_deref().ok_or("it has no `path`")?)?;
                Ok(InstallAction::Take(self.folder.join(path)))
            }
            method => {
                let known = INSTALLERS.iter().find(|(name, _, _)| *name == method);
                let (_, before, _) = known.ok_or("the method is unknown")?;
                let package = entry.package.clone().ok_or("it has no `package`")?;
                if package.starts_with('-') {
                    return Err(format!("`{package}` would be taken for an option"));
                }
                let flag = match method {
                    "npm" if entry.global != Some(false) => Some("--global"),
                    "pip" if entry.user => Some("--user"),
                    _ => None,
                };
                let words = before.iter().copied().chain(flag).chain([package.as_str()]);
                Ok(InstallAction::Run(words.map(str::to_owned).collect()))
            }
        }
    }

    /// Why an installer cannot run here.
    fn obstacle(&self, method: &str, act: &InstallAction) -> Option<String> {
        match act {
            InstallAction::Run(command) => {
                let needs_root =
                    INSTALLERS.iter().any(|(name, _, by)| *name == method && *by == By::Root);
                let installer = command.first()?;
                if !program::is_installed(installer, &self.place) {
                    return Some(format!("`{installer}` is not on this machine"));
                }
                let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
                (needs_root && !is_root)
                    .then(|| "it needs the rights of root; run it yourself".to_owned())
            }
            InstallAction::Take(path) => self.vendored(path).err(),
            InstallAction::Script { .. } | InstallAction::Fetch { .. } | InstallAction::Nothing => {
                None
            }
        }
    }

    /// Installs the program in one of the ways.
    pub async fn install(&self, way: &InstallWay) -> Result<(), Stop> {
        if let Some(why) = &way.skipped {
            return Err(setup(format!(
                "`{}` cannot be installed by {}: {why}",
                self.id(),
                way.method
            )));
        }
        match &way.act {
            InstallAction::Run(command) => self.unconfined(command).await,
            InstallAction::Script { url, sha256 } => {
                let script = download::fetch(url, sha256, &self.place.guard).await?;
                let path = self.kept("install.sh", &script)?;
                self.unconfined(&["sh".to_owned(), path.display().to_string()]).await
            }
            InstallAction::Fetch { url, sha256, inner } => {
                let bytes = download::fetch(url, sha256, &self.place.guard).await?;
                self.unpack(&bytes, url, inner).await
            }
            InstallAction::Take(path) => {
                let path = self.vendored(path).map_err(setup)?;
                self.put(&path)
            }
            InstallAction::Nothing => Ok(()),
        }
    }

    /// A vendored program: an executable inside the manifest's folder.
    fn vendored(&self, path: &Path) -> Result<PathBuf, String> {
        let real =
            fs::canonicalize(path).map_err(|_| format!("`{}` is not there", path.display()))?;
        let folder = fs::canonicalize(&self.folder).map_err(|fault| fault.to_string())?;
        if !real.starts_with(folder) {
            return Err(format!("`{}` leads out of the folder of the driver", path.display()));
        }
        let runs = fs::metadata(&real).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0);
        match runs {
            true => Ok(real),
            false => Err(format!("`{}` is not executable", path.display())),
        }
    }

    /// Links a program into the shelf, where it runs by its bare name.
    fn put(&self, program: &Path) -> Result<(), Stop> {
        let shelf = self.shelf()?;
        let place = self.on_shelf(&shelf)?;
        let linked = fs::create_dir_all(&shelf).and_then(|()| {
            let _ = fs::remove_file(&place);
            symlink(program, &place)
        });
        linked.map_err(|fault| unwritten(&place, &fault))
    }

    /// Writes a file to the shelf.
    fn kept(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Stop> {
        let shelf = self.shelf()?;
        let path = shelf.join(name);
        let written = fs::create_dir_all(&shelf).and_then(|()| fs::write(&path, bytes));
        written.map_err(|fault| unwritten(&path, &fault))?;
        Ok(path)
    }

    /// Puts the downloaded program on the shelf, extracted by a `tar` that sees only the shelf.
    async fn unpack(&self, bytes: &[u8], url: &str, inner: &str) -> Result<(), Stop> {
        let program = match is_archive(url) {
            false => self.kept("fetched", bytes)?,
            true => {
                let archive = self.kept("fetched.archive", bytes)?;
                let shelf = self.shelf()?;
                self.untarred(&archive, &shelf, inner).await?;
                let _ = fs::remove_file(archive);
                shelf.join(inner)
            }
        };
        let place = self.on_shelf(&self.shelf()?)?;
        let mode = fs::Permissions::from_mode(0o755);
        let ready = fs::set_permissions(&program, mode).and_then(|()| match program == place {
            true => Ok(()),
            false => fs::copy(&program, &place).map(drop),
        });
        ready.map_err(|fault| unwritten(&place, &fault))
    }
}

/// A relative path that stays inside its folder.
fn inside(path: &str) -> Result<String, String> {
    let plain = !path.starts_with(['/', '-']) && path.split('/').all(|step| step != "..");
    match plain && !path.is_empty() {
        true => Ok(path.trim_start_matches("./").to_owned()),
        false => Err(format!("`{path}` leads out of its folder")),
    }
}

fn is_archive(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"].iter().any(|end| path.ends_with(end))
}

fn says(act: &InstallAction) -> String {
    match act {
        InstallAction::Run(command) => command.join(" "),
        InstallAction::Script { url, sha256 } => {
            format!("fetch {url} (sha256 {sha256}) and run it with sh")
        }
        InstallAction::Fetch { url, sha256, inner } => {
            format!("fetch {url} (sha256 {sha256}) and take `{inner}` from it")
        }
        InstallAction::Take(path) => format!("use {}", path.display()),
        InstallAction::Nothing => String::new(),
    }
}

fn unwritten(path: &Path, fault: &io::Error) -> Stop {
    setup(format!("`{}` cannot be written: {fault}", path.display()))
}
