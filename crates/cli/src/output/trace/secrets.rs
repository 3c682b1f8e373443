//! Secrets section: the secrets that the drivers of a call requested, opened or withheld.

use anyhow::Result;

use super::super::line;
use super::{TracePage, heading};

impl TracePage<'_> {
    /// Each secret that was opened or withheld, by its slug.
    pub(super) fn secrets(&self) -> Result<()> {
        if self.story.secrets.is_empty() {
            return Ok(());
        }
        heading("secrets")?;
        for (_, used) in &self.story.secrets {
            let became = match used.code {
                None => "opened for".to_owned(),
                Some(code) => format!("withheld ({code}) from"),
            };
            line(format!("  {}  {} {became} {}", used.attempt, used.slug, used.driver))?;
        }
        Ok(())
    }
}
