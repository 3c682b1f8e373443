//! The escape table: every known way out of the sandbox.

/// One way out.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) by: By,
    pub(crate) control: Control,
}

/// How it is tried. Words in braces are replaced by values of the stage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// A shell condition that is true outside.
    Sh(&'static str),
    /// A process that outlives its program.
    Stays(&'static str),
    /// An attempt that only the probe can make.
    Probe(&'static str),
    /// An attempt of the probe, with one host on the egress allowlist.
    Gated(&'static str),
}

/// The expected outcome without a sandbox.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    /// It escapes.
    Escapes,
    /// It escapes for root.
    AsRoot,
    /// It escapes for root, on machines that have the feature and allow it.
    IfThere,
    /// It is not tried, for this reason.
    None(&'static str),
}

use By::{Gated, Probe, Sh, Stays};
use Control::{AsRoot, Escapes, IfThere, None};

const NO_GATE: &str = "without walls there is no gate to lie to";

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    // Files that are not shown.
    row("a path that climbs out", Sh("grep -q secret ../outside/secret"), Escapes),
    row("a path from the root", Sh("grep -q secret {out}/secret"), Escapes),
    row("a path through /proc/self/root", Sh("grep -q secret /proc/self/root{out}/secret"), Escapes),
    row("a path through /proc/self/cwd", Sh("grep -q secret /proc/self/cwd/../outside/secret"), Escapes),
    row("a link that was there", Sh("grep -q secret way/secret"), Escapes),
    row("a link made inside", Sh("ln -s {out} open/out && grep -q secret open/out/secret"), Escapes),
    row("a key in a home folder", Sh("grep -q secret {out}/home/.ssh/id"), Escapes),
    row("the passwords of the machine", Sh("head -c 1 /etc/shadow | grep -q ."), AsRoot),
    row("what Haft keeps", Sh("grep -q secret .haft/key"), Escapes),
    row("what Haft keeps, through /proc", Sh("grep -q secret /proc/self/cwd/.haft/key"), Escapes),
    row("what Haft keeps, by a hard link", Sh("ln .haft/key open/key && grep -q secret open/key"), Escapes),
    row("what Haft keeps, moved", Sh("mv .haft open/haft && grep -q secret open/haft/key"), Escapes),
    row("what Haft keeps, uncovered", Sh("umount .haft; rmdir .haft; grep -q secret .haft/key"), Escapes),
    row("the first process's root", Sh("ls /proc/1/root/ | grep -q ."), IfThere),
    // Read-only files.
    row("writing beside what may be written", Sh("echo x > closed/new"), Escapes),
    row("writing into what may be read", Sh("echo x >> closed/file"), Escapes),
    row("writing at the top", Sh("echo x > new"), Escapes),
    row("removing what may be read", Sh("rm -f closed/file && ! test -e closed/file"), Escapes),
    row("moving what may be read", Sh("mv closed/file open/file"), Escapes),
    row("changing rights", Sh("chmod 777 closed/file && test \"$(stat -c %a closed/file)\" = 777"), Escapes),
    row("changing times", Sh("touch -d 2001-01-01 closed/file && test \"$(stat -c %Y closed/file)\" -lt 1000000000"), Escapes),
    row("a link swapped for a folder", Sh("ln -s {work}/closed open/swap && echo x > open/swap/new"), Escapes),
    row("a hard link to what may be read", Sh("ln closed/file open/hard && echo x >> open/hard"), Escapes),
    row("the shown folder replaced by a link", Sh("mv open other && ln -s {out} open"), Escapes),
    row("the shown folder's parent moved", Sh("mv {work} {work}-moved"), Escapes),
    row("writing among the system's programs", Sh("echo x > /usr/bin/haft-escape"), None("it would change the machine")),
    row("a way in through /proc/self/fd", Sh("exec 9< closed/file; echo x >> /proc/self/fd/9"), Escapes),
    // Devices and the kernel's files.
    row("the messages of the kernel", Sh("test -r /dev/kmsg"), AsRoot),
    row("a device of one's own", Sh("mknod open/zero c 1 5 && head -c 1 open/zero"), AsRoot),
    row("a terminal of somebody's", Sh("test -e /dev/ptmx"), Escapes),
    row("what the machine is made of", Sh("test -e /sys/kernel"), Escapes),
    row("a setting of the kernel", Sh("v=$(cat /proc/sys/kernel/panic) && echo \"$v\" > /proc/sys/kernel/panic"), AsRoot),
    row("the memory of the kernel", Sh("test -r /proc/kcore && head -c 1 /proc/kcore | grep -q ."), None("some kernels have no such file")),
    row("help from the kernel", Sh("echo h > /proc/sysrq-trigger"), None("some kernels have no such file")),
    // Other processes.
    row("looking at a process outside", Sh("test -e /proc/{victim}/status"), Escapes),
    row("a signal to a process outside", Sh("kill -9 {victim}"), Escapes),
    row("a signal to everybody", Stays("echo held; kill -9 -1"), None("it would end every process of the user")),
    row("the environment of whoever started it", Sh("tr '\\0' '\\n' < /proc/$PPID/environ | grep -q HAFT_TEST_LEAK"), Escapes),
    row("the memory of whoever started it", Sh("exec 9< /proc/$PPID/mem"), AsRoot),
    row("the files of whoever started it", Sh("readlink /proc/$PPID/fd/0"), Escapes),
    row("tracing whoever started it", Probe("call|ptrace"), AsRoot),
    row("reading memory across processes", Probe("call|process_vm_readv"), Escapes),
    row("writing memory across processes", Probe("call|process_vm_writev"), Escapes),
    row("taking a file out of a process", Probe("call|pidfd_getfd"), Escapes),
    row("comparing processes", Probe("call|kcmp"), IfThere),
    row("memory that is shared by number", Probe("segment|{segment}"), Escapes),
    // What was left open.
    row("an environment that was not declared", Sh("env | grep -q HAFT_TEST_LEAK"), None("Haft clears it without walls too")),
    row("a file that was left open", Sh("grep -q secret /proc/self/fd/{leaked}"), Escapes),
    row("the line to Haft", Sh("ls -l /proc/self/fd | grep -q socket"), None("without walls there is no line")),
    // Staying.
    row("a daemon", Stays("setsid sh -c ': {mark}; trap \"\" TERM HUP; touch open/up; sleep 60; :' </dev/null >/dev/null 2>&1 & until test -e open/up; do sleep 0.02; done; echo held"), Escapes),
    row("a daemon of a daemon", Stays("(setsid setsid sh -c '(sh -c \": {mark}; touch open/up; sleep 60; :\" &) ' </dev/null >/dev/null 2>&1 &); until test -e open/up; do sleep 0.02; done; echo held"), Escapes),
    // Privileges.
    row("a program that gives root away", Sh("grep -q 'NoNewPrivs:.0' /proc/self/status"), Escapes),
    row("rights that could be had again", Sh("! grep -q 'CapPrm:.0000000000000000' /proc/self/status || ! grep -q 'NoNewPrivs:.1' /proc/self/status"), Escapes),
    row("mounting", Probe("call|mount"), AsRoot),
    row("mounting in the newer way", Probe("call|fsopen"), AsRoot),
    row("a copy of a mount", Probe("call|open_tree"), AsRoot),
    row("moving a mount", Probe("call|move_mount"), AsRoot),
    row("changing a mount", Probe("call|mount_setattr"), AsRoot),
    row("unmounting", Probe("call|umount"), AsRoot),
    row("another root", Probe("call|pivot_root"), AsRoot),
    row("a root further down", Probe("call|chroot"), AsRoot),
    row("leaving the mounts", Probe("call|unshare"), AsRoot),
    row("users of one's own", Probe("call|unshare user"), None("a process with threads cannot")),
    row("entering somebody's namespace", Probe("call|setns"), Escapes),
    row("a child with users of its own", Probe("call|clone user"), AsRoot),
    row("a child in the newest way", Probe("call|clone3"), Escapes),
    row("a program for the kernel", Probe("call|bpf"), AsRoot),
    row("measuring the machine", Probe("call|perf"), AsRoot),
    row("the keys of the session", Probe("call|keyctl"), Escapes),
    row("another key", Probe("call|add_key"), Escapes),
    row("asking for a key", Probe("call|request_key"), Escapes),
    row("calls by a ring", Probe("call|io_uring"), AsRoot),
    row("another kernel", Probe("call|kexec"), None("a mistake would end the machine")),
    row("a module", Probe("call|init_module"), IfThere),
    row("a module from a file", Probe("call|finit_module"), IfThere),
    row("a module less", Probe("call|delete_module"), IfThere),
    row("starting the machine again", Probe("call|reboot"), None("a mistake would end the machine")),
    row("the time of the machine", Probe("call|settimeofday"), AsRoot),
    row("a clock of the machine", Probe("call|clock_settime"), Escapes),
    row("memory on a disk", Probe("call|swapon"), IfThere),
    row("the log of the kernel", Probe("call|syslog"), AsRoot),
    row("a file by its handle", Probe("call|open_by_handle_at"), AsRoot),
    row("the handle of a file", Probe("call|name_to_handle_at"), Escapes),
    row("faults of memory", Probe("call|userfaultfd"), IfThere),
    row("watching all files", Probe("call|fanotify"), IfThere),
    row("addresses that are the same each time", Probe("call|personality"), Escapes),
    row("typing into a terminal", Probe("call|tiocsti"), Escapes),
    // Network and sockets.
    row("a connection", Probe("tcp|127.0.0.1:{other}"), Escapes),
    row("listening", Probe("bind"), Escapes),
    row("a question to a name server", Probe("udp|{udp}"), Escapes),
    row("a packet without a connection", Probe("socket|2|2"), Escapes),
    row("a raw packet", Probe("socket|2|3"), AsRoot),
    row("a packet of the wire", Probe("socket|17|3"), AsRoot),
    row("talking to the kernel", Probe("socket|16|3"), Escapes),
    row("talking to the host of a machine", Probe("socket|40|1"), Escapes),
    row("the kernel's ciphers", Probe("socket|38|5"), Escapes),
    row("a socket that is a file", Probe("unix|{work}/socket"), Escapes),
    row("a socket without a file", Probe("abstract|{abstract}"), Escapes),
    row("a socket that sends to files", Probe("socket|1|2"), Escapes),
    // Past the gate.
    row("past the gate", Gated("tcp|127.0.0.1:{listed}"), Escapes),
    row("past the gate, without a connection", Gated("udp|{udp}"), Escapes),
    row("past the gate, by a file", Gated("unix|{work}/socket"), Escapes),
    row("past the gate, by a name without a file", Gated("abstract|{abstract}"), Escapes),
    row("past the gate, to the kernel", Gated("socket|16|3"), Escapes),
    row("the listed host at another port", Gated("reach|127.0.0.1:{other}"), Escapes),
    row("an address as a number", Gated("reach|2130706433:{other}"), Escapes),
    row("an address in hex", Gated("reach|0x7f000001:{other}"), Escapes),
    row("an address in octal", Gated("reach|0177.0.0.1:{other}"), Escapes),
    row("an address cut short", Gated("reach|127.1:{other}"), Escapes),
    row("an address inside another", Gated("reach|[::ffff:127.0.0.1]:{other}"), Escapes),
    row("any address", Gated("reach|0.0.0.0:{other}"), Escapes),
    row("this machine by its name", Gated("reach|localhost:{other}"), Escapes),
    row("where a host sends one on to", Gated("follow|127.0.0.1:{listed}"), Escapes),
    row("a tunnel to another port", Gated("proxy|CONNECT 127.0.0.1:{other} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n"), None(NO_GATE)),
    row("a header that names another host", Gated("proxy|GET http://127.0.0.1:{listed}/ HTTP/1.1\\r\\nHost: 127.0.0.1:{other}\\r\\n\\r\\n"), None(NO_GATE)),
    row("what a cloud tells of itself", Gated("proxy|GET http://169.254.169.254/ HTTP/1.1\\r\\n\\r\\n"), None(NO_GATE)),
    // Resource exhaustion.
    row("processes without end", Sh("i=0; while [ $i -lt 1500 ]; do sleep 20 & i=$((i+1)); done"), None("it would stop the machine")),
    row("memory without end", Sh("perl -e 'my $x = \"x\" x (400 << 20); exit 0'"), Escapes),
    row("a file without end", Sh("head -c 16000000 /dev/zero > open/big"), Escapes),
    row("a private folder without end", Sh("d=$(mktemp -d) && for i in 1 2 3; do head -c 6000000 /dev/zero > $d/$i || exit 1; done; s=$(cat $d/* | wc -c); rm -r $d; test $s -ge 18000000"), Escapes),
    row("time on the processor without end", Sh("perl -e 'while ((times)[0] + (times)[1] < 2) { $x += $_ for 1..100000 } exit 0'"), Escapes),
    row("open files without end", Sh("perl -e 'for (1..200) { open($f[$_], \"<\", \"/dev/null\") or exit 1 } exit 0'"), Escapes),
];

const fn row(name: &'static str, by: By, control: Control) -> Row {
    Row { name, by, control }
}
