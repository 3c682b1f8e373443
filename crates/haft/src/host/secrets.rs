//! Secret administration: lists who has which secret, stores one and deletes one. Values go in and
//! never out.

use std::collections::{BTreeMap, BTreeSet};

use haft_contract::did_you_mean;
use haft_drivers::{Keeper, ListedSecret, Per, SHORTEST_SECRET};
use haft_ledger::{Draft, Wait};
use haft_model::{
    Actor, ActorId, Code, Event, Fact, Grantee, Note, Role, Secret, Stop, Timestamp, is_user,
};

use super::uses::Uses;
use super::{Host, vault};

/// One secret of a workspace, and its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretState {
    /// Its name for machines.
    pub slug: String,
    /// The backend of its values: `haft` for the workspace's own file.
    pub backend: String,
    /// Whether each actor needs a value of its own.
    pub per_actor: bool,
    /// Since when a shared value exists.
    pub shared: Option<Timestamp>,
    /// Actors with a value of their own, and since when.
    pub actors: BTreeMap<String, Timestamp>,
    /// The contracts that list it.
    pub tools: Vec<String>,
    /// The drivers that name it.
    pub drivers: Vec<String>,
}

impl Host {
    /// Lists every secret of the workspace with its holders; never a value.
    pub fn secrets(&self) -> Result<Vec<SecretState>, Stop> {
        let workspace = self.workspace();
        let keeper = vault::keeper(&workspace, &self.given);
        let holders = keeper.strongbox.holders()?;
        let mut uses = Uses::of(&workspace, &keeper);
        let users =
            |found: Option<BTreeSet<String>>| found.unwrap_or_default().into_iter().collect();
        let mut state = |listed: &ListedSecret| {
            let mine = || holders.iter().filter(|holder| holder.slug == listed.slug);
            let own = mine().filter_map(|one| Some((one.holder.clone()?, one.since)));
            SecretState {
                slug: listed.slug.clone(),
                backend: listed.backend.clone().unwrap_or_else(|| "haft".to_owned()),
                per_actor: listed.per == Per::Actor,
                shared: mine().find(|one| one.holder.is_none()).map(|one| one.since),
                actors: own.collect(),
                tools: users(uses.tools.remove(&listed.slug)),
                drivers: users(uses.drivers.remove(&listed.slug)),
            }
        };
        Ok(keeper.inventory.iter().map(&mut state).collect())
    }

    /// The slug of a secret whose value the actor may change.
    pub fn changeable_secret(
        &self,
        by: &Actor,
        name: &str,
        holder: Option<&ActorId>,
    ) -> Result<String, Stop> {
        let (_, listed) = self.changing(by, name, holder)?;
        named_for(&listed, holder)?;
        Ok(listed.slug)
    }

    /// Stores the value of a secret: for one actor, or for all. Returns its slug.
    pub async fn keep_secret(
        &self,
        by: &Actor,
        name: &str,
        holder: Option<&ActorId>,
        value: Secret,
    ) -> Result<String, Stop> {
        let (keeper, listed) = self.changing(by, name, holder)?;
        let slug = listed.slug.clone();
        named_for(&listed, holder)?;
        long_enough(&slug, &value)?;
        keeper.keep(&listed, holder.map(ActorId::as_str), value).await?;
        let used = self.secrets()?.into_iter().filter(|one| one.slug == slug);
        let drivers: Vec<String> = used.flat_map(|one| one.drivers).collect();
        let mended = self.watch().logins().mended(&drivers, holder.map(ActorId::as_str));
        mended.map_err(super::login::unreadable)?;
        self.note(by, format!("`{}` set the secret `{slug}`{}", by.id, for_whom(holder))).await?;
        Ok(slug)
    }

    /// Deletes the value of a secret. Returns its slug.
    pub async fn forget_secret(
        &self,
        by: &Actor,
        name: &str,
        holder: Option<&ActorId>,
    ) -> Result<String, Stop> {
        let (keeper, listed) = self.changing(by, name, holder)?;
        let there = keeper.forget(&listed, holder.map(ActorId::as_str)).await?;
        let slug = listed.slug;
        if !there {
            let words = format!("there is no value of `{slug}`{}", for_whom(holder));
            let help = "`haft secrets list` says who has one";
            return Err(Stop::new(Code::ResourceNotFound, words).help(help));
        }
        self.note(by, format!("`{}` removed the secret `{slug}`{}", by.id, for_whom(holder)))
            .await?;
        Ok(slug)
    }

