//! Login: logs a person in to a driver's backend, and reports the state of that login.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_catalog::AuthState;
use haft_contract::driver::manifest::{LoginBlock, ServerLocation};
use haft_contract::{AuthBlock, AuthFile, Driver, DriverManifest, Flow, beside, did_you_mean};
use haft_drivers::{
    Attend, Callback, Device, Keeper, LoginRecord, Logins, Program, Service, Step, Tell, Token, mcp,
};
use haft_model::{
    Actor, ActorId, CauseDetail, Code, DriverId, LoginFailure, Secret, SecretKind, Stop, Timestamp,
};
use haft_runtime::may_change;

use super::{Host, hooks, uses, vault};
use crate::Workspace;

/// The file of logins, which holds no token.
pub(super) const FILE: &str = ".haft/logins.json";

/// Timeout for a person at a page or in another terminal.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The polling interval while a person logs in elsewhere.
const LOOK: Duration = Duration::from_secs(2);

/// Asks the person for a text that is not shown; none where they give up.
pub type Ask<'a> = &'a (dyn Fn(&str) -> Result<Option<Secret>, Stop> + Send + Sync);

/// The person who logs in, if there is one.
#[derive(Clone, Copy)]
pub struct Attending<'a> {
    /// Tells them what to do.
    pub tell: Tell<'a>,
    /// Asks them for a token.
    pub ask: Ask<'a>,
    /// Lets them use a program that wants a terminal; none where they have to run it themselves.
    pub attend: Option<Attend<'a>>,
}

/// The credentials that a login produces.
enum LoginOutcome {
    /// A token, for the vault.
    Token(Secret),
    /// Nothing that Haft keeps: the program has it.
    Elsewhere,
}

/// A login in progress.
struct Under<'a> {
    workspace: &'a Workspace,
    keeper: &'a Keeper,
    driver: Arc<Driver>,
    manifest: &'a DriverManifest,
    block: AuthBlock,
    program: Program<'a>,
    /// How far the login reached that there was, and what calls lacked.
    before: Vec<String>,
}

impl Host {
    /// Logs a person in to a driver by the flow that it declares. The login belongs to `holder`, or
    /// to all actors where none is named. Without a person at hand, only a command that needs none
    /// runs.
    pub async fn log_in(
        &self,
        driver: &str,
        by: &Actor,
        holder: Option<&ActorId>,
        person: Option<Attending<'_>>,
    ) -> Result<(), Stop> {
        may_change(by)?;
        let workspace = self.workspace();
        let keeper = vault::keeper(&workspace, &self.given);
        let place = hooks::place(&workspace, &self.given);
        let found = find(&workspace, driver)?;
        let manifest = found.manifest()?;
        let by_page = || mcp::is_elsewhere(&manifest).then(AuthBlock::default);
        let Some(block) = manifest.auth.clone().or_else(by_page) else {
            return Err(Stop::new(Code::InputValue, format!("`{driver}` needs no login")));
        };
        let under = Under {
            workspace: &workspace,
            keeper: &keeper,
            program: Program { manifest: &manifest, place: &place },
            driver: found.clone(),
            manifest: &manifest,
            block,
            before: self.reached(driver, holder)?,
        };
        let token = match under.carried_out(person).await? {
            LoginOutcome::Token(token) => Some((under.slug()?, token)),
            LoginOutcome::Elsewhere => None,
        };
        self.keep_login(driver, by, holder, token).await
    }

