//! Secret Service protocol: the D-Bus calls to the keyring.

use std::collections::HashMap;

use haft_model::Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::connection::Builder;
use zbus::{Connection, ObjectPath, OwnedObjectPath, OwnedVariant, Type, Variant};

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

/// The Secret struct of the protocol: session, parameters, value and content type.
type SecretStruct = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// An open session with the keyring, which ends with its connection.
pub(super) struct Bus {
    connection: Connection,
    session: OwnedObjectPath,
}

impl Bus {
    /// Opens a session without encryption: only programs of the same user read this bus, and each
    /// of those can ask the keyring itself.
    pub(super) async fn open(address: &str) -> Result<Bus, KeyringFault> {
        let connection =
            Builder::address(address).build().await.map_err(|_| KeyringFault::NoBus)?;
        let wish = ("plain", Variant::from(""));
        let (_, session): (OwnedVariant, OwnedObjectPath) =
            call(&connection, ROOT, SERVICE, "OpenSession", &wish).await?;
        Ok(Bus { connection, session })
    }

    /// The only entry of this service and user; `None` where there is none.
    pub(super) async fn find(
        &self,
        service: &str,
        user: &str,
    ) -> Result<Option<OwnedObjectPath>, KeyringFault> {
        let (mut open, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            self.call(ROOT, SERVICE, "SearchItems", &(named(service, user),)).await?;
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

    pub(super) async fn read(&self, item: &ObjectPath<'_>) -> Result<Secret, KeyringFault> {
        let (carried,): (SecretStruct,) =
            self.call(item.as_str(), ITEM, "GetSecret", &(&self.session,)).await?;
        String::from_utf8(carried.2).map(Secret::new).map_err(|_| KeyringFault::NotText)
    }

    pub(super) async fn replace(
        &self,
        item: &ObjectPath<'_>,
        value: &Secret,
    ) -> Result<(), KeyringFault> {
        self.call(item.as_str(), ITEM, "SetSecret", &(self.carried(value),)).await
    }

    pub(super) async fn create(
        &self,
        label: &str,
        service: &str,
        user: &str,
        value: &Secret,
    ) -> Result<(), KeyringFault> {
        let collection = self.collection().await?.ok_or_else(|| {
            KeyringFault::Other("it has no default collection to keep something in".to_owned())
        })?;
        let about = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Variant::from(label)),
            ("org.freedesktop.Secret.Item.Attributes", Variant::from(named(service, user))),
        ]);
        let wish = (about, self.carried(value), true);
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) =
            self.call(collection.as_str(), COLLECTION, "CreateItem", &wish).await?;
        unprompted(&prompt)
    }

    pub(super) async fn delete(&self, item: &ObjectPath<'_>) -> Result<(), KeyringFault> {
        let (prompt,): (OwnedObjectPath,) = self.call(item.as_str(), ITEM, "Delete", &()).await?;
        unprompted(&prompt)
    }

    /// The default collection, where new entries go.
    async fn collection(&self) -> Result<Option<OwnedObjectPath>, KeyringFault> {
        let (found,): (OwnedObjectPath,) =
            self.call(ROOT, SERVICE, "ReadAlias", &("default",)).await?;
        Ok((found.as_str() != NOTHING).then_some(found))
    }

    async fn is_locked(&self, collection: &ObjectPath<'_>) -> Result<bool, KeyringFault> {
        let wish = (COLLECTION, "Locked");
        let (locked,): (OwnedVariant,) =
            self.call(collection.as_str(), "org.freedesktop.DBus.Properties", "Get", &wish).await?;
        bool::try_from(locked).map_err(fault)
    }

    fn carried<'a>(
        &'a self,
        value: &'a Secret,
    ) -> (&'a ObjectPath<'a>, &'a [u8], &'a [u8], &'a str) {
        (&self.session, &[], value.expose().as_bytes(), "text/plain")
    }

    async fn call<B, A>(
        &self,
        path: &str,
        of: &str,
        method: &str,
        wish: &B,
    ) -> Result<A, KeyringFault>
    where
        B: Serialize + Type,
        A: DeserializeOwned + Type,
    {
        call(&self.connection, path, of, method, wish).await
    }
}

async fn call<B, A>(
    connection: &Connection,
    path: &str,
    of: &str,
    method: &str,
    wish: &B,
) -> Result<A, KeyringFault>
where
    B: Serialize + Type,
    A: DeserializeOwned + Type,
{
    let answer = connection.call_method(Some(NAME), path, Some(of), method, wish).await;
    answer.map_err(fault)?.body().deserialize().map_err(fault)
}

/// The attributes of an entry; libraries of other languages use the same two.
fn named<'a>(service: &'a str, user: &'a str) -> HashMap<&'static str, &'a str> {
    HashMap::from([("service", service), ("username", user)])
}

/// Refuses a change that awaits a password prompt, because it was not made.
fn unprompted(prompt: &ObjectPath<'_>) -> Result<(), KeyringFault> {
    if prompt.as_str() == NOTHING { Ok(()) } else { Err(KeyringFault::Locked) }
}

fn fault(error: zbus::Error) -> KeyringFault {
    match &error {
        zbus::Error::FDO(known) => match **known {
            zbus::fdo::Error::ServiceUnknown(_) | zbus::fdo::Error::NameHasNoOwner(_) => {
                KeyringFault::NoKeyring
            }
            _ => KeyringFault::Other(error.to_string()),
        },
        zbus::Error::MethodError(name, ..)
            if name.as_str() == "org.freedesktop.Secret.Error.IsLocked" =>
        {
            KeyringFault::Locked
        }
        _ => KeyringFault::Other(error.to_string()),
    }
}
