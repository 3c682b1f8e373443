//! Tool search and deferred loading of schemas, both recorded in the ledger.

use haft_catalog::{Loading, SearchResult, Viewer};
use haft_driver::UPSTREAM_REQUEST;
use haft_ledger::{Draft, Wait};
use haft_model::{DeferredSeen, Event, Fact, Stop, SurfaceSeen, ToolKey};

use crate::people::may_change;
use crate::recorder::unrecorded;
use crate::{Runtime, Vista};

impl Runtime {
    /// Searches the tools that a viewer sees; the ledger records what it reveals.
    pub async fn search(
        &self,
        viewer: &Viewer<'_>,
        query: &str,
        most: usize,
    ) -> Result<SearchResult, Stop> {
        let vista = self.see(viewer);
        let index = self.surface_states.index(&vista.snapshot);
        let mut answer = vista.view.search(query, &index, &vista.snapshot, most);
        // The runtime's own contract for backend requests appears in no list.
        answer.matches.retain(|found| found.tool.id.as_str() != UPSTREAM_REQUEST);
        let found: Vec<ToolKey> = answer.discovered().cloned().collect();
        let events = self.discovered(viewer, &vista, found);
        self.note(viewer, events, Wait::Queue).await?;
        Ok(answer)
    }

    /// Loads the schemas of named tools onto the viewer's surface, so that they can be called.
    pub async fn load<N: AsRef<str>>(
        &self,
        viewer: &Viewer<'_>,
        names: &[N],
    ) -> Result<Loading, Stop> {
        may_change(viewer.actor)?;
        let vista = self.see(viewer);
        let loading = vista.view.surface().load(names, &vista.view, &vista.snapshot);
        if loading.loaded.is_empty() {
            return Ok(loading);
        }
        let mut events = self.discovered(viewer, &vista, loading.loaded.clone());
        let now = self.clock.now();
        self.surface_states.with(viewer, now, |scope| {
            scope.loaded.extend(loading.loaded.iter().cloned());
            scope.changed();
        });
        let (after, _) = self.look(viewer);
        events.extend(loading.loaded.iter().map(|tool| Event::DeferredLoaded(found(&after, tool))));
        events.push(Event::SurfaceUpdated(SurfaceSeen::from(&*after)));
        if let Err(stop) = self.note(viewer, events, Wait::Disk).await {
            self.surface_states.with(viewer, now, |scope| {
                scope.loaded.retain(|tool| !loading.loaded.contains(tool));
                scope.changed();
            });
            return Err(stop);
        }
        self.ring();
        Ok(loading)
    }

    /// Events about newly discovered tools, each once; the first one also records the surface.
    fn discovered(&self, viewer: &Viewer<'_>, vista: &Vista, tools: Vec<ToolKey>) -> Vec<Event> {
        self.surface_states.with(viewer, self.clock.now(), |scope| {
            let new: Vec<ToolKey> =
                tools.into_iter().filter(|tool| scope.discovered.insert(tool.clone())).collect();
            if new.is_empty() {
                return Vec::new();
            }
            let first = !std::mem::replace(&mut scope.recorded, true);
            let made = first.then(|| Event::SurfaceCreated(SurfaceSeen::from(vista)));
            let found = new.iter().map(|tool| Event::DeferredDiscovered(found(vista, tool)));
            made.into_iter().chain(found).collect()
        })
    }

    async fn note(&self, viewer: &Viewer<'_>, events: Vec<Event>, wait: Wait) -> Result<(), Stop> {
        if events.is_empty() {
            return Ok(());
        }
        let draft = self.drafted(viewer, events);
        self.store.append(draft, wait).await.map(|_| ()).map_err(unrecorded)
    }

    fn drafted(&self, viewer: &Viewer<'_>, events: Vec<Event>) -> Draft {
        let at = self.clock.now();
        Draft {
            actor: Some(viewer.actor.clone()),
            facts: events.into_iter().map(|event| Fact { at, phases: Vec::new(), event }).collect(),
            ..Draft::default()
        }
    }

    /// Records events about a view in the background.
    pub(crate) fn tell_of(&self, viewer: &Viewer<'_>, events: Vec<Event>) {
        // Without an async runtime no client is served.
        let Ok(handle) = tokio::runtime::Handle::try_current() else { return };
        if events.is_empty() {
            return;
        }
        let (store, draft) = (self.store.clone(), self.drafted(viewer, events));
        handle.spawn(async move {
            // A store outage shows at the next call that has to record.
            let _ = store.append(draft, Wait::Queue).await;
        });
    }
}

impl From<&Vista> for SurfaceSeen {
    fn from(vista: &Vista) -> SurfaceSeen {
        let surface = vista.view.surface();
        SurfaceSeen {
            surface: surface.id.clone(),
            revision: vista.revision.number,
            scope: surface.scope.clone(),
            counts: vista.view.counts(),
        }
    }
}

fn found(vista: &Vista, tool: &ToolKey) -> DeferredSeen {
    DeferredSeen { surface: vista.view.surface().id.clone(), tool: tool.to_string() }
}
