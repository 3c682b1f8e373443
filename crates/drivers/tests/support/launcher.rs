//! Test launcher: this crate's tests have no `main` that could call the launcher first.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_sandbox::launcher();
    ExitCode::from(2)
}
