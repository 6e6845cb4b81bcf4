//! What a child takes away from itself before it runs user code, in case that code breaks out of the engine.
//!
//! Afterwards it can read the pipe from its parent, write the pipe to it, get memory up to a limit, and exit. It
//! cannot open files or sockets, start processes or threads, make memory executable, or gain rights.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Limits;

/// Room beside the heap of scripts: frames in flight, the text of a result, the allocator's slack.
const OVERHEAD_BYTES: u64 = 256 << 20;

/// Confines the process for good; returns what it gave up, for the log of the parent.
pub(super) fn confine(limits: &Limits) -> io::Result<Vec<&'static str>> {
    let mut given_up = vec!["files", "processes", "core dumps"];
    std::env::set_current_dir("/")?;
    #[cfg(target_os = "linux")]
    linux::limit_memory(limits)?;
    // A count, not a number: descriptors that are open stay open, none can be added.
    lower(Resource::Nofile, 0)?;
    lower(Resource::Nproc, 0)?;
    lower(Resource::Core, 0)?;
    #[cfg(target_os = "linux")]
    given_up.extend(linux::confine()?);
    #[cfg(not(target_os = "linux"))]
    let _ = limits;
    Ok(given_up)
}

fn lower(resource: Resource, value: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    Ok(setrlimit(resource, limit)?)
}

