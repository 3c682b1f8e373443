//! Secret updates: stores and deletes values in the encrypted store or the keyring.

use haft_model::{Secret, Stop};

use super::backend::{self, Home};
use super::{Keeper, ListedSecret};
use crate::failure::blocking;

impl Keeper {
    /// Refuses a secret whose backend the vault cannot write; `None` stands for the shared value.
    pub fn changeable(&self, listed: &ListedSecret, holder: Option<&str>) -> Result<(), Stop> {
        backend::home(listed, holder, self.variable).map(drop)
    }

    /// Stores a value in its backend, in place of the old one.
    pub async fn keep(
        &self,
        listed: &ListedSecret,
        holder: Option<&str>,
        value: Secret,
    ) -> Result<(), Stop> {
        let home = backend::home(listed, holder, self.variable)?;
        self.put(&listed.slug, home, value).await
    }

    /// Deletes a value; returns whether there was one.
    pub async fn forget(&self, listed: &ListedSecret, holder: Option<&str>) -> Result<bool, Stop> {
        match backend::home(listed, holder, self.variable)? {
            Home::Keyring(entry) => entry.remove().await,
            Home::Strongbox(holder) => {
                let (strongbox, slug) = (self.strongbox.clone(), listed.slug.clone());
                blocking(move || strongbox.change()?.remove(&slug, holder.as_deref())).await?
            }
            Home::Elsewhere => Ok(false),
        }
    }

    /// Reads the value of a writable location.
    pub(super) async fn there(&self, slug: &str, home: Home) -> Result<Option<Secret>, Stop> {
        match home {
            Home::Keyring(entry) => entry.value().await,
            Home::Strongbox(holder) => {
                let (strongbox, slug) = (self.strongbox.clone(), slug.to_owned());
                blocking(move || strongbox.value(&slug, holder.as_deref())).await?
            }
            Home::Elsewhere => Ok(None),
        }
    }

    /// Writes the value of a writable location.
    pub(super) async fn put(&self, slug: &str, home: Home, value: Secret) -> Result<(), Stop> {
        match home {
            Home::Keyring(entry) => entry.put(&value).await,
            Home::Strongbox(holder) => {
                let (strongbox, slug) = (self.strongbox.clone(), slug.to_owned());
                let now = (self.clock)();
                let put = move || strongbox.change()?.put(&slug, holder.as_deref(), value, now);
                blocking(put).await?
            }
            Home::Elsewhere => Ok(()),
        }
    }
}
