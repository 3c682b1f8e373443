//! `haft setup`: installs and prepares the program of a driver, step by step, and records it.
//!
//! Nothing is installed or run before it was shown and a person agreed to it.

use std::io::IsTerminal as _;

use anyhow::Result;
use haft::{DriverRecord, Provision, Readiness, SetupStep, SetupWork, StoreChoice};
use haft_model::{Code, Stop, Timestamp};
use haft_notation::range;
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, command, output, prompt};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The driver, by its id.
    driver: String,
    /// Agree to everything that is shown.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let driver = arguments.driver.as_str();
    let Some(provision) = host.provision(driver) else {
        let words = format!("no contract here is served by a driver `{driver}`");
        let stop = Stop::new(Code::ResourceNotFound, words).help("`haft tools` lists the drivers");
        return output::stop(&stop, context.json);
    };
    let root = host.workspace().root().to_owned();
    let mut readiness = Readiness::load(&root)?;
    let mut walk = SetupRun {
        provision,
        consent: match (arguments.yes, std::io::stdin().is_terminal()) {
            (true, _) => Consent::Given,
            (false, true) => Consent::Asked,
            (false, false) => Consent::Missing,
        },
        record: readiness.get(driver, &context.login),
    };
    let outcome = walk.all().await;
    walk.record.checked_at = Some(Timestamp::now());
    walk.record.ready = outcome.is_ok();
    readiness.put(driver, &context.login, walk.record.clone())?;
    match outcome {
        Err(stop) => output::stop(&stop, context.json),
        Ok(()) => {
            told(context, driver, &walk.record)?;
            Ok(Exit::Done)
        }
    }
}

fn told(context: &Context, driver: &str, record: &DriverRecord) -> Result<()> {
    if context.json {
        return output::json(&json!({ "driver": driver, "record": record }));
    }
    let version = record.version.as_deref().map(|version| format!(" {version}"));
    output::line(format!("{driver}{} is ready", version.unwrap_or_default()))
}

/// How the consent of a person is obtained.
#[derive(Clone, Copy)]
enum Consent {
    Given,
    /// The person at the terminal is asked.
    Asked,
    /// No person is at the terminal.
    Missing,
}

/// A setup run. It ends where a person has to continue.
struct SetupRun {
    provision: Provision,
    consent: Consent,
    record: DriverRecord,
}

impl SetupRun {
    async fn all(&mut self) -> Result<(), Stop> {
        self.install().await?;
        self.record.installed = true;
        self.record.program = self.provision.stamp();
        self.version().await?;
        for step in self.provision.steps() {
            self.step(&step).await?;
        }
        if self.provision.has_login() {
            output::remark("the driver has a login; `haft login` is where one logs in");
        }
        Ok(())
    }

    /// Installs the program if it is not there, by the first way that works.
    async fn install(&mut self) -> Result<(), Stop> {
        let Err(missing) = self.provision.program() else { return Ok(()) };
        (self.record.installed, self.record.program) = (false, None);
        let mut why = missing;
        for way in self.provision.ways() {
            if let Some(skipped) = &way.skipped {
                output::remark(format!("skipped  {} ({}): {skipped}", way.says, way.method));
                continue;
            }
            if !self.agreed(&way.says).await? {
                continue;
            }
            match self.provision.install(&way).await.and_then(|()| self.provision.program()) {
                Ok(_) => return Ok(()),
                Err(stop) => {
                    output::remark(format!("failed   {}: {}", way.says, stop.message));
                    why = stop;
                }
            }
        }
        Err(why.help("none of the ways to install it was taken or worked; install it yourself"))
    }

    async fn version(&mut self) -> Result<(), Stop> {
        (self.record.version, self.record.version_fits) = (None, false);
        let fits = |version: &str, wanted: &str| {
            range::parse(wanted).is_ok_and(|wanted| wanted.contains(version))
        };
        let asked = self.provision.version(fits).await;
        self.record.misfit = asked.as_ref().err().map(|stop| stop.message.clone());
        self.record.version = asked?;
        self.record.version_fits = true;
        Ok(())
    }

    async fn step(&mut self, step: &SetupStep) -> Result<(), Stop> {
        if self.record.steps.contains(&step.id) {
            return Ok(());
        }
        if let Some((cmd, code, patience)) = &step.skip_if
            && self.provision.command(cmd, None, *patience).await? == *code
        {
            self.record.steps.insert(step.id.clone());
            return Ok(());
        }
        self.work(step).await.map_err(|stop| {
            let words = format!("step `{}` ({}): {}", step.id, step.title, stop.message);
            Stop { message: words, ..stop }
        })?;
        self.record.steps.insert(step.id.clone());
        Ok(())
    }

    async fn work(&self, step: &SetupStep) -> Result<(), Stop> {
        let left = |words: String| Stop::new(Code::SetupRequired, words);
        match &step.work {
            SetupWork::Command(cmd, patience) => {
                if !self.agreed(cmd).await? {
                    return Err(left(format!("`{cmd}` was not run")));
                }
                well(cmd, self.provision.command(cmd, None, *patience).await?)
            }
            SetupWork::Ask { prompt, cmd } => {
                let answer = match self.consent {
                    Consent::Missing => None,
                    Consent::Given | Consent::Asked => prompt::line(&format!("{prompt} ")).await,
                };
                let Some(answer) = answer else {
                    let words = "the step needs an answer, and none was given";
                    return Err(left(words.into()).help("run it at a terminal"));
                };
                let answer = answer.trim_end_matches(['\r', '\n']);
                let patience = std::time::Duration::from_secs(60);
                well(cmd, self.provision.command(cmd, Some(answer), patience).await?)
            }
            SetupWork::Visit(url) => self.done_by_hand(&format!("visit {url}")).await,
            SetupWork::ByHand(what) => self.done_by_hand(what).await,
        }
    }

    /// Something that only a person can do, and only a person can say was done.
    async fn done_by_hand(&self, what: &str) -> Result<(), Stop> {
        let said = match self.consent {
            Consent::Asked => prompt::line(&format!("{what}; is that done? [y/N] ")).await,
            Consent::Given | Consent::Missing => None,
        };
        match is_yes(&said.unwrap_or_default()) {
            true => Ok(()),
            false => Err(Stop::new(Code::SetupRequired, what.to_owned())
                .help("then run `haft setup` again at a terminal, and say that it is done")),
        }
    }

    /// Shows what is about to happen and asks whether it may.
    async fn agreed(&self, what: &str) -> Result<bool, Stop> {
        output::remark(format!("next     {}", output::visible(what)));
        match self.consent {
            Consent::Given => Ok(true),
            Consent::Asked => Ok(is_yes(&prompt::line("go on? [y/N] ").await.unwrap_or_default())),
            Consent::Missing => {
                let words = format!("`{what}` needs consent, and there is no terminal");
                let help = "run it at a terminal, or with `--yes`";
                Err(Stop::new(Code::SetupRequired, words).help(help))
            }
        }
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes")
}

fn well(cmd: &str, code: i32) -> Result<(), Stop> {
    match code {
        0 => Ok(()),
        code => Err(Stop::new(Code::SetupRequired, format!("`{cmd}` ended with code {code}"))),
    }
}
