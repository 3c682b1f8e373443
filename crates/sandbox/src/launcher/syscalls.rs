//! Seccomp allowlist: the system calls that a program may make.
//!
//! A call off the list fails with `ENOSYS`, which programs are prepared for. Not on the list:
//! mounting, namespaces, tracing, keys, modules, clocks, `io_uring`, handles, and `clone3`, whose
//! arguments a filter cannot read.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use super::Report;

/// The clone flags of every kind of namespace.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// A call that is reported, and the argument with its flags if only some of them change anything.
pub(super) type ObservedSyscall = (c_long, Option<u8>);

/// The flags that open a file for a change.
const CHANGING: [i32; 4] = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

/// The BPF instruction that ends a filter.
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// The number of instructions by which the library's filter checks the architecture.
const ASKS_FOR_MACHINE: usize = 3;

/// The bits of a socket's type without its flags.
const TYPE: u64 = 0xf;

/// Where the program may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Nowhere.
    None,
    /// The gate, at this port of an otherwise empty network.
    At(u16),
}

/// Installs the allowlist for this process and its descendants.
pub(super) fn filter(door: Door) -> Result<String, Report> {
    let program = compiled(door).map_err(|fault| refused(&fault.to_string()))?;
    seccompiler::apply_filter(&program).map_err(|fault| refused(&fault.to_string()))?;
    Ok("seccomp".to_owned())
}

fn compiled(door: Door) -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<_, _> = looked_at()?.into_iter().chain(sockets(door)?).collect();
    let unheard_of = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    let rest: BpfProgram =
        SeccompFilter::new(rules, unheard_of, SeccompAction::Allow, arch)?.try_into()?;
    Ok(plainly(rest))
}

/// Puts a range check of the unconditional calls before a filter. On installation the kernel runs
/// the filter for every call there is, so a filter that compares call by call takes milliseconds to
/// start.
fn plainly(rest: BpfProgram) -> BpfProgram {
    let [load, compare] = [libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_K];
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    // The other filter begins with the architecture check; nothing counts before it.
    let mut filter: BpfProgram = rest.iter().take(ASKS_FOR_MACHINE).cloned().collect();
    filter.push(step(load, 0, 0, offset_of!(libc::seccomp_data, nr) as u32));
    for (first, last) in ranges() {
        filter.push(step(compare | libc::BPF_JGE, 0, 2, first));
        filter.push(step(compare | libc::BPF_JGT, 1, 0, last));
        filter.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    }
    filter.extend(rest);
    filter
}

/// The unconditional calls as ranges of numbers, each with its first and last.
fn ranges() -> Vec<(u32, u32)> {
    let numbers: BTreeSet<_> = PLAIN.iter().chain(OLDER).map(|call| *call as u32).collect();
    numbers.into_iter().fold(Vec::new(), |mut ranges: Vec<(u32, u32)>, number| {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            Some(_) | None => ranges.push((number, number)),
        }
        ranges
    })
}

/// A filter that forbids new processes. Threads and exec stay allowed.
pub(super) fn childless() -> Result<BpfProgram, Report> {
    let compiled = || -> Result<BpfProgram, seccompiler::BackendError> {
        let of_its_own = condition(0, SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)?;
        let mut rules = BTreeMap::from([(libc::SYS_clone, vec![rule(vec![of_its_own])?])]);
        rules.extend(FORKS.iter().map(|call| (*call, Vec::new())));
        let no = SeccompAction::Errno(libc::EPERM as u32);
        let arch = std::env::consts::ARCH.try_into()?;
        SeccompFilter::new(rules, SeccompAction::Allow, no, arch)?.try_into()
    };
    compiled().map_err(|fault| refused(&fault.to_string()))
}

