//! Searching what somebody sees, and loading schemas onto it, both on record.

use haft_catalog::{Answer, Loading, Viewer};
use haft_driver::UPSTREAM_REQUEST;
use haft_ledger::{Draft, Wait};
use haft_model::{DeferredSeen, Event, Fact, Stop, SurfaceSeen, ToolKey};

use crate::journal::unrecorded;
use crate::{Runtime, Sight};

impl Runtime {
    /// Searches among what somebody sees. What it reveals is on record.
    pub async fn search(
        &self,
        viewer: &Viewer<'_>,
        query: &str,
        most: usize,
    ) -> Result<Answer, Stop> {
        let sight = self.see(viewer);
        let index = self.scopes.index(&sight.snapshot);
        let mut answer = sight.view.search(query, &index, &sight.snapshot, most);
        // It is how we ask backends, and no list of tools shows it.
        answer.matches.retain(|found| found.tool.id.as_str() != UPSTREAM_REQUEST);
        let found: Vec<ToolKey> = answer.discovered().cloned().collect();
        let events = self.discovered(viewer, &sight, found);
        self.note(viewer, events, Wait::Queue).await?;
        Ok(answer)
    }

    /// Loads the schemas of names onto what somebody sees, so that they can be called.
    pub async fn load<N: AsRef<str>>(
        &self,
        viewer: &Viewer<'_>,
        names: &[N],
    ) -> Result<Loading, Stop> {
        let sight = self.see(viewer);
        let loading = sight.view.surface().load(names, &sight.view, &sight.snapshot);
        if loading.loaded.is_empty() {
            return Ok(loading);
        }
        let mut events = self.discovered(viewer, &sight, loading.loaded.clone());
        let now = self.clock.now();
        self.scopes.with(viewer, now, |scope| {
            scope.loaded.extend(loading.loaded.iter().cloned());
            scope.changed();
        });
        let after = self.see(viewer);
        events.extend(loading.loaded.iter().map(|tool| Event::DeferredLoaded(found(&after, tool))));
        events.push(Event::SurfaceUpdated(seen(&after)));
        if let Err(stop) = self.note(viewer, events, Wait::Disk).await {
            self.scopes.with(viewer, now, |scope| {
                scope.loaded.retain(|tool| !loading.loaded.contains(tool));
                scope.changed();
            });
            return Err(stop);
        }
        self.ring();
        Ok(loading)
    }

    /// What has to be told of tools that somebody found: each once, and first of all the surface.
    fn discovered(&self, viewer: &Viewer<'_>, sight: &Sight, tools: Vec<ToolKey>) -> Vec<Event> {
        self.scopes.with(viewer, self.clock.now(), |scope| {
            let new: Vec<ToolKey> =
                tools.into_iter().filter(|tool| scope.discovered.insert(tool.clone())).collect();
            if new.is_empty() {
                return Vec::new();
            }
            let first = !std::mem::replace(&mut scope.recorded, true);
            let made = first.then(|| Event::SurfaceCreated(seen(sight)));
            let found = new.iter().map(|tool| Event::DeferredDiscovered(found(sight, tool)));
            made.into_iter().chain(found).collect()
        })
    }

    async fn note(&self, viewer: &Viewer<'_>, events: Vec<Event>, wait: Wait) -> Result<(), Stop> {
        if events.is_empty() {
            return Ok(());
        }
        let at = self.clock.now();
        let draft = Draft {
            actor: Some(viewer.actor.clone()),
            facts: events.into_iter().map(|event| Fact { at, phases: Vec::new(), event }).collect(),
            ..Draft::default()
        };
        self.store.append(draft, wait).await.map(|_| ()).map_err(unrecorded)
    }
}

fn seen(sight: &Sight) -> SurfaceSeen {
    let surface = sight.view.surface();
    SurfaceSeen {
        surface: surface.id.clone(),
        revision: sight.revision.number,
        scope: surface.scope.clone(),
        counts: sight.view.counts(),
    }
}

fn found(sight: &Sight, tool: &ToolKey) -> DeferredSeen {
    DeferredSeen { surface: sight.view.surface().id.clone(), tool: tool.to_string() }
}
