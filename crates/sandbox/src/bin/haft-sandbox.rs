//! Launcher binary: for hosts that cannot call the launcher first in their own `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_sandbox::launcher();
    eprintln!("haft-sandbox is started by haft to confine a program; there is nothing to do here");
    ExitCode::from(2)
}
