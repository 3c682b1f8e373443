//! Test stage: a vault, and requests to it.

use std::path::PathBuf;
use std::sync::Arc;

use haft_driver::{SecretRequest, Vault as _};
use haft_drivers::{Keeper, KeyPlace, ListedSecret, Strongbox};
use haft_model::{Actor, DriverId, Grantee, Requires, Secret, Timestamp, ToolKey};
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::json;

use crate::plans;

/// The tool of every call.
pub(crate) const TOOL: &str = "pay.charge";

/// A secret that is bound to this tool.
pub(crate) fn listed(slug: &str) -> ListedSecret {
    let bind = vec![Grantee::Tool(TOOL.to_owned())];
    ListedSecret { slug: slug.to_owned(), bind, ..ListedSecret::default() }
}

/// An encrypted store whose key lies beside it.
pub(crate) fn strongbox(folder: &Folder) -> Strongbox {
    Strongbox::new(file(folder), key(folder))
}

pub(crate) fn file(folder: &Folder) -> PathBuf {
    folder.path().join(".haft/secrets.sealed")
}

pub(crate) fn key(folder: &Folder) -> KeyPlace {
    KeyPlace { given: None, file: Some(folder.path().join("config/secrets.key")) }
}

/// Stores a value.
pub(crate) fn keep(folder: &Folder, slug: &str, holder: Option<&str>, value: &str) {
    let strongbox = strongbox(folder);
    let change = strongbox.change().unwrap();
    change.put(slug, holder, Secret::new(value.to_owned()), Timestamp::now()).unwrap();
}

/// A vault with these secrets, in an environment where every variable is empty.
pub(crate) fn keeper(folder: &Folder, inventory: Vec<ListedSecret>) -> Keeper {
    Keeper {
        inventory,
        strongbox: strongbox(folder),
        variable: |_| None,
        guard: AddressGuard::public(),
        clock: Timestamp::now,
    }
}

/// What an actor gets for the tool, whose contract lists these secrets: the value, or the code and
/// the message.
pub(crate) async fn opened(
    keeper: &Keeper,
    actor: &Actor,
    name: &str,
    declared: &[&str],
) -> Result<String, String> {
    let mut plan = plans::plan(TOOL, "pay", json!({}));
    let secrets = declared.iter().map(|&slug| slug.to_owned()).collect();
    Arc::make_mut(&mut plan.effects).requires = Requires { secrets, ..Requires::default() };
    let (tool, driver) = (ToolKey::new(TOOL, 1), DriverId::from("pay"));
    let asked = SecretRequest { name, actor, tool: &tool, plan: &plan, driver: &driver };
    match keeper.open(asked).await {
        Ok(opened) => Ok(format!("{}: {}", opened.slug, opened.value.expose())),
        Err(withheld) => {
            let help = withheld.stop.help.unwrap_or_default();
            Err(format!("{}: {}; {help}", withheld.stop.code, withheld.stop.message))
        }
    }
}

/// An actor by its id.
pub(crate) fn actor(id: &str) -> Actor {
    Actor::from(haft_model::ActorId::from(id))
}
