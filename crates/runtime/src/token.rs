//! Bearer tokens of callers: issue, list, revoke and authenticate.

use haft_ledger::{Draft, Guard, Wait, token_hash, token_text};
use haft_model::{
    Actor, ActorId, Code, Event, Role, Secret, Stop, Timestamp, Token, TokenId, TokenRevoked,
};

use crate::Runtime;
use crate::recorder::unrecorded;

/// Token to issue.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// Actor that the token authenticates, `user:NAME` or `agent:NAME`.
    pub actor: ActorId,
    /// Expiry; `None` never expires.
    pub expires: Option<Timestamp>,
    /// Purpose of the token, for people.
    pub label: Option<String>,
}

impl Runtime {
    /// Issues a token. Only the receiver knows its text: the ledger stores a hash.
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

    /// Revokes a token, with immediate effect.
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

    /// Issued tokens that are not revoked.
    pub async fn tokens(&self, by: &Actor) -> Result<Vec<Token>, Stop> {
        may_manage(by)?;
        self.store.tokens().await.map_err(unrecorded)
    }

    /// Returns true if a valid token exists.
    pub async fn has_tokens(&self) -> Result<bool, Stop> {
        let now = self.clock.now();
        let tokens = self.store.tokens().await.map_err(unrecorded)?;
        Ok(tokens.iter().any(|token| token.is_good(now)))
    }

    /// Authenticates a token: the actor, with its current roles. `None` for an unknown, expired or
    /// revoked token, and for an actor that moved to another tenant.
    pub async fn bearer(&self, text: &str) -> Result<Option<Actor>, Stop> {
        let Some(hash) = token_hash(text) else { return Ok(None) };
        let found = self.store.token(&hash).await.map_err(unrecorded)?;
        let good = found.filter(|token| token.is_good(self.clock.now()));
        Ok(good.and_then(|token| {
            let actor = self.world().people.actor(token.actor.as_str());
            (*actor.tenant == *token.tenant).then_some(actor)
        }))
    }

    /// A draft about the workspace rather than a call.
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
    let words = format!("`{actor}` does not name an actor");
    Err(Stop::new(Code::InputValue, words).help("write `user:NAME` or `agent:NAME`"))
}
