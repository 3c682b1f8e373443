//! Signal handling: Ctrl-C, or SIGTERM for a server, requests cancellation; a second Ctrl-C ends
//! the process.

use haft_driver::Cancel;
use haft_model::Situation;

use crate::exit::Exit;
use crate::output;

/// Fires when the person at the keyboard wants to stop; a second time ends the process at once.
pub(crate) fn listen() -> Cancel {
    let cancel = Cancel::new();
    let fired = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        fired.cancel();
        if tokio::signal::ctrl_c().await.is_ok() {
            output::remark("ended without waiting; `haft runs --open` tells what is left");
            std::process::exit(i32::from(Exit::Stopped(Situation::Canceled).number()));
        }
    });
    cancel
}

/// The same, also when the system wants us to end.
pub(crate) fn listen_as_service() -> Cancel {
    let cancel = listen();
    let fired = cancel.clone();
    tokio::spawn(async move {
        terminated().await;
        fired.cancel();
    });
    cancel
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut asked) => drop(asked.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