    /// Stores the result of a login to a driver: a token under the slug of a secret, or nothing
    /// where the program keeps it.
    pub async fn keep_login(
        &self,
        driver: &str,
        by: &Actor,
        holder: Option<&ActorId>,
        token: Option<(String, Secret)>,
    ) -> Result<(), Stop> {
        may_change(by)?;
        let scopes = token.as_ref().and_then(|(_, token)| Token::parse(token));
        let scopes = scopes.map(|token| token.scopes()).unwrap_or_default();
        let slug = match token {
            Some((slug, token)) => Some(self.keep_secret(by, &slug, holder, token).await?),
            None => None,
        };
        let whose = holder.map(|holder| holder.as_str().to_owned());
        self.logged_in(LoginRecord {
            driver: driver.to_owned(),
            actor: whose,
            since: Timestamp::now(),
            expired: false,
            scopes,
            lacked: Vec::new(),
        })?;
        let kept = slug.map(|slug| format!(", with the secret `{slug}`")).unwrap_or_default();
        let whom = holder.map_or("everybody".to_owned(), |holder| format!("`{holder}`"));
        self.note(by, format!("`{}` logged {whom} in to `{driver}`{kept}", by.id)).await
    }

    /// The login state of a driver for an actor. A login that is due is renewed first.
    pub async fn auth_state(&self, driver: &DriverId, actor: &Actor) -> Result<AuthState, Stop> {
        let found = find(&self.workspace(), driver.as_str())?;
        let watch = self.watch();
        watch.renew(&found, actor, Timestamp::now()).await?;
        Ok(watch.auth(&found, None, actor).await?.0)
    }

    /// Records that a backend no longer accepts an actor's login.
    pub fn login_expired(&self, driver: &DriverId, actor: &Actor) -> Result<(), Stop> {
        let noted = self.logins().expired(driver.as_str(), actor.id.as_str());
        noted.map(drop).map_err(unreadable)
    }

    /// The scopes that an actor's next login needs, so that it reaches no less far than the last.
    fn reached(&self, driver: &str, holder: Option<&ActorId>) -> Result<Vec<String>, Stop> {
        let whose = holder.map(ActorId::as_str).unwrap_or_default();
        let found = self.logins().find(driver, whose).map_err(unreadable)?;
        Ok(found.map(|login| [login.scopes, login.lacked].concat()).unwrap_or_default())
    }

    fn logged_in(&self, login: LoginRecord) -> Result<(), Stop> {
        self.logins().put(login).map_err(unreadable)
    }

    fn logins(&self) -> Logins {
        self.watch().logins()
    }
}