/// A filter that reports every call that changes a path, before the kernel makes it.
pub(super) fn asking(calls: &[ObservedSyscall]) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = BTreeMap::new();
    for (call, flags) in calls {
        let mut wanted = Vec::new();
        for flag in flags.iter().flat_map(|_| CHANGING) {
            let (argument, flag) = (flags.unwrap_or_default(), flag as u64);
            wanted.push(rule(vec![condition(argument, SeccompCmpOp::MaskedEq(flag), flag)?])?);
        }
        rules.insert(*call, wanted);
    }
    let arch = std::env::consts::ARCH.try_into()?;
    let asked = SeccompAction::Trace(0);
    let mut filter: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, asked, arch)?.try_into()?;
    // The library has no name for this action, so an unused one stands in for it.
    for step in &mut filter {
        if step.code == RETURN && step.k == libc::SECCOMP_RET_TRACE {
            step.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(filter)
}

fn refused(fault: &str) -> Report {
    Report::Unenforced(format!("the filter of system calls: {fault}"))
}

type SyscallTable = Vec<(c_long, Vec<SeccompRule>)>;

/// Calls that are allowed for some of their arguments.
fn looked_at() -> Result<SyscallTable, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|wish| condition(1, Ne, wish));
    let [sti, linux] = typing;
    let personalities = [0, 0xffff_ffff].map(|kind| rule(vec![condition(0, Eq, kind)?]));
    let [usual, asked] = personalities;
    let pairs = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let pairs: Result<_, _> =
        pairs.into_iter().map(|kind| rule(socket(libc::AF_UNIX, kind)?)).collect();
    Ok(vec![
        (libc::SYS_clone, vec![rule(vec![condition(0, MaskedEq(NAMESPACES), 0)?])?]),
        (libc::SYS_socketpair, pairs?),
        (libc::SYS_ioctl, vec![rule(vec![sti?, linux?])?]),
        (libc::SYS_personality, vec![usual?, asked?]),
    ])
}

/// The sockets that may be created, and whether they may connect.
fn sockets(door: Door) -> Result<SyscallTable, seccompiler::BackendError> {
    let mut made = Vec::new();
    match door {
        // Without a network such a socket is useless, but creating one is no offence. Connecting is
        // not on the list, nor is a datagram socket: a file that is shown may be the socket of a
        // process outside.
        Door::None => {
            for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] {
                made.push(rule(socket(family, libc::SOCK_STREAM)?)?);
            }
            Ok(vec![(libc::SYS_socket, made)])
        }
        // A program that may connect must not have a Unix socket, which leads to files.
        Door::At(_) => {
            for family in [libc::AF_INET, libc::AF_INET6] {
                for protocol in [0, libc::IPPROTO_TCP] {
                    let mut wanted = socket(family, libc::SOCK_STREAM)?;
                    wanted.push(condition(2, SeccompCmpOp::Eq, protocol as u64)?);
                    made.push(rule(wanted)?);
                }
            }
            Ok(vec![(libc::SYS_socket, made), (libc::SYS_connect, Vec::new())])
        }
    }
}

fn socket(family: i32, kind: i32) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    let family = condition(0, SeccompCmpOp::Eq, family as u64)?;
    Ok(vec![family, condition(1, SeccompCmpOp::MaskedEq(TYPE), kind as u64)?])
}

fn condition(
    argument: u8,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The kernel reads only the lower half of these arguments.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions)
}

