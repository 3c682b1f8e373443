//! `haft`: the handle by which an AI agent holds its tools, from the terminal.

mod arguments;
mod command;
mod exit;
mod find;
mod interrupt;
mod output;
mod prompt;
mod telling;
mod who;

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use command::{
    accept, add, approvals, approve, audit, batch, call, cancel, check, compensate, doctor, events,
    explain, export, init, login, runs, schema, secrets, serve, settle, setup, show, store, test,
    token, tools, trace, why,
};
use exit::Exit;

/// What a call allocates, the thread that records it frees, and the usual allocator makes both wait.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The handle by which an AI agent holds its tools.
#[derive(Parser)]
#[command(name = "haft", version, propagate_version = true)]
struct Cli {
    /// The workspace.
    #[arg(short = 'C', value_name = "DIR", default_value = ".", global = true)]
    directory: PathBuf,
    /// Print data for machines.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a workspace that works at once.
    Init(init::Arguments),
    /// Write manifests from what other people wrote.
    #[command(subcommand)]
    Add(add::Arguments),
    /// Read every manifest and say what is wrong.
    Check(check::Arguments),
    /// List the catalog, or search in it.
    Tools(tools::Arguments),
    /// Show one contract with what it inherits and who serves it.
    Show(show::Arguments),
    /// Say what would become of a call, and touch nothing.
    Why(why::Arguments),
    /// Make one call through the whole pipeline.
    Call(call::Arguments),
    /// Make several calls, with what depends on what.
    Batch(batch::Arguments),
    /// List the questions that wait for an answer.
    Approvals(approvals::Arguments),
    /// Say yes to a question.
    Approve(approve::Approve),
    /// Say no to a question.
    Reject(approve::Reject),
    /// List the calls that were made.
    Runs(runs::Arguments),
    /// Tell everything that happened to one call.
    Trace(trace::Arguments),
    /// Call a call off.
    Cancel(cancel::Arguments),
    /// Undo a call, by a call of its own.
    Compensate(compensate::Arguments),
    /// Resolve a call whose effect is unknown.
    Settle(settle::Arguments),
    /// Say what is wrong with this machine or workspace, and the command that mends it.
    Doctor(doctor::Arguments),
    /// Get the program of a driver ready: install it, ask its version, set it up.
    Setup(setup::Arguments),
    /// Print what is recorded, as it is recorded.
    Events(events::Arguments),
    /// Verify, read, rebuild or export the records.
    #[command(subcommand)]
    Audit(audit::Arguments),
    /// Begin a new store where the one before is lost.
    #[command(subcommand)]
    Store(store::Arguments),
    /// Keep the values of secrets, and see who has one.
    #[command(subcommand)]
    Secrets(secrets::Arguments),
    /// Make and take back tokens by which callers on the network show who they are.
    #[command(subcommand)]
    Token(token::Arguments),
    /// Log in to what stands behind a driver.
    Login(login::Arguments),
    /// Answer agents: MCP over HTTP or standard input and output, and REST.
    Serve(serve::Arguments),
    /// Run the examples of contracts against every driver that claims them.
    Test(test::Arguments),
    /// Accept a changed contract.
    Accept(accept::Arguments),
    /// Print the surface in other people's formats.
    Export(export::Arguments),
    /// Print the JSON Schema of a document, for editors.
    Schema(schema::Arguments),
    /// Explain an error code or the rule of a diagnostic.
    Explain(explain::Arguments),
}

/// The context of every command.
struct Context {
    directory: PathBuf,
    json: bool,
    login: String,
}

fn main() -> ExitCode {
    // Where this program was started to confine another, it does nothing else.
    haft::launcher();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.code() } else { Exit::Done.code() };
        }
    };
    let context = Context { directory: cli.directory, json: cli.json, login: who::login() };
    match run(&context, cli.command) {
        Ok(exit) => exit.code(),
        Err(fault) => output::fault(&fault, context.json),
    }
}

fn run(context: &Context, command: Command) -> Result<Exit> {
    match command {
        Command::Serve(arguments) => wait(serve::run(context, arguments)),
        Command::Store(arguments) => wait(store::run(context, arguments)),
        Command::Init(arguments) => init::run(context, arguments),
        Command::Add(arguments) => wait(add::run(context, arguments)),
        Command::Check(arguments) => check::run(context, arguments),
        Command::Tools(arguments) => wait(tools::run(context, arguments)),
        Command::Show(arguments) => wait(show::run(context, arguments)),
        Command::Why(arguments) => wait(why::run(context, arguments)),
        Command::Call(arguments) => wait(call::run(context, arguments)),
        Command::Batch(arguments) => wait(batch::run(context, arguments)),
        Command::Approvals(arguments) => wait(approvals::run(context, arguments)),
        Command::Approve(arguments) => wait(approve::approve(context, arguments)),
        Command::Reject(arguments) => wait(approve::reject(context, arguments)),
        Command::Runs(arguments) => wait(runs::run(context, arguments)),
        Command::Trace(arguments) => wait(trace::run(context, arguments)),
        Command::Cancel(arguments) => wait(cancel::run(context, arguments)),
        Command::Compensate(arguments) => wait(compensate::run(context, arguments)),
        Command::Settle(arguments) => wait(settle::run(context, arguments)),
        Command::Doctor(arguments) => wait(doctor::run(context, arguments)),
        Command::Setup(arguments) => wait(setup::run(context, arguments)),
        Command::Events(arguments) => wait(events::run(context, arguments)),
        Command::Audit(arguments) => wait(audit::run(context, arguments)),
        Command::Secrets(arguments) => wait(secrets::run(context, arguments)),
        Command::Token(arguments) => wait(token::run(context, arguments)),
        Command::Login(arguments) => wait(login::run(context, arguments)),
        Command::Test(arguments) => wait(test::run(context, arguments)),
        Command::Accept(arguments) => accept::run(context, arguments),
        Command::Export(arguments) => export::run(context, arguments),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Explain(arguments) => explain::run(context, arguments),
    }
}

/// Waits for a command that has to wait for others.
fn wait(work: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(work);
    // A person who was asked and did not answer is not waited for.
    runtime.shutdown_background();
    ended
}
