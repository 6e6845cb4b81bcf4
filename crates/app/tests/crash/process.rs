//! The real binary on a folder: start it, kill it, ask it to stop.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::http;

/// Killed when it goes out of scope, so that a failed test leaves nothing behind.
pub(crate) struct Pawl {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) pid: u32,
}

impl Pawl {
    pub(crate) fn spawn(folder: &Path) -> Self {
        let mut child = command(folder).spawn().unwrap();
        Self {
            stdout: BufReader::new(child.stdout.take().unwrap()),
            pid: child.id().unwrap(),
            child,
        }
    }

    /// Waits until it says where it listens and that its store answers.
    pub(crate) async fn ready(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.stdout.read_line(&mut line).await.unwrap();
        let banner: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("`pawl dev` did not start; it said {line:?}"));
        let url = banner["url"].as_str().unwrap();
        let address: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
        while !is_ready(address).await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        address
    }

    pub(crate) async fn start(folder: &Path) -> (Self, SocketAddr) {
        let mut pawl = Self::spawn(folder);
        let address = pawl.ready().await;
        (pawl, address)
    }

    /// `kill -9`; returns when the process is gone.
    pub(crate) async fn kill(mut self) {
        self.child.start_kill().unwrap();
        let status = self.child.wait().await.unwrap();
        assert_eq!(status.code(), None, "it ended before it was killed");
    }

    pub(crate) async fn terminate(&self) {
        let pid = self.pid.to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().await;
        assert!(sent.unwrap().success());
    }

    pub(crate) async fn ended(mut self) -> ExitStatus {
        let patience = Duration::from_secs(30);
        let ended = tokio::time::timeout(patience, self.child.wait()).await;
        ended.expect("the process does not end").unwrap()
    }
}

async fn is_ready(address: SocketAddr) -> bool {
    http::get(address, "/health/ready")
        .await
        .is_ok_and(|answer| answer.status == 200)
}

/// Without any setting of the machine it runs on. What it has to say on stderr is kept in `stderr.txt`.
fn command(folder: &Path) -> Command {
    let said = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("stderr.txt"))
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pawl"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PAWL_")) {
        command.env_remove(name);
    }
    command
        .args(["dev", "--json", "--data", "data"])
        .args(["--listen", "127.0.0.1:0"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(said)
        .kill_on_drop(true);
    command
}

pub(crate) fn stderr(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("stderr.txt")).unwrap()
}

pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}
