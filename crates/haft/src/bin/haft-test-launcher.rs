//! Sandbox launcher of this crate's own tests, which have no `main` to begin with it.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft::launcher();
    ExitCode::from(2)
}
