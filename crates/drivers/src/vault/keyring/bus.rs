//! Secret Service protocol: the D-Bus calls to the keyring.

use haft_model::Secret;

use super::dbus::wire::{Reader, Writer};
use super::dbus::{Arguments, CallError, Connection, Method};

const NAME: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";

/// The null object path, such as for a prompt that is not needed.
const NOTHING: &str = "/";

/// Why a keyring operation failed.
#[derive(Debug)]
pub(super) enum KeyringFault {
    NoBus,
    NoKeyring,
    Locked,
    Several,
    NotText,
    Late,
    Other(String),
}

/// An open session with the keyring, which ends with its connection.
pub(super) struct Bus {
    connection: Connection,
    session: String,
}

impl Bus {
    /// Opens a session without encryption: only programs of the same user read this bus, and each
    /// of those can ask the keyring itself.
    pub(super) async fn open(address: &str) -> Result<Bus, KeyringFault> {
        let connection = Connection::open(address).await.map_err(|_| KeyringFault::NoBus)?;
        let mut bus = Bus { connection, session: String::new() };
        let wish = arguments("sv", |body| {
            body.text("plain");
            body.signature("s");
            body.text("");
        });
        let mut opened = bus.call(ROOT, SERVICE, "OpenSession", wish, "vo").await?;
        opened.text_variant().ok_or_else(unreadable)?;
        bus.session = opened.text().ok_or_else(unreadable)?;
        Ok(bus)
    }

    /// The only entry of this service and user, by its object path; `None` where there is none.
    pub(super) async fn find(
        &mut self,
        service: &str,
        user: &str,
    ) -> Result<Option<String>, KeyringFault> {
        let wish = arguments("a{ss}", |body| named(body, service, user));
        let mut found = self.call(ROOT, SERVICE, "SearchItems", wish, "aoao").await?;
        let mut open = found.texts().ok_or_else(unreadable)?;
        let locked = found.texts().ok_or_else(unreadable)?;
        match (open.len() + locked.len(), open.pop()) {
            // Some keyrings hide their entries while they are locked.
            (0, _) => match self.collection().await? {
                Some(collection) if self.is_locked(&collection).await? => Err(KeyringFault::Locked),
                Some(_) | None => Ok(None),
            },
            (1, Some(item)) => Ok(Some(item)),
            (1, None) => Err(KeyringFault::Locked),
            (_, _) => Err(KeyringFault::Several),
        }
    }

    pub(super) async fn read(&mut self, item: &str) -> Result<Secret, KeyringFault> {
        let wish = arguments("o", |body| body.text(&self.session));
        let mut secret = self.call(item, ITEM, "GetSecret", wish, "(oayays)").await?;
        let value = secret_value(&mut secret).ok_or_else(unreadable)?;
        String::from_utf8(value).map(Secret::new).map_err(|_| KeyringFault::NotText)
    }

    pub(super) async fn replace(&mut self, item: &str, value: &Secret) -> Result<(), KeyringFault> {
        let wish = arguments("(oayays)", |body| self.carry(body, value));
        self.call(item, ITEM, "SetSecret", wish, "").await.map(|_| ())
    }

    pub(super) async fn create(
        &mut self,
        label: &str,
        service: &str,
        user: &str,
        value: &Secret,
    ) -> Result<(), KeyringFault> {
        let collection = self.collection().await?.ok_or_else(|| {
            KeyringFault::Other("it has no default collection to keep something in".to_owned())
        })?;
        let wish = arguments("a{sv}(oayays)b", |body| {
            body.array(8, |about| {
                about.align(8);
                about.text("org.freedesktop.Secret.Item.Label");
                about.signature("s");
                about.text(label);
                about.align(8);
                about.text("org.freedesktop.Secret.Item.Attributes");
                about.signature("a{ss}");
                named(about, service, user);
            });
            self.carry(body, value);
            body.flag(true);
        });
        let mut made = self.call(&collection, COLLECTION, "CreateItem", wish, "oo").await?;
        made.text().ok_or_else(unreadable)?;
        unprompted(&mut made)
    }

    pub(super) async fn delete(&mut self, item: &str) -> Result<(), KeyringFault> {
        let wish = arguments("", |_| {});
        unprompted(&mut self.call(item, ITEM, "Delete", wish, "o").await?)
    }

    /// The default collection, where new entries go.
    async fn collection(&mut self) -> Result<Option<String>, KeyringFault> {
        let wish = arguments("s", |body| body.text("default"));
        let mut alias = self.call(ROOT, SERVICE, "ReadAlias", wish, "o").await?;
        let found = alias.text().ok_or_else(unreadable)?;
        Ok((found != NOTHING).then_some(found))
    }

    async fn is_locked(&mut self, collection: &str) -> Result<bool, KeyringFault> {
        let wish = arguments("ss", |body| {
            body.text(COLLECTION);
            body.text("Locked");
        });
        let properties = "org.freedesktop.DBus.Properties";
        let mut property = self.call(collection, properties, "Get", wish, "v").await?;
        property.flag_variant().ok_or_else(unreadable)
    }

    /// Writes the Secret struct of the protocol: session, parameters, value and content type.
    fn carry(&self, body: &mut Writer, value: &Secret) {
        body.align(8);
        body.text(&self.session);
        body.bytes(&[]);
        body.bytes(value.expose().as_bytes());
        body.text("text/plain");
    }

    async fn call(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        wish: Arguments,
        expected: &str,
    ) -> Result<Reader, KeyringFault> {
        let method = Method { destination: NAME, path, interface, member };
        self.connection.call(&method, wish, expected).await.map_err(fault)
    }
}

fn arguments(signature: &'static str, fill: impl FnOnce(&mut Writer)) -> Arguments {
    let mut body = Writer::default();
    fill(&mut body);
    Arguments { signature, body }
}

/// Reads the value of a Secret struct.
fn secret_value(body: &mut Reader) -> Option<Vec<u8>> {
    body.structure()?;
    body.text()?;
    body.byte_array()?;
    body.byte_array()
}

/// Writes the attributes of an entry; libraries of other languages use the same two.
fn named(body: &mut Writer, service: &str, user: &str) {
    body.array(8, |attributes| {
        for (key, value) in [("service", service), ("username", user)] {
            attributes.align(8);
            attributes.text(key);
            attributes.text(value);
        }
    });
}

/// Refuses a change that awaits a password prompt, because it was not made.
fn unprompted(reply: &mut Reader) -> Result<(), KeyringFault> {
    let prompt = reply.text().ok_or_else(unreadable)?;
    if prompt == NOTHING { Ok(()) } else { Err(KeyringFault::Locked) }
}

fn unreadable() -> KeyringFault {
    KeyringFault::Other("its answer cannot be read".to_owned())
}

fn fault(error: CallError) -> KeyringFault {
    match error {
        CallError::Refused(name, message) => match name.as_str() {
            "org.freedesktop.DBus.Error.ServiceUnknown"
            | "org.freedesktop.DBus.Error.NameHasNoOwner" => KeyringFault::NoKeyring,
            "org.freedesktop.Secret.Error.IsLocked" => KeyringFault::Locked,
            _ => KeyringFault::Other(format!("{name}: {message}")),
        },
        CallError::Lost(what) => KeyringFault::Other(what),
    }
}
