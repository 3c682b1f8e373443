//! The launcher as a program of its own, for whoever cannot call it first in their own `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_sandbox::launcher();
    eprintln!("haft-sandbox is started by haft to confine a program; there is nothing to do here");
    ExitCode::from(2)
}
