//! Desktop keyring: reads and writes secrets through the Secret Service over D-Bus.
//!
//! An entry is found by service and user name, as other programs store theirs. The driver never
//! prompts to unlock the keyring, because the caller may not sit at its screen.

mod bus;
mod dbus;

use std::time::Duration;

use haft_model::{Code, Secret, Stop};

use bus::{Bus, KeyringFault};

/// Timeout of a keyring operation, which may have to start the keyring.
const PATIENCE: Duration = Duration::from_secs(10);

/// One entry of the keyring, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyringEntry {
    /// The slug of the secret that it holds.
    pub(super) slug: String,
    pub(super) service: String,
    pub(super) user: String,
    /// The address of the session bus; `None` without a session.
    pub(super) bus: Option<String>,
}

impl KeyringEntry {
    /// Reads the value; `None` where the entry does not exist.
    pub(super) async fn value(&self) -> Result<Option<Secret>, Stop> {
        self.in_time(async {
            let mut bus = self.opened().await?;
            match bus.find(&self.service, &self.user).await? {
                Some(item) => bus.read(&item).await.map(Some),
                None => Ok(None),
            }
        })
        .await
    }

    /// Stores a value, in place of the old one.
    pub(super) async fn put(&self, value: &Secret) -> Result<(), Stop> {
        self.in_time(async {
            let mut bus = self.opened().await?;
            match bus.find(&self.service, &self.user).await? {
                Some(item) => bus.replace(&item, value).await,
                None => bus.create(&self.slug, &self.service, &self.user, value).await,
            }
        })
        .await
    }

    /// Deletes the entry; returns whether it existed.
    pub(super) async fn remove(&self) -> Result<bool, Stop> {
        self.in_time(async {
            let mut bus = self.opened().await?;
            match bus.find(&self.service, &self.user).await? {
                Some(item) => bus.delete(&item).await.map(|()| true),
                None => Ok(false),
            }
        })
        .await
    }

    /// The refusal where the entry does not exist, with the command that stores it.
    pub(super) fn missing(&self, own: bool) -> Stop {
        let KeyringEntry { slug, service, user, .. } = self;
        let words = format!(
            "the secret `{slug}` is not in the keyring (service `{service}`, username `{user}`)"
        );
        let whose = if own { format!(" --for {user}") } else { String::new() };
        Stop::new(Code::CredentialMissing, words).help(format!("haft secrets set {slug}{whose}"))
    }

    async fn opened(&self) -> Result<Bus, KeyringFault> {
        let address = self.bus.as_deref().ok_or(KeyringFault::NoBus)?;
        Bus::open(address).await
    }

    async fn in_time<T>(
        &self,
        asking: impl Future<Output = Result<T, KeyringFault>>,
    ) -> Result<T, Stop> {
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(answer) => answer.map_err(|fault| self.stop(&fault)),
            Err(_) => Err(self.stop(&KeyringFault::Late)),
        }
    }

    /// Maps a keyring fault to a refusal with its fix.
    fn stop(&self, fault: &KeyringFault) -> Stop {
        let KeyringEntry { slug, service, user, .. } = self;
        let (code, what, help) = match fault {
            KeyringFault::NoBus => (
                Code::SetupRequired,
                "this process has no session bus to reach it by".to_owned(),
                "run Haft in the session of the person whose keyring it is \
                 (`DBUS_SESSION_BUS_ADDRESS`), or under `dbus-run-session`",
            ),
            KeyringFault::NoKeyring => (
                Code::SetupRequired,
                "no keyring is running in this session".to_owned(),
                "start one that offers the Secret Service: gnome-keyring, KWallet or KeePassXC",
            ),
            KeyringFault::Locked => (
                Code::SetupRequired,
                "it is locked".to_owned(),
                "unlock it: log in to the desktop, open it in its own program, or pipe its \
                 password into `gnome-keyring-daemon --unlock`",
            ),
            KeyringFault::Several => (
                Code::SetupRequired,
                format!("it has several entries of service `{service}` and username `{user}`"),
                "leave one of them, in the program that manages the keyring",
            ),
            KeyringFault::NotText => (
                Code::CredentialMissing,
                "what lies there is not text".to_owned(),
                "keep a text there: `haft secrets set`",
            ),
            KeyringFault::Late => (
                Code::DependencyUnavailable,
                format!("it did not answer within {} seconds", PATIENCE.as_secs()),
                "look whether it waits for a password",
            ),
            KeyringFault::Other(said) => {
                (Code::DependencyUnavailable, said.clone(), "look at what the keyring itself says")
            }
        };
        let words = format!("the secret `{slug}` lies in the keyring, and cannot be used: {what}");
        Stop::new(code, words).help(help)
    }
}

/// The address of the session bus, from the environment.
pub(super) fn session_bus(variable: fn(&str) -> Option<String>) -> Option<String> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let usual = || Some(format!("unix:path={}/bus", set("XDG_RUNTIME_DIR")?));
    set("DBUS_SESSION_BUS_ADDRESS").or_else(usual)
}
