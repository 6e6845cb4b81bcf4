//! The real processes: `pawl server` and `pawl worker`.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::site::{PATIENCE, Site, eventually};
use crate::wire::{self, Answer};

/// What opens the API.
pub(crate) const KEY: &str = "the-key-of-the-cluster-tests";

/// Killed when it goes out of scope.
pub(crate) struct Process {
    pub(crate) pid: u32,
    child: Child,
    log: PathBuf,
}

pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

/// How a process reaches the services, and what else it is told.
pub(crate) struct Launch<'a> {
    site: &'a Site,
    database: String,
    broker: String,
    words: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Site {
    pub(crate) fn launch(&self, words: &[&str]) -> Launch<'_> {
        Launch {
            site: self,
            database: self.database.clone(),
            broker: self.broker.url.clone(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            variables: Vec::new(),
        }
    }

    /// A worker with all roles.
    pub(crate) async fn worker(&self) -> Process {
        self.launch(&["worker"]).start().await.0
    }

    pub(crate) async fn server(&self) -> Server {
        self.launch(&["server", "--listen", "127.0.0.1:0"])
            .serve()
            .await
    }
}

impl Launch<'_> {
    pub(crate) fn with_database(mut self, url: String) -> Self {
        self.database = url;
        self
    }

    pub(crate) fn with_broker(mut self, url: String) -> Self {
        self.broker = url;
        self
    }

    /// Tells it more by its environment, or something else than usual.
    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.variables.push((variable, value.to_owned()));
        self
    }

    pub(crate) async fn serve(self) -> Server {
        let (process, banner) = self.start().await;
        let url = banner["url"].as_str().unwrap();
        Server {
            process,
            address: url.strip_prefix("http://").unwrap().parse().unwrap(),
        }
    }

    /// Returns when it says that it is up.
    pub(crate) async fn start(self) -> (Process, Value) {
        let folder = self.site.folder();
        std::fs::write(folder.join("pawl.toml"), &self.site.settings).unwrap();
        let number = std::fs::read_dir(folder).unwrap().count();
        let log = folder.join(format!("{}-{number}.log", self.words[0]));
        let mut command = self.command(&log);
        command.current_dir(folder);
        let mut child = spawn(command);
        let banner = first_line(child.stdout.take().unwrap());
        let process = Process {
            pid: child.id(),
            child,
            log,
        };
        let banner = tokio::time::timeout(PATIENCE, banner).await;
        match banner {
            Ok(Ok(banner)) => (process, banner),
            _ => panic!("{:?} does not start: {}", self.words, process.log()),
        }
    }

    /// Without any setting of the machine it runs on. The kernel ends it when our process ends.
    fn command(&self, log: &PathBuf) -> Command {
        let said = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_pawl")])
            .args(&self.words)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(said);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PAWL_")) {
            command.env_remove(name);
        }
        command
            .env("PAWL_DATABASE_URL", &self.database)
            .env("PAWL_BROKER_URL", &self.broker)
            .env("PAWL_ADMIN_KEY", KEY)
            .env("PAWL_LOG", "warn,pawl=info,pawl_engine=debug")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Process {
    /// `kill -9`; returns when it is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid.to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success(), "kill -s {name} {pid}");
    }

    /// Waits for an end that was asked for.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let what = format!("process {} ends", self.pid);
        let child = &mut self.child;
        eventually(&what, async || child.try_wait().unwrap()).await
    }

    /// What it has said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it says so.
    pub(crate) async fn says(&self, text: &str) {
        let found = async || self.log().contains(text).then_some(());
        eventually(&format!("process {} says `{text}`", self.pid), found).await;
    }

    /// Time on the processor until now.
    pub(crate) fn busy(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let ticks =
            |place: usize| -> u64 { rest.split_whitespace().nth(place).unwrap().parse().unwrap() };
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (pid, log) = (self.pid, self.log());
            let tail = &log[log.len().saturating_sub(4_000)..];
            eprintln!("--- the end of the log of process {pid}\n{tail}");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let answer = wire::send(self.address, method, path, body, Some(KEY)).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Calls a webhook, without a key. The server may die meanwhile.
    pub(crate) fn webhook(
        &self,
        path: &str,
        body: &Value,
    ) -> impl Future<Output = io::Result<Answer>> + use<> {
        let (address, body) = (self.address, body.clone());
        let path = format!("/webhook/{path}");
        async move { wire::send(address, "POST", &path, Some(&body), None).await }
    }

    /// Calls a webhook with these lines in the head.
    pub(crate) async fn webhook_with(&self, path: &str, headers: &str, body: &Value) -> Answer {
        let path = format!("/webhook/{path}");
        let answer = wire::send_with(self.address, "POST", &path, Some(body), headers).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }
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
