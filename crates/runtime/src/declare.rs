//! Declaration record: stores a contract's declaration at its first call and after each change.

use haft_catalog::CatalogEntry;
use haft_catalog::export::{Format, Offer, export};
use haft_ledger::{Draft, Guard, Wait};
use haft_model::{Declared, Event, Fact, utc_day};

use crate::Runtime;
use crate::inputs::Discretion;

impl Runtime {
    /// Records a contract's declaration, unless the ledger holds the same one.
    pub(crate) async fn declare(&self, entry: &CatalogEntry) {
        let key = entry.contract.key();
        if !self.declared().insert((key.clone(), entry.schema_digest().clone())) {
            return;
        }
        let now = self.clock.now();
        let offer = Offer {
            contract: &entry.contract,
            driver: entry.bindings.first().map(|binding| &*binding.driver),
            lifecycle: entry.lifecycle(utc_day(now)),
        };
        let document =
            export(Format::AgentTool, &[offer], self.world().snapshot.wire_names()).document;
        let (declaration, blob) = Discretion::default().keep_value(&document);
        let tool = key.to_string();
        let guard =
            Guard::NewDeclaration { tool: tool.clone(), digest: declaration.digest.clone() };
        let version = entry.contract.tool.version.to_string();
        let event = Event::Declared(Declared { tool, version: version.clone(), declaration });
        let draft = Draft {
            subject: Some(format!("{}@{version}", key.id)),
            facts: vec![Fact { at: now, phases: Vec::new(), event }],
            blobs: vec![blob],
            guards: vec![guard],
            ..Draft::default()
        };
        // The guard refuses a declaration that is on record, which is the common case.
        let _ = self.store.append(draft, Wait::Queue).await;
    }
}
