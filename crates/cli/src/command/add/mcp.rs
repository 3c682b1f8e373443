//! `haft add mcp`.

use anyhow::Result;

use super::Wishes;
use crate::Context;
use crate::exit::Exit;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    wishes: Wishes,
}

pub(super) fn run(_: &Context, _: Arguments) -> Result<Exit> {
    anyhow::bail!("later")
}
