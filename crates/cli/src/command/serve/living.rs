//! Background tasks of the server: hot reload, health checks, and store outages.

use std::sync::Arc;

use haft::{Host, ReloadOutcome, Watching};
use haft_contract::rules;
use haft_model::Notice;

use crate::output;

/// Goes by what files say as they change, for as long as the process lives.
pub(super) fn watch(host: &Arc<Host>) {
    let host = host.clone();
    let mut watching = match Watching::new(&host.workspace()) {
        Ok(watching) => watching,
        Err(fault) => {
            output::remark(format!("warning: {fault}; start again after a change"));
            return;
        }
    };
    tokio::spawn(async move {
        while watching.changed().await {
            let host = host.clone();
            // Reading a large workspace would block the callers on this thread.
            let _ = tokio::task::spawn_blocking(move || refresh(&host)).await;
        }
    });
}

/// Runs health checks of backends at the interval of their drivers, for as long as the process
/// lives.
pub(super) fn look_at_backends(host: &Arc<Host>) {
    let host = host.clone();
    tokio::spawn(async move {
        loop {
            if let Err(fault) = host.probe(false).await {
                output::remark(format!("warning: backends are not looked at: {fault}"));
                return;
            }
            tokio::time::sleep(host.next_probe()).await;
        }
    });
}

/// Says when the store goes down and when it is up again, for as long as the process lives.
pub(super) fn tell_of_store(host: &Arc<Host>) {
    let reader = host.reader();
    let mut changes = reader.health().changes();
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            let outage = changes.borrow_and_update().clone();
            match outage {
                Some(outage) => output::remark(format!(
                    "\x1b[1;31mstore.unavailable\x1b[0m: {}; no calls are taken, and the records of \
                     {} answered calls wait",
                    output::visible(&outage.cause),
                    reader.health().pending(),
                )),
                None => output::remark("the store works again: calls are taken"),
            }
        }
    });
}

fn refresh(host: &Host) {
    let is_wrong =
        || host.runtime().world().notices.iter().any(|notice| notice.severity == "error");
    let was_wrong = is_wrong();
    match host.refresh() {
        Ok(ReloadOutcome::Same) if was_wrong && !is_wrong() => {
            output::remark("files changed: they say what they said before, and that is right");
        }
        Ok(ReloadOutcome::Same) => {}
        Ok(ReloadOutcome::Swapped) => swapped(host),
        Ok(ReloadOutcome::Kept(new)) => {
            shown(&new);
            let waits = new.iter().any(|notice| notice.code == rules::L008.code);
            output::remark(match waits {
                true => {
                    "files changed, and what they said before holds on until `haft accept --settings`"
                }
                false => "files changed, and what they said before holds on until that is mended",
            });
        }
        Ok(ReloadOutcome::Partly(new)) => {
            shown(&new);
            swapped(host);
            output::remark("what these files said before holds on until that is mended");
        }
        Ok(ReloadOutcome::Without(new)) => {
            shown(&new);
            swapped(host);
            output::remark(
                "rules changed as well, and so these files are out until that is mended",
            );
        }
        Err(fault) => output::remark(format!("files changed and cannot be read: {fault}")),
    }
}

fn swapped(host: &Host) {
    let workspace = host.workspace();
    let tools = output::counted(workspace.snapshot().entries().count(), "tool");
    output::remark(format!("files changed: {tools} now"));
}

/// Notices with their places, a line each.
pub(super) fn shown<'n>(notices: impl IntoIterator<Item = &'n Notice>) {
    for notice in notices {
        let place = format!("{}:{}:{}", notice.file, notice.line, notice.column);
        let words = output::visible(&notice.message);
        output::remark(format!("\x1b[1;31m{}\x1b[0m {place} {words}", notice.code));
    }
}
