//! Benchmark of the sandbox: the start-up cost of our launcher and of bubblewrap over a bare start,
//! in turns of the same run, and the cost of violation reports for each change of a path.
//!
//! The launcher is `haft-sandbox` in this profile. It stands by, as for a host that runs more than
//! one program; the first start loads it.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use std::future::pending;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use haft_sandbox::{
    Access, AddressGuard, Bounds, ConfinedProgram, ExitKind, Gate, Launcher, MountedPath,
    NetworkAccess, Walls,
};

const ROUNDS: usize = 200;
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

/// Target ratio of our overhead to bubblewrap's.
const GOAL: f64 = 0.5;

/// Highest ratio in the quietest tenth of the rounds. Each start passes four times from process to
/// process, and on a loaded machine each hand-over waits for a processor.
const MOST: f64 = 0.7;

/// Files that a program creates and removes.
const FILES: u32 = 5_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).canonicalize().unwrap();
    let walls = Walls::By(Launcher::at(env!("CARGO_BIN_EXE_haft-sandbox")));
    let gate = NetworkAccess::Through(Gate::new(Vec::new(), AddressGuard::public()));
    let run = |network: &NetworkAccess| {
        let confined =
            ConfinedProgram { network: network.clone(), ..confined(&folder, "/bin/true", &[]) };
        let (time, _) = timed(&runtime, confined, &walls);
        time
    };
    let wrapped = Path::new(BUBBLEWRAP).exists();
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let [bare, bwrap, ours, gated] = &mut times;
        bare.push(spawned(&mut Command::new("/bin/true")));
        ours.push(run(&NetworkAccess::None));
        gated.push(run(&gate));
        if wrapped {
            bwrap.push(spawned(&mut bubblewrap(&folder)));
        }
    }
    println!("{}", writes(&runtime, &folder, &walls));
    let mut ratio = 0.0;
    for (name, share) in [("median", 2), ("quietest tenth", 10)] {
        let [bare, bwrap, ours, gated] = times.each_mut().map(|times| at(times, share));
        let over = |time: Duration| time.saturating_sub(bare);
        println!("{name}: a bare start {bare:?}; ours {:?} more", over(ours));
        println!("  with a gate {:?} more; bubblewrap {:?} more", over(gated), over(bwrap));
        ratio = over(ours).as_secs_f64() / over(bwrap).as_secs_f64();
        println!("  ours is {ratio:.2} of bubblewrap's, and {GOAL} is the goal");
    }
    if !wrapped {
        println!("bubblewrap is not installed, so there is nothing to hold that against");
    } else if ratio > MOST {
        println!("above {MOST}");
        std::process::exit(1);
    }
}

/// The quantile of some times: one part in `share` lies below it.
fn at(times: &mut [Duration], share: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() / share).copied().unwrap_or_default()
}

fn confined(folder: &Path, program: &str, args: &[&str]) -> ConfinedProgram {
    ConfinedProgram {
        program: program.into(),
        args: args.iter().map(|word| (*word).to_owned()).collect(),
        shown: vec![MountedPath { path: folder.to_owned(), access: Access::Read }],
        cwd: folder.to_owned(),
        bounds: Bounds::default(),
        ..ConfinedProgram::default()
    }
}

fn timed(
    runtime: &tokio::runtime::Runtime,
    confined: ConfinedProgram,
    walls: &Walls,
) -> (Duration, Vec<u8>) {
    let begun = Instant::now();
    let late = begun + Duration::from_secs(60);
    let ended = runtime.block_on(confined.run(walls, late, pending())).unwrap();
    assert_eq!(ended.end, ExitKind::Exited(0), "{}", String::from_utf8_lossy(&ended.stderr));
    (begun.elapsed(), ended.stdout)
}

fn spawned(command: &mut Command) -> Duration {
    let begun = Instant::now();
    assert!(command.output().unwrap().status.success());
    begun.elapsed()
}

/// The same mounts as ours, as far as bubblewrap has them: no limits, no Landlock, no seccomp
/// filter.
fn bubblewrap(folder: &Path) -> Command {
    let mut command = Command::new(BUBBLEWRAP);
    command.args(["--unshare-all", "--new-session", "--clearenv", "--cap-drop", "ALL"]);
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    for place in ["/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/nsswitch.conf"] {
        command.args(["--ro-bind-try", place, place]);
    }
    for place in ["/bin", "/sbin", "/lib", "/lib64"].map(Path::new) {
        if let Ok(target) = place.read_link() {
            command.arg("--symlink").args([&target, place]);
        } else {
            command.arg("--ro-bind-try").args([place, place]);
        }
    }
    command.arg("--ro-bind").args([folder, folder]).arg("--chdir").arg(folder);
    command.arg("/bin/true");
    command
}

/// The cost of creating and removing a file, inside and outside, as the program itself measures it.
fn writes(runtime: &tokio::runtime::Runtime, folder: &Path, walls: &Walls) -> String {
    let script = format!(
        "use Time::HiRes 'time'; my $d = -d '/dev/shm' ? '/dev/shm' : '/tmp'; my $b = time;
        for (1..{FILES}) {{ open(F, '>', \"$d/haft-$$\"); close F; unlink \"$d/haft-$$\" }}
        printf '%d', (time - $b) * 1e9 / {FILES}"
    );
    let [inside, outside] = [walls, &Walls::Off].map(|walls| {
        let confined = confined(folder, "/usr/bin/perl", &["-e", &script]);
        let (_, said) = timed(runtime, confined, walls);
        Duration::from_nanos(String::from_utf8_lossy(&said).parse().unwrap())
    });
    format!("a file made and removed: {inside:?} inside, {outside:?} outside")
}