/// The last line behind the engine's own clock and the parent's: a process that burns its processor time in one
/// run is ended by the system.
pub(super) fn limit_cpu(time: Duration) -> io::Result<()> {
    let used = cpu_seconds();
    let limit = Rlimit {
        current: Some(used + time.as_secs() + 2),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    Ok(setrlimit(Resource::Cpu, limit)?)
}

fn cpu_seconds() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(used.tv_sec).unwrap_or(0)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use rustix::process::{
        DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
    };
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };

    use super::*;

    pub(super) fn confine() -> io::Result<[&'static str; 5]> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        drop_capabilities()?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // Sets no_new_privs too.
        seccompiler::apply_filter_all_threads(&filter().map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
        Ok([
            "capabilities",
            "life after the parent",
            "memory",
            "new rights",
            "other system calls",
        ])
    }

    /// A child of root keeps none of root's capabilities: what the filter below lets through is done without any.
    ///
    /// Descriptors that Pawl was started with stay open in the child, because nothing that is safe can close what is known
    /// by its number alone. They are of no use: the filter lets 0 be read, 1 be written, and nothing be done with others.
    fn drop_capabilities() -> io::Result<()> {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        Ok(set_capabilities(None, sets)?)
    }

    /// On top of what is mapped already: binary, libraries and what the allocator reserved.
    pub(super) fn limit_memory(limits: &Limits) -> io::Result<()> {
        let heap = u64::try_from(limits.memory_bytes).unwrap_or(u64::MAX / 2);
        let more = heap.saturating_add(OVERHEAD_BYTES);
        let statm = std::fs::read_to_string("/proc/self/statm")?;
        // The first field is all that is mapped, the sixth what is writable of it.
        for (resource, field) in [(Resource::As, 0), (Resource::Data, 5)] {
            let pages: u64 = statm
                .split_whitespace()
                .nth(field)
                .and_then(|size| size.parse().ok())
                .ok_or_else(|| io::Error::other("/proc/self/statm cannot be read"))?;
            let present = pages * rustix::param::page_size() as u64;
            lower(resource, present.saturating_add(more))?;
        }
        Ok(())
    }

    /// Refused calls fail instead of killing: what a libc tries on its way to giving up is none of our business.
    fn filter() -> Result<seccompiler::BpfProgram, Box<dyn std::error::Error + Send + Sync>> {
        let always = [
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_brk,
            libc::SYS_madvise,
            libc::SYS_futex,
            libc::SYS_clock_gettime,
            libc::SYS_getrandom,
            libc::SYS_sched_yield,
            libc::SYS_gettid,
            libc::SYS_getpid,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
        ];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            always.into_iter().map(|call| (call, Vec::new())).collect();
        let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
        let own = u64::from(std::process::id());
        let processor_time = u64::from(libc::RLIMIT_CPU);
        rules.insert(libc::SYS_read, vec![argument(0, SeccompCmpOp::Eq, 0)?]);
        rules.insert(libc::SYS_write, vec![argument(0, SeccompCmpOp::Eq, 1)?]);
        let not_executable = || is(2, SeccompCmpOp::MaskedEq(executable), 0);
        let protect = SeccompRule::new(vec![not_executable()?])?;
        rules.insert(libc::SYS_mprotect, vec![protect]);
        // Memory alone: a file that is mapped can be read and written without any other call.
        let anonymous = u64::from(libc::MAP_ANONYMOUS.unsigned_abs());
        let memory = is(3, SeccompCmpOp::MaskedEq(anonymous), anonymous)?;
        let map = SeccompRule::new(vec![not_executable()?, memory])?;
        rules.insert(libc::SYS_mmap, vec![map]);
        // To set the limit of the next run, of itself and no other process; `abort` signals itself.
        for call in [libc::SYS_getrlimit, libc::SYS_setrlimit] {
            rules.insert(call, vec![argument(0, SeccompCmpOp::Eq, processor_time)?]);
        }
        let limits = [
            is(0, SeccompCmpOp::Eq, 0)?,
            is(1, SeccompCmpOp::Eq, processor_time)?,
        ];
        rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(limits.into())?]);
        rules.insert(libc::SYS_tgkill, vec![argument(0, SeccompCmpOp::Eq, own)?]);
        let denied = u32::try_from(libc::EPERM)?;
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Errno(denied),
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into()?,
        )?;
        Ok(filter.try_into()?)
    }

    fn argument(
        index: u8,
        operator: SeccompCmpOp,
        value: u64,
    ) -> Result<SeccompRule, seccompiler::BackendError> {
        SeccompRule::new(vec![is(index, operator, value)?])
    }

    fn is(
        index: u8,
        operator: SeccompCmpOp,
        value: u64,
    ) -> Result<SeccompCondition, seccompiler::BackendError> {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Seek;
    use std::os::fd::{AsFd, AsRawFd};
    use std::process::Command;

    use super::*;

    const CONFINED: &str = "PAWL_SCRIPT_TEST_CONFINED";

    /// Descriptors that were open before, as those are that Pawl itself was started with: to read, and to write.
    fn given() -> io::Result<[File; 2]> {
        let given = [
            File::open("/etc/passwd")?,
            File::options().write(true).open("/dev/null")?,
        ];
        assert!(given.iter().all(|file| file.as_raw_fd() > 2));
        rustix::io::read(&given[0], &mut [0; 4])?;
        rustix::io::write(&given[1], b"x")?;
        Ok(given)
    }

    /// What it can do with them.
    fn uses([readable, writable]: &mut [File; 2]) -> [(&'static str, bool); 8] {
        let mut bytes = [0; 4];
        [
            (
                "read another descriptor",
                rustix::io::read(&*readable, &mut bytes).is_ok(),
            ),
            (
                "read it elsewhere",
                rustix::io::pread(&*readable, &mut bytes, 0).is_ok(),
            ),
            ("move in it", readable.rewind().is_ok()),
            ("ask about it", readable.metadata().is_ok()),
            ("copy it", readable.try_clone().is_ok()),
            (
                "write another descriptor",
                rustix::io::write(&*writable, b"x").is_ok(),
            ),
            (
                "write it elsewhere",
                rustix::io::pwrite(&*writable, b"x", 0).is_ok(),
            ),
            (
                "read what another writes",
                rustix::io::read(rustix::stdio::stdout(), &mut bytes).is_ok(),
            ),
        ]
    }

    /// What a process that has confined itself is still able to do.
    fn abilities(parent: Option<rustix::process::Pid>) -> Vec<&'static str> {
        let unlimited = Rlimit {
            current: None,
            maximum: None,
        };
        let reserve = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        let error_output = rustix::io::write(std::io::stderr().as_fd(), b"x");
        let tries = [
            ("read files", std::fs::read("/etc/passwd").is_ok()),
            ("list folders", std::fs::read_dir("/").is_ok()),
            (
                "write files",
                std::fs::write("/tmp/pawl-script-escaped", "x").is_ok(),
            ),
            (
                "open sockets",
                std::net::UdpSocket::bind("127.0.0.1:0").is_ok(),
            ),
            ("start processes", Command::new("/bin/true").spawn().is_ok()),
            (
                "start threads",
                std::thread::Builder::new().spawn(|| {}).is_ok(),
            ),
            ("write to other descriptors", error_output.is_ok()),
            (
                "signal others",
                rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok(),
            ),
            (
                "limit others",
                rustix::process::prlimit(parent, Resource::Cpu, unlimited).is_ok(),
            ),
            ("raise its limits", lower(Resource::Nofile, 100).is_ok()),
            ("take a gigabyte", reserve(1 << 30)),
            ("take a megabyte", reserve(1 << 20)),
        ];
        let able = tries.into_iter().filter(|(_, able)| *able);
        able.map(|(what, _)| what).collect()
    }

    #[test]
    fn a_confined_process_can_compute_and_nothing_else() {
        if std::env::var_os(CONFINED).is_some() {
            let parent = rustix::process::getppid();
            assert!(parent.is_some());
            let mut given = given().unwrap();
            confine(&Limits::default()).unwrap();
            let mut able = abilities(parent);
            let uses = uses(&mut given).into_iter().filter(|(_, able)| *able);
            able.extend(uses.map(|(what, _)| what));
            let text = format!("able: {able:?};");
            rustix::io::write(rustix::stdio::stdout(), text.as_bytes()).unwrap();
            std::process::exit(0);
        }
        let name = "child::confine::tests::a_confined_process_can_compute_and_nothing_else";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CONFINED, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("able: [\"take a megabyte\"];"), "{text}");
        assert!(output.status.success(), "{:?}", output.status);
    }
}
