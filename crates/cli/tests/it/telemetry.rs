//! Telemetry tests: spans of calls as a collector gets them, with real processes, real sockets, and
//! a collector of our own.

mod collector;
mod hidden;
mod lost;
mod spans;

use haft_testkit::Folder;

use collector::Collector;

/// A workspace of what comes with Haft, whose spans go to a collector.
fn workspace(collector: &Collector, more: &str) -> Folder {
    let telemetry = format!("[telemetry]\nendpoint = \"{}\"\n{more}\n", collector.base());
    let rule = "[[rule]]\ntool = \"fs.write\"\nverdict = \"ask\"\n\
                [[rule]]\ntool = \"time.*\"\nverdict = \"deny\"\nreason = \"no clocks here\"\n";
    Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"shop\"\n{rule}{telemetry}"))
        .file("notes.txt", "flour\n")
}