    /// The vault, and the entry that the actor may change there.
    fn changing(
        &self,
        by: &Actor,
        name: &str,
        holder: Option<&ActorId>,
    ) -> Result<(Keeper, ListedSecret), Stop> {
        let keeper = vault::keeper(&self.workspace(), &self.given);
        let Ok(listed) = keeper.listed(name) else {
            let slugs = keeper.inventory.iter().map(|listed| listed.slug.as_str());
            let stop = Stop::new(Code::ResourceNotFound, format!("no SECRETS.md lists `{name}`"));
            return Err(stop.help(match did_you_mean(name, slugs) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "list it in .secrets/SECRETS.md, with who may use it".to_owned(),
            }));
        };
        let listed = listed.clone();
        if !may_change(by, &listed, holder) {
            let words = format!("`{}` may not change the secret `{}`", by.id, listed.slug);
            let help = "a person who runs the workspace, or whom `access.rotate` names, may";
            return Err(Stop::new(Code::PermissionDenied, words).help(help));
        }
        keeper.changeable(&listed, holder.map(ActorId::as_str))?;
        Ok((keeper, listed))
    }

    /// Records a remark in the ledger, in an actor's name.
    pub(super) async fn note(&self, by: &Actor, text: String) -> Result<(), Stop> {
        let event = Event::Note(Note { text });
        let draft = Draft {
            actor: Some(by.clone()),
            facts: vec![Fact { at: Timestamp::now(), phases: Vec::new(), event }],
            ..Draft::default()
        };
        match self.store.append(draft, Wait::Disk).await {
            Ok(_) => Ok(()),
            Err(fault) => {
                let words = format!("it was done, and could not be put on record: {fault}");
                Err(Stop::new(Code::Internal, words).help("run `haft audit verify`"))
            }
        }
    }
}

/// Whether an actor may change a value: a person who is an admin, a grantee of `rotate`, or the
/// holder of the value. An agent never may, nor an auditor.
fn may_change(by: &Actor, listed: &ListedSecret, holder: Option<&ActorId>) -> bool {
    let named = |grantee: &Grantee| match grantee {
        Grantee::Role(role) => by.holds(role),
        Grantee::User(name) => is_user(&by.id, name),
        Grantee::Capability(_) | Grantee::Tool(_) | Grantee::Workflow(_) => false,
    };
    let own = holder == Some(&by.id);
    let may_at_all = by.is_person() && by.may_change();
    may_at_all && (by.roles.contains(&Role::Admin) || own || listed.rotate.iter().any(named))
}

/// A per-actor secret needs a named holder.
fn named_for(listed: &ListedSecret, holder: Option<&ActorId>) -> Result<(), Stop> {
    match (listed.per, holder) {
        (Per::Actor, None) => {
            let slug = &listed.slug;
            let words = format!("each actor has their own `{slug}`");
            let help = format!("haft secrets set {slug} --for ACTOR");
            Err(Stop::new(Code::InputValue, words).help(help))
        }
        (Per::Actor, Some(_)) | (Per::Workspace, _) => Ok(()),
    }
}

fn long_enough(slug: &str, value: &Secret) -> Result<(), Stop> {
    let refused = |words: String| Stop::new(Code::InputValue, words);
    match value.expose().len() {
        0 => Err(refused(format!("the value of `{slug}` is empty"))),
        length if length < SHORTEST_SECRET => Err(refused(format!(
            "the value of `{slug}` is shorter than {SHORTEST_SECRET} bytes, \
             so that it could not be kept out of what is shown"
        ))),
        _ => Ok(()),
    }
}

fn for_whom(holder: Option<&ActorId>) -> String {
    holder.map(|holder| format!(" for `{holder}`")).unwrap_or_default()
}