/// Calls that are allowed with any arguments.
#[rustfmt::skip]
const PLAIN: &[c_long] = &[
    // Files.
    libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_openat, libc::SYS_openat2,
    libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_preadv,
    libc::SYS_pwritev, libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_lseek, libc::SYS_fstat,
    libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_getdents64, libc::SYS_readlinkat, libc::SYS_getcwd,
    libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_fsync,
    libc::SYS_fdatasync, libc::SYS_sync, libc::SYS_syncfs, libc::SYS_sync_file_range,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fadvise64,
    libc::SYS_readahead, libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_unlinkat,
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat,
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat,
    libc::SYS_umask, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_close_range,
    libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee,
    libc::SYS_memfd_create, libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr,
    libc::SYS_listxattr, libc::SYS_llistxattr, libc::SYS_flistxattr, libc::SYS_setxattr,
    libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr, libc::SYS_lremovexattr,
    libc::SYS_fremovexattr, libc::SYS_inotify_init1, libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch, libc::SYS_io_setup, libc::SYS_io_destroy, libc::SYS_io_submit,
    libc::SYS_io_getevents, libc::SYS_io_cancel,
    // Memory.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise,
    libc::SYS_msync, libc::SYS_mincore, libc::SYS_brk, libc::SYS_mlock, libc::SYS_mlock2,
    libc::SYS_munlock, libc::SYS_mlockall, libc::SYS_munlockall, libc::SYS_membarrier,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect, libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy, libc::SYS_mbind, libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmdt,
    libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_semctl,
    libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl,
    // Processes and threads.
    libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4,
    libc::SYS_waitid, libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_getpid,
    libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid,
    libc::SYS_setsid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid,
    libc::SYS_getresuid, libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_setgroups,
    libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid,
    libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid,
    libc::SYS_capget, libc::SYS_capset, libc::SYS_prctl, libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self,
    libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_get_robust_list,
    libc::SYS_rseq, libc::SYS_futex, libc::SYS_futex_waitv, libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity, libc::SYS_sched_getparam,
    libc::SYS_sched_setparam, libc::SYS_sched_getscheduler, libc::SYS_sched_setscheduler,
    libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min, libc::SYS_sched_getattr,
    libc::SYS_sched_setattr, libc::SYS_sched_rr_get_interval, libc::SYS_getpriority,
    libc::SYS_setpriority, libc::SYS_ioprio_get, libc::SYS_ioprio_set, libc::SYS_getrlimit,
    libc::SYS_setrlimit, libc::SYS_prlimit64, libc::SYS_getrusage, libc::SYS_times, libc::SYS_getcpu,
    libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_restart_syscall,
    // Signals and waiting.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend, libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo, libc::SYS_sigaltstack,
    libc::SYS_signalfd4, libc::SYS_eventfd2, libc::SYS_epoll_create1, libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_ppoll, libc::SYS_pselect6,
    libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime,
    libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_getitimer, libc::SYS_setitimer,
    libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_clock_gettime, libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    // Sockets that exist already, and facts about the machine.
    libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4,
    libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt,
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_sendmmsg,
    libc::SYS_recvmmsg, libc::SYS_shutdown, libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrandom,
];

/// Calls that only start a process.
#[cfg(target_arch = "x86_64")]
const FORKS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];

/// Calls that only start a process.
#[cfg(not(target_arch = "x86_64"))]
const FORKS: &[c_long] = &[];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: &[c_long] = &[
    libc::SYS_arch_prctl, libc::SYS_open, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat,
    libc::SYS_access, libc::SYS_poll, libc::SYS_select, libc::SYS_pipe, libc::SYS_dup2,
    libc::SYS_fork, libc::SYS_vfork, libc::SYS_rename, libc::SYS_mkdir, libc::SYS_rmdir,
    libc::SYS_link, libc::SYS_unlink, libc::SYS_symlink, libc::SYS_readlink, libc::SYS_chmod,
    libc::SYS_chown, libc::SYS_lchown, libc::SYS_mknod, libc::SYS_getpgrp, libc::SYS_time,
    libc::SYS_alarm, libc::SYS_pause, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_getdents, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd,
    libc::SYS_signalfd, libc::SYS_inotify_init,
];

/// Calls that newer architectures do not have.
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seccomp_filter_kills_foreign_architecture_before_syscall_number() {
        let filter = compiled(Door::None).unwrap();
        let [machine, same, end, number, ..] = filter.as_slice() else { panic!("{filter:?}") };
        let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        assert_eq!((machine.code, machine.k), (load, offset_of!(libc::seccomp_data, arch) as u32));
        let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        assert_eq!((same.code, same.jt, same.jf), (equal, 1, 0));
        assert_eq!((end.code, end.k), (RETURN, libc::SECCOMP_RET_KILL_PROCESS));
        assert_eq!((number.code, number.k), (load, 0));
    }

    #[test]
    fn ranges_hold_what_is_plainly_allowed_and_nothing_else() {
        let plain: BTreeSet<_> = PLAIN.iter().chain(OLDER).map(|call| *call as u32).collect();
        let held: BTreeSet<_> =
            ranges().into_iter().flat_map(|(first, last)| first..=last).collect();
        assert_eq!(held, plain);
        let all: BTreeSet<_> =
            looked_at().unwrap().into_iter().map(|(call, _)| call as u32).collect();
        assert!(held.is_disjoint(&all));
    }
}
