//! Viewer: maps a caller to the surface of its turn, task, session or role.

use haft_model::{Actor, Glob};

use super::{Surface, id_of};

/// The scopes in which schemas are loaded apart, the narrowest first.
const OF_ONE: [&str; 3] = ["turn", "task", "session"];

/// The caller that looks at the tools.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'v> {
    /// The actor of the caller.
    pub actor: &'v Actor,
    /// The turn, task, session, skill, peer agent and model request of the caller: `session:s-1`.
    pub within: &'v [String],
}

/// The tenant boundary: which tools a tenant may know of.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    /// The tools of the tenant's own surfaces, where it has some.
    own: Option<Vec<Glob>>,
    /// Those of other tenants, where it has none.
    others: Vec<Glob>,
}

impl Edge {
    pub(super) fn has(&self, id: &str) -> bool {
        let among = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(id));
        self.own.as_deref().is_none_or(among) && !among(&self.others)
    }
}

impl Surface {
    /// Finds the surface of a caller: the first whose scope it is in, or everything there is, bound
    /// to its turn, task or session.
    ///
    /// Surfaces of tenants bound what their people know: a tool that is only on another tenant's
    /// surface does not exist for them, whatever else they see.
    pub fn for_viewer(all: &[Surface], viewer: &Viewer<'_>) -> Surface {
        let fitting = |surface: &&Surface| fits(&surface.scope, viewer);
        let first = all
            .iter()
            .filter(fitting)
            .find(|surface| !is_of_tenant(surface))
            .or_else(|| all.iter().find(fitting));
        let mut surface = first.cloned().unwrap_or_else(|| Surface::whole("workspace"));
        let (own, others): (Vec<&Surface>, Vec<&Surface>) = all
            .iter()
            .filter(|surface| is_of_tenant(surface))
            .partition(|surface| fits(&surface.scope, viewer));
        let globs = |of: &[&Surface]| of.iter().flat_map(|surface| surface.tools.clone()).collect();
        surface.edge = match own.as_slice() {
            [] => Edge { own: None, others: globs(&others) },
            own => Edge { own: Some(globs(own)), others: Vec::new() },
        };
        let narrowest = OF_ONE
            .iter()
            .find_map(|kind| viewer.within.iter().find(|scope| split(scope).0 == *kind));
        match narrowest {
            Some(scope) => surface.bound_to(scope),
            None => surface,
        }
    }

    /// The same tools for another scope, on which nothing was loaded yet.
    pub fn bound_to(&self, scope: &str) -> Surface {
        Surface {
            id: id_of(scope),
            scope: scope.to_owned(),
            loaded: Default::default(),
            ..self.clone()
        }
    }
}

fn is_of_tenant(surface: &Surface) -> bool {
    matches!(split(&surface.scope), ("tenant", Some(_)))
}

fn split(scope: &str) -> (&str, Option<&str>) {
    scope.split_once(':').map_or((scope, None), |(kind, name)| (kind, Some(name)))
}

fn fits(scope: &str, viewer: &Viewer<'_>) -> bool {
    let Viewer { actor, within } = viewer;
    match split(scope) {
        ("workspace", _) | ("tenant" | "role", None) => true,
        ("tenant", Some(tenant)) => *actor.tenant == *tenant,
        ("role", Some(role)) => actor.holds(role),
        (kind, None) => within.iter().any(|scope| split(scope).0 == kind),
        (_, Some(_)) => within.iter().any(|own| own == scope),
    }
}
