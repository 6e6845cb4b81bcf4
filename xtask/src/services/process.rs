//! Child processes that end when we do.
//!
//! The kernel sends a child its parent-death signal when the *thread* that spawned it ends, and the threads of a test
//! harness end all the time. So one thread that lives as long as the process spawns every child.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use super::folder::Folder;

/// How often a condition outside of this process is looked at.
const POLL: Duration = Duration::from_millis(10);

/// The account that a service runs under: servers refuse to run as root.
#[derive(Clone, Copy)]
pub(super) struct Account(Option<(u32, u32)>);

impl Account {
    pub(super) fn ourselves() -> Account {
        Account(None)
    }

    /// The named account when we are root, ourselves when not.
    pub(super) fn of(name: &str) -> Result<Account, String> {
        if !is_root() {
            return Ok(Account(None));
        }
        let table = fs::read_to_string("/etc/passwd")
            .map_err(|error| format!("reading /etc/passwd: {error}"))?;
        table
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields[0] == name)
            .and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)))
            .map(|ids| Account(Some(ids)))
            .ok_or_else(|| format!("/etc/passwd has no user {name}, needed because we are root"))
    }

    pub(super) fn own(&self, path: &Path) -> Result<(), String> {
        match self.0 {
            None => Ok(()),
            Some((user, group)) => chown(path, Some(user), Some(group))
                .map_err(|error| format!("chown {}: {error}", path.display())),
        }
    }

    /// A command under this account that gets the signal `death` when our process ends.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, death: &str) -> Command {
        let mut command = Command::new("setpriv");
        if let Some((user, group)) = self.0 {
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".into(),
            ]);
        }
        command.args(["--pdeathsig", death, "--"]).arg(program);
        // Ctrl-C goes to the whole group; a child in its own ends by the death signal instead, which we choose.
        command.process_group(0).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let steers = ["PG", "RABBITMQ_", "ERL_", "NOTIFY_SOCKET"];
            if steers.iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.env("LC_ALL", "C.UTF-8");
        command
    }
}

pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// Spawns on the thread that never ends.
pub(super) fn spawn(command: Command) -> Result<Child, String> {
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, reply) in inbox {
                // The caller of `spawn` waits for the reply.
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let program = command.get_program().to_string_lossy().into_owned();
    let (reply, answer) = mpsc::channel();
    spawner
        .send((command, reply))
        .map_err(|_| "the spawning thread ended".to_string())?;
    answer
        .recv()
        .map_err(|_| "the spawning thread ended".to_string())?
        .map_err(|error| format!("starting {program}: {error}"))
}

/// Runs a short command to its end; the error holds what it printed. `what` names it for people.
pub(super) fn run(
    what: &str,
    mut command: Command,
    input: &str,
    limit: Duration,
) -> Result<String, String> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = spawn(command).map_err(|error| format!("{what}: {error}"))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input has closed it; its exit status says the rest.
        let _ = stdin.write_all(input.as_bytes());
    }
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let (Ok(printed), Ok(complaint)) = (stdout.recv_timeout(left()), stderr.recv_timeout(left()))
    else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("{what}: no answer within {} s", limit.as_secs()));
    };
    let status = child.wait().map_err(|error| format!("{what}: {error}"))?;
    if status.success() {
        return Ok(printed);
    }
    Err(format!(
        "{what}: {status}: {}{}",
        complaint.trim(),
        tail(&printed, 5)
    ))
}

/// Reads on a thread, so that neither a full pipe nor a silent child blocks us.
fn collect(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (done, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        let _ = done.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    text
}

pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Looks again and again until there is an answer; `None` when the time is over.
pub(super) fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "another process sends us no signal"
        )]
        std::thread::sleep(POLL);
    }
}

/// The shell's `kill`, as the standard library sends no signal but SIGKILL.
pub(super) fn signal(name: &str, pids: &[u32]) {
    let _ = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$@\" 2>/dev/null", name])
        .args(pids.iter().map(u32::to_string))
        .status();
}

/// A process, told apart from a later one with the same number by its start time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) started: u64,
}

impl Process {
    /// The live process with this number; one that only waits to be reaped is dead.
    pub(super) fn find(pid: u32) -> Option<Process> {
        let (state, _, started) = stat(pid)?;
        (!matches!(state, 'Z' | 'X')).then_some(Process { pid, started })
    }

    pub(super) fn alive(&self) -> bool {
        Process::find(self.pid) == Some(*self)
    }
}

/// State, parent and start time. The name before them may hold anything, so they are counted from its closing bracket.
fn stat(pid: u32) -> Option<(char, u32, u64)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let state = fields.first()?.chars().next()?;
    Some((
        state,
        fields.get(1)?.parse().ok()?,
        fields.get(19)?.parse().ok()?,
    ))
}

/// The direct children of a process.
pub(super) fn children(parent: u32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|(_, of, _)| of == parent))
        .filter_map(Process::find)
        .collect()
}

/// A long-running child, recorded in its folder so that a sweep finds it.
pub(super) struct Daemon {
    child: Child,
    record: PathBuf,
}

impl Daemon {
    /// Starts it with its output appended to `<folder>/<name>.log`; `end` is the signal that a sweep sends first.
    pub(super) fn start(
        folder: &Folder,
        name: &str,
        mut command: Command,
        end: &str,
    ) -> Result<Daemon, String> {
        let log = open_log(&log_path(folder, name))?;
        let copy = log.try_clone().map_err(|error| error.to_string())?;
        command.stdout(log).stderr(copy);
        let child = spawn(command)?;
        let record = folder.record(name);
        let mut daemon = Daemon { child, record };
        let started = Process::find(daemon.pid()).map_or(0, |process| process.started);
        fs::write(
            &daemon.record,
            format!("{} {started} {end}\n", daemon.pid()),
        )
        .map_err(|error| format!("writing {}: {error}", daemon.record.display()))
        .inspect_err(|_| daemon.kill())?;
        Ok(daemon)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks with a signal, and insists with SIGKILL when the time is over, which is an error.
    pub(super) fn stop(&mut self, with: &str, limit: Duration) -> Result<(), String> {
        let pid = self.pid();
        if !self.ended() {
            signal(with, &[pid]);
        }
        let willing = until(limit, || self.ended().then_some(()));
        self.kill();
        willing.ok_or_else(|| {
            let seconds = limit.as_secs();
            format!("process {pid} did not end on SIG{with} within {seconds} s and was killed")
        })
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.record);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) fn log_path(folder: &Folder, name: &str) -> PathBuf {
    folder.path().join(format!("{name}.log"))
}

fn open_log(path: &Path) -> Result<File, String> {
    File::options()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| format!("opening {}: {error}", path.display()))
}
