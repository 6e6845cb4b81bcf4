//! The processes: one server on the services themselves, three workers behind proxies of their own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Plain, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use xtask::services::Proxy;

use crate::api::Api;
use crate::process::{Log, Process};
use crate::services::Services;

pub(crate) const WORKERS: usize = 3;
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// How long a process may take to be up, on a busy machine and after its services are back.
const UP: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// The recoveries are our doing: no execution is to be blamed for them, however often it was hit.
const SETTINGS: &str = "\
[engine]
lease = \"3s\"
sweep_after = \"1s\"
max_recoveries = 1000

[http]
allow = [\"127.0.0.1/32\"]
";
/// Few enough that messages wait in the queue, for somebody to lose them there.
const SLOTS: &str = "3";

pub(crate) struct Cluster {
    pub(crate) services: Services,
    pub(crate) api: Api,
    pub(crate) folder: PathBuf,
    server: Mutex<Option<Process>>,
    workers: [Worker; WORKERS],
    /// Which name each process number had: leases name the one, the journal the other.
    names: Plain<BTreeMap<u32, String>>,
    lives: AtomicUsize,
}

struct Worker {
    process: Mutex<Option<Process>>,
    /// A process that is frozen cannot leave: one after the other.
    turn: Mutex<()>,
    database: Arc<Proxy>,
    broker: Arc<Proxy>,
}

impl Cluster {
    pub(crate) async fn start(folder: &Path) -> Arc<Self> {
        std::fs::write(folder.join("pawl.toml"), SETTINGS).unwrap();
        let services = Services::start().await;
        let worker = |_| Worker {
            process: Mutex::default(),
            turn: Mutex::default(),
            database: Arc::new(Proxy::start(services.database_port()).unwrap()),
            broker: Arc::new(Proxy::start(services.broker_port()).unwrap()),
        };
        let cluster = Arc::new(Self {
            workers: [0, 1, 2].map(worker),
            services,
            api: Api::default(),
            folder: folder.to_owned(),
            server: Mutex::default(),
            names: Plain::default(),
            lives: AtomicUsize::new(0),
        });
        cluster.server_up().await;
        cluster
    }

    /// Whatever a fault left: everything is up when this returns.
    pub(crate) async fn heal(&self) {
        for worker in &self.workers {
            worker.database.stall(false);
            worker.broker.stall(false);
            if let Some(process) = &*worker.process.lock().await {
                process.signal("CONT");
            }
        }
        let [one, two, three] = [0, 1, 2].map(|place| self.worker_up(place));
        tokio::join!(self.server_up(), one, two, three);
    }

    async fn server_up(&self) {
        let deadline = Instant::now() + UP;
        let mut server = self.server.lock().await;
        while server.as_mut().is_none_or(Process::has_ended) {
            assert!(
                Instant::now() < deadline,
                "the server does not start; see {}",
                self.folder.display()
            );
            let mut process = self.start_server();
            match process.banner().await {
                Some(banner) => {
                    let url = banner["url"].as_str().unwrap();
                    let address: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
                    self.api.moved_to(address);
                    *server = Some(process);
                }
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    async fn worker_up(&self, place: usize) {
        let deadline = Instant::now() + UP;
        let mut slot = self.workers[place].process.lock().await;
        loop {
            assert!(
                Instant::now() < deadline,
                "worker {place} does not start; see {}",
                self.folder.display()
            );
            if slot.as_mut().is_none_or(Process::has_ended) {
                *slot = Some(self.start_worker(place));
            }
            let process = slot.as_mut().unwrap();
            let first_time = process.banner().await.is_some();
            if first_time || !process.has_ended() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn start_server(&self) -> Process {
        let words = ["server", "--json", "--listen", "127.0.0.1:0"];
        self.launch(
            "server",
            &words,
            self.services.database_port(),
            self.services.broker_port(),
        )
    }

    fn start_worker(&self, place: usize) -> Process {
        let worker = &self.workers[place];
        let words = ["worker", "--json", "--slots", SLOTS];
        let kind = format!("worker-{}", place + 1);
        self.launch(&kind, &words, worker.database.port(), worker.broker.port())
    }

    fn launch(&self, kind: &str, words: &[&str], database: u16, broker: u16) -> Process {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let name = format!("{kind}.{life}");
        let database =
            format!("postgres://postgres@127.0.0.1:{database}/postgres?application_name={name}");
        let broker = format!("amqp://guest:guest@127.0.0.1:{broker}/%2f");
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.extend([
            "--database-url".into(),
            database,
            "--broker-url".into(),
            broker,
        ]);
        let process = Process::start(&self.folder, &name, kind, &words);
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(process.pid, name);
        process
    }

    pub(crate) fn names(&self) -> BTreeMap<u32, String> {
        self.names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn logs(&self) -> Vec<Log> {
        let kinds = ["server", "worker-1", "worker-2", "worker-3"];
        kinds
            .map(|kind| Log::of(self.folder.join(format!("{kind}.log"))))
            .into()
    }

    /// `kill -9`; up again after the pause.
    pub(crate) async fn kill_worker(&self, place: usize, pause: Duration) {
        let mut slot = self.workers[place].process.lock().await;
        if let Some(process) = slot.take() {
            process.kill();
        }
        drop(slot);
        tokio::time::sleep(pause).await;
        let mut slot = self.workers[place].process.lock().await;
        if slot.is_none() {
            *slot = Some(self.start_worker(place));
        }
    }

    pub(crate) async fn kill_server(&self, pause: Duration) {
        if let Some(process) = self.server.lock().await.take() {
            process.kill();
        }
        tokio::time::sleep(pause).await;
        self.server_up().await;
    }

    /// A rolling deployment: SIGTERM, and a new one. `Err`: it did not leave as it should.
    pub(crate) async fn replace_worker(&self, place: usize) -> Result<(), String> {
        let _turn = self.workers[place].turn.lock().await;
        let mut slot = self.workers[place].process.lock().await;
        let Some(mut process) = slot.take() else {
            return Ok(());
        };
        let name = process.name.clone();
        // One that is still starting, or gave up because the database was away, has nothing to finish.
        let was_up = process.banner().await.is_some() || !process.has_ended();
        process.signal("TERM");
        let ended = process.ended(UP).await;
        *slot = Some(self.start_worker(place));
        match ended {
            Some(status) if status.success() || !was_up => Ok(()),
            Some(status) => Err(format!("{name} left on SIGTERM with {status}")),
            None => Err(format!("{name} did not leave on SIGTERM within {UP:?}")),
        }
    }

    /// SIGSTOP, and SIGCONT after the pause, unless somebody killed it meanwhile.
    pub(crate) async fn freeze_worker(&self, place: usize, pause: Duration) {
        let _turn = self.workers[place].turn.lock().await;
        let pid = self.signal_worker(place, "STOP", None).await;
        tokio::time::sleep(pause).await;
        self.signal_worker(place, "CONT", pid).await;
    }

    async fn signal_worker(&self, place: usize, name: &str, only: Option<u32>) -> Option<u32> {
        let slot = self.workers[place].process.lock().await;
        let process = slot.as_ref()?;
        if only.is_none_or(|pid| pid == process.pid) {
            process.signal(name);
        }
        Some(process.pid)
    }

    pub(crate) fn database_of(&self, place: usize) -> &Arc<Proxy> {
        &self.workers[place].database
    }

    pub(crate) fn broker_of(&self, place: usize) -> &Arc<Proxy> {
        &self.workers[place].broker
    }

    /// Everybody leaves, and leaves well.
    pub(crate) async fn shut_down(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let processes = self.workers.iter().map(|worker| &worker.process);
        for process in processes.chain([&self.server]) {
            let Some(process) = process.lock().await.take() else {
                continue;
            };
            let name = process.name.clone();
            process.signal("TERM");
            let ended = process.ended(UP).await;
            if !ended.is_some_and(|status| status.success()) {
                problems.push(format!(
                    "{name} was asked to leave and ended with {ended:?}"
                ));
            }
        }
        problems
    }
}