impl Under<'_> {
    async fn carried_out(&self, person: Option<Attending<'_>>) -> Result<LoginOutcome, Stop> {
        if let Some(auth) = self.auth_file() {
            let person = person.ok_or_else(|| self.nobody())?;
            return self.by_service(&auth, person).await;
        }
        match &self.block.login {
            Some(LoginBlock { url: Some(url), requires_callback_url: true, .. }) => {
                let callback = Callback::open().await?;
                let person = person.ok_or_else(|| self.nobody())?;
                (person.tell)(Step::Open { url: callback.page(url) });
                let token = callback.visited(PATIENCE).await?;
                self.complete(token.map_or(LoginOutcome::Elsewhere, LoginOutcome::Token)).await
            }
            Some(LoginBlock { url: Some(url), .. }) => {
                let person = person.ok_or_else(|| self.nobody())?;
                (person.tell)(Step::Open { url: url.clone() });
                self.awaited(person.tell).await
            }
            Some(LoginBlock { cmd: Some(cmd), interactive: true, .. }) => {
                let person = person.ok_or_else(|| self.nobody())?;
                match person.attend {
                    Some(attend) => {
                        self.ran(cmd, self.program.run_attended(cmd, attend).await?).await
                    }
                    None => {
                        (person.tell)(Step::Run { command: cmd.clone() });
                        self.awaited(person.tell).await
                    }
                }
            }
            Some(LoginBlock { cmd: Some(cmd), .. }) => {
                self.ran(cmd, self.program.run(cmd).await?).await
            }
            Some(LoginBlock { .. }) | None if mcp::is_elsewhere(self.manifest) => {
                let person = person.ok_or_else(|| self.nobody())?;
                self.by_server(person).await
            }
            Some(LoginBlock { .. }) | None => Err(self.by_secrets()),
        }
    }

    /// The outcome of a login command.
    async fn ran(&self, command: &str, code: i32) -> Result<LoginOutcome, Stop> {
        match code {
            0 => self.complete(LoginOutcome::Elsewhere).await,
            code => Err(self.failed(&format!("`{command}` ended with code {code}"))),
        }
    }

    /// The OAuth flow that a remote MCP server announces.
    async fn by_server(&self, person: Attending<'_>) -> Result<LoginOutcome, Stop> {
        self.renewable(&self.slug()?)?;
        let (guard, clock) = (&self.keeper.guard, self.keeper.clock);
        let before =
            mcp::Before { client_secret: self.client_secret().await?, scopes: self.before.clone() };
        let token = mcp::log_in(self.manifest, before, guard, clock, person.tell, PATIENCE);
        Ok(LoginOutcome::Token(token.await?.written()))
    }

    /// The OAuth client secret, where the driver names one.
    async fn client_secret(&self) -> Result<Option<Secret>, Stop> {
        let login = self.manifest.server().and_then(ServerLocation::login);
        let Some(written) = login.and_then(|login| login.client_secret.as_ref()) else {
            return Ok(None);
        };
        let Some(name) = uses::in_text(written).pop_first() else {
            let words =
                format!("`server.auth.client_secret` of `{}` names no secret", self.driver.id);
            let help = "write `${secrets.NAME}`, and set the value with `haft secrets set`";
            return Err(Stop::new(Code::SetupRequired, words).help(help));
        };
        self.keeper.signing(&name).await.map(Some)
    }

    /// Refuses a login up front where the kind of its secret cannot hold a refresh token.
    fn renewable(&self, slug: &str) -> Result<(), Stop> {
        if self.keeper.listed(slug)?.kind == SecretKind::OAuth {
            return Ok(());
        }
        let words = format!("the secret `{slug}` cannot hold what renews its token");
        Err(Stop::new(Code::SetupRequired, words).help("give it `kind: oauth`"))
    }

    /// The flow that an AUTH.md describes.
    async fn by_service(
        &self,
        auth: &AuthFile,
        person: Attending<'_>,
    ) -> Result<LoginOutcome, Stop> {
        // Resolve the secret first: without one, the login's token would be lost.
        let slug = self.slug()?;
        match &auth.flow {
            Flow::Token => {
                let asked = (person.ask)(&format!("token of {}: ", auth.id))?;
                asked.map(LoginOutcome::Token).ok_or_else(|| {
                    Stop::new(Code::CanceledCaller, "no token was entered; the login is canceled")
                        .because(CauseDetail::Login(LoginFailure::UserCancelled))
                })
            }
            Flow::Device { client, scope, .. } => {
                self.renewable(&slug)?;
                let device = Device {
                    client: client.clone(),
                    scope: scope.clone(),
                    second: Duration::from_secs(1),
                };
                let (api_base, audience) = (auth.api_base.to_string(), auth.audience.clone());
                let service = Service { api_base, audience };
                let (guard, clock) = (&self.keeper.guard, self.keeper.clock);
                let token = device.log_in(&service, guard, clock, person.tell).await?;
                Ok(LoginOutcome::Token(token.written()))
            }
            Flow::Service { .. } => {
                let words = format!(
                    "{} wants `service-auth`, of which AIP-50 does not say by which requests one \
                     logs in",
                    auth.file
                );
                Err(Stop::new(Code::SetupRequired, words).help("use `pat` or `device-code`"))
            }
        }
    }

    /// Polls until the person has logged in elsewhere.
    async fn awaited(&self, tell: Tell<'_>) -> Result<LoginOutcome, Stop> {
        let login = self.block.login.as_ref();
        let Some(completes) = login.and_then(|login| login.completes_when.as_ref()) else {
            let words = "the end of this login cannot be detected";
            return Err(Stop::new(Code::SetupRequired, format!("`{}`: {words}", self.driver.id))
                .help("add `completes_when` to `auth.login` of the driver"));
        };
        tell(Step::Waiting { what: format!("the login to {}", self.driver.id) });
        let waiting = async {
            while !self.program.completes(completes, &self.keeper.guard).await? {
                tokio::time::sleep(LOOK).await;
            }
            Ok(LoginOutcome::Elsewhere)
        };
        let late = || Err(self.failed("it did not complete in time"));
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| late())
    }

    /// The outcome of a login that reports its own completion.
    async fn complete(&self, outcome: LoginOutcome) -> Result<LoginOutcome, Stop> {
        let login = self.block.login.as_ref();
        match login.and_then(|login| login.completes_when.as_ref()) {
            Some(completes) if !self.program.completes(completes, &self.keeper.guard).await? => {
                Err(self.failed("it ended, and its `completes_when` does not hold"))
            }
            Some(_) | None => Ok(outcome),
        }
    }

    /// The AUTH.md that the driver names, if it names one.
    fn auth_file(&self) -> Option<Arc<AuthFile>> {
        let path = beside(&self.driver.file, self.block.reference.as_deref()?)?;
        self.workspace.rulebook().auth.iter().find(|auth| *auth.file == path).cloned()
    }

    /// The secret that holds the token: the one that the AUTH.md names, or the only one that the
    /// driver uses.
    fn slug(&self) -> Result<String, Stop> {
        let slug = |name: &str| self.keeper.listed(name).ok().map(|listed| listed.slug.clone());
        let named = self.auth_file().and_then(|auth| slug(&auth.token_store.keychain));
        let login = self.manifest.server().and_then(ServerLocation::login);
        let bearer = || uses::in_text(login?.bearer.as_ref()?).pop_first();
        let named = named.or_else(|| slug(&bearer()?));
        let names = uses::named(&self.driver.raw()).into_iter().chain(self.block.state.env.clone());
        let used: BTreeSet<String> = names.filter_map(|name| slug(&name)).collect();
        match (named, used.iter().next(), used.len()) {
            (Some(named), _, _) => Ok(named),
            (None, Some(only), 1) => Ok(only.clone()),
            (None, _, _) => {
                let words = format!("no secret of `{}` can hold its token", self.driver.id);
                Err(Stop::new(Code::SetupRequired, words)
                    .help("list one of kind `oauth` in a SECRETS.md, and use it in the driver"))
            }
        }
    }

    fn failed(&self, why: &str) -> Stop {
        let words = format!("the login to `{}` failed: {why}", self.driver.id);
        Stop::new(Code::CredentialMissing, words)
            .because(CauseDetail::Login(LoginFailure::UpstreamError))
    }

    /// The refusal where a person is needed and none is at hand.
    fn nobody(&self) -> Stop {
        let words =
            format!("a person has to log in to `{}`, and there is no terminal", self.driver.id);
        Stop::new(Code::CredentialMissing, words)
            .help(format!("run `haft login {}` at a terminal", self.driver.id))
    }

    /// The refusal where there is no flow: the login is a secret.
    fn by_secrets(&self) -> Stop {
        let words = format!("`{}` has no way to log in; it takes secrets", self.driver.id);
        let stop = Stop::new(Code::InputValue, words);
        match self.slug() {
            Ok(slug) => stop.help(format!("haft secrets set {slug}")),
            Err(_) => stop.help("`haft secrets list` says which"),
        }
    }
}

fn find(workspace: &Workspace, id: &str) -> Result<Arc<Driver>, Stop> {
    let drivers = workspace.drivers();
    let found = drivers.iter().find(|driver| driver.id.as_str() == id);
    found.cloned().ok_or_else(|| {
        let stop =
            Stop::new(Code::ResourceNotFound, format!("no tool is served by a driver `{id}`"));
        match did_you_mean(id, drivers.iter().map(|driver| driver.id.as_str())) {
            Some(near) => stop.help(format!("did you mean `{near}`?")),
            None => stop.help("`haft tools` lists the drivers"),
        }
    })
}

pub(super) fn unreadable(fault: std::io::Error) -> Stop {
    Stop::new(Code::SetupRequired, format!("`{FILE}` cannot be used: {fault}"))
}
