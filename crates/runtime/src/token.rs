//! Tokens by which callers show who they are: issued, listed, taken back and recognised.

use haft_ledger::{Draft, Guard, Wait, token_hash, token_text};
use haft_model::{
    Actor, ActorId, Code, Event, Role, Secret, Stop, Timestamp, Token, TokenId, TokenRevoked,
};

use crate::Runtime;
use crate::recorder::unrecorded;

/// The token that somebody wants to have.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// For whom.
    pub actor: ActorId,
    /// From when on it is to be good for nothing.
    pub expires: Option<Timestamp>,
    /// What it is for.
    pub label: Option<String>,
}

impl Runtime {
    /// Issues a token. Its text is known to whoever gets it from here, and kept nowhere.
    pub async fn issue_token(
        &self,
        wish: TokenRequest,
        by: &Actor,
    ) -> Result<(Secret, Token), Stop> {
        may_manage(by)?;
        well_formed(&wish.actor)?;
        let text = token_text().map_err(|fault| {
            Stop::new(Code::Internal, format!("no random number could be had: {fault}"))
        })?;
        let hash = token_hash(text.expose())
            .ok_or_else(|| Stop::new(Code::Internal, "a token was made that is none"))?;
        let token = Token {
            id: TokenId::from(format!("tok_{}", uuid::Uuid::now_v7().simple()).as_str()),
            hash,
            tenant: self.world().people.actor(wish.actor.as_str()).tenant.to_string(),
            actor: wish.actor,
            label: wish.label,
            by: by.id.clone(),
            at: self.clock.now(),
            expires: wish.expires,
        };
        let draft = self.about_house(by, Event::TokenIssued(Box::new(token.clone())));
        self.store.append(draft, Wait::Disk).await.map_err(unrecorded)?;
        Ok((text, token))
    }

    /// Takes a token back: from here on it opens nothing.
    pub async fn revoke_token(&self, id: &TokenId, by: &Actor) -> Result<(), Stop> {
        may_manage(by)?;
        let revoked = TokenRevoked { id: id.clone(), by: by.id.clone() };
        let mut draft = self.about_house(by, Event::TokenRevoked(revoked));
        draft.guards.push(Guard::Issued(id.clone()));
        self.store.append(draft, Wait::Disk).await.map(|_| ()).map_err(|fault| match fault {
            haft_ledger::Error::Forbidden(guard) => {
                Stop::new(Code::ResourceNotFound, guard.objection())
                    .help("`haft token list` lists those that are")
            }
            fault => unrecorded(fault),
        })
    }

    /// The tokens that were issued and not taken back.
    pub async fn tokens(&self, by: &Actor) -> Result<Vec<Token>, Stop> {
        may_manage(by)?;
        self.store.tokens().await.map_err(unrecorded)
    }

    /// Whether there is a token by which anybody could come in.
    pub async fn has_tokens(&self) -> Result<bool, Stop> {
        let now = self.clock.now();
        let tokens = self.store.tokens().await.map_err(unrecorded)?;
        Ok(tokens.iter().any(|token| token.is_good(now)))
    }

    /// Whoever shows a token: an actor with the roles that the workspace gives them now. Nobody, where
    /// it is no token of ours, ran out or was taken back, or where they belong to another tenant now.
    pub async fn bearer(&self, text: &str) -> Result<Option<Actor>, Stop> {
        let Some(hash) = token_hash(text) else { return Ok(None) };
        let found = self.store.token(&hash).await.map_err(unrecorded)?;
        let good = found.filter(|token| token.is_good(self.clock.now()));
        Ok(good.and_then(|token| {
            let actor = self.world().people.actor(token.actor.as_str());
            (*actor.tenant == *token.tenant).then_some(actor)
        }))
    }

    /// An entry about no call.
    pub(crate) fn about_house(&self, by: &Actor, event: Event) -> Draft {
        Draft { actor: Some(by.clone()), facts: vec![self.fact(event)], ..Draft::default() }
    }
}

fn may_manage(by: &Actor) -> Result<(), Stop> {
    if by.is_person() && by.roles.contains(&Role::Admin) {
        return Ok(());
    }
    let words = format!("`{}` may not deal with tokens", by.id);
    Err(Stop::new(Code::PermissionDenied, words).help("a person who runs the workspace may"))
}

fn well_formed(actor: &ActorId) -> Result<(), Stop> {
    let name = actor.as_str().split_once(':').filter(|(kind, _)| ["user", "agent"].contains(kind));
    let plain = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    if name.is_some_and(|(_, name)| plain(name)) {
        return Ok(());
    }
    let words = format!("`{actor}` is nobody's name");
    Err(Stop::new(Code::InputValue, words).help("write `user:NAME` or `agent:NAME`"))
}
