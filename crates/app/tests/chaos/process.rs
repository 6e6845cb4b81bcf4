//! One process of the cluster: the real binary, its log in a file, gone with us however we end.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

/// How often we look whether a process has ended; it cannot tell us.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) pid: u32,
    child: Child,
    banner: Option<oneshot::Receiver<Value>>,
}

impl Process {
    /// Starts `pawl` with these words in the folder; what it says on stderr is appended to `<log>.log` there.
    pub(crate) fn start(folder: &Path, name: &str, log: &str, words: &[String]) -> Self {
        let mut child = spawn(command(folder, log, words));
        let stdout = child.stdout.take().unwrap();
        Self {
            name: name.to_owned(),
            pid: child.id(),
            banner: Some(first_line(stdout)),
            child,
        }
    }

    /// The line it prints when it is up; `None`: it ended before.
    pub(crate) async fn banner(&mut self) -> Option<Value> {
        self.banner.take()?.await.ok()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// `kill -9`; returns when it is gone.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid.to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.is_ok(), "kill -s {name} {pid}: {sent:?}");
    }

    /// Waits for an end that was asked for.
    pub(crate) async fn ended(mut self, patience: Duration) -> Option<ExitStatus> {
        let waiting = async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(patience, waiting).await.ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Without any setting of the machine it runs on. The kernel ends it when our process ends.
fn command(folder: &Path, log: &str, words: &[String]) -> Command {
    let said = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(format!("{log}.log")))
        .unwrap();
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_pawl")])
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(said);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PAWL_")) {
        command.env_remove(name);
    }
    command
        .env("PAWL_ADMIN_KEY", super::api::KEY)
        .env("PAWL_LOG", "warn,pawl_engine=debug,pawl::audit=off");
    command
}

/// Reads the banner, and then whatever else comes, so that the pipe never fills.
fn first_line(stdout: ChildStdout) -> oneshot::Receiver<Value> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let banner = lines
            .next()
            .and_then(|line| serde_json::from_str(&line).ok());
        if let Some(banner) = banner {
            // Nobody waits any more: the process was killed while it started.
            let _ = sender.send(banner);
        }
        lines.for_each(drop);
    });
    receiver
}

type Order = (Command, mpsc::Sender<Child>);

/// The kernel's death signal comes when the thread that spawned ends, so one that never ends spawns all.
fn spawn(command: Command) -> Child {
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn().unwrap());
            }
        });
        orders
    });
    let (reply, child) = mpsc::channel();
    spawner.send((command, reply)).unwrap();
    child.recv().unwrap()
}

/// Reads on in a log that is being written.
pub(crate) struct Log {
    pub(crate) path: PathBuf,
    read: u64,
}

impl Log {
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// The lines since the last look; half a line counts as none yet.
    pub(crate) fn news(&mut self) -> Vec<String> {
        let mut text = String::new();
        let Ok(mut file) = File::open(&self.path) else {
            return Vec::new();
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        file.read_to_string(&mut text).unwrap();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        text[..whole].lines().map(str::to_owned).collect()
    }
}
