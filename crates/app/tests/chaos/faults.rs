//! What is done to the cluster: drawn from the seed, done at its time, undone by itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use xtask::services::Proxy;

use crate::cluster::{Cluster, LEASE, WORKERS};
use crate::rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    KillWorker,
    FreezeWorker,
    ReplaceWorker,
    KillServer,
    RestartBroker,
    WipeBroker,
    PurgeQueues,
    RestartDatabase,
    CutDatabase,
    CutBroker,
    StallDatabase,
    StallBroker,
    LoseAnswer,
}

use Kind::{
    CutBroker, CutDatabase, FreezeWorker, KillServer, KillWorker, LoseAnswer, PurgeQueues,
    ReplaceWorker, RestartBroker, RestartDatabase, StallBroker, StallDatabase, WipeBroker,
};

impl Kind {
    pub(crate) const ALL: [Self; 13] = [
        KillWorker,
        WipeBroker,
        FreezeWorker,
        LoseAnswer,
        RestartDatabase,
        PurgeQueues,
        StallDatabase,
        RestartBroker,
        CutBroker,
        KillServer,
        CutDatabase,
        ReplaceWorker,
        StallBroker,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            KillWorker => "kill -9 of a worker",
            FreezeWorker => "SIGSTOP beyond the lease",
            ReplaceWorker => "SIGTERM of a worker",
            KillServer => "kill -9 of the server",
            RestartBroker => "broker restarted",
            WipeBroker => "broker wiped",
            PurgeQueues => "queues purged",
            RestartDatabase => "PostgreSQL restarted at once",
            CutDatabase => "connections to PostgreSQL cut",
            CutBroker => "connections to RabbitMQ cut",
            StallDatabase => "black hole before PostgreSQL",
            StallBroker => "black hole before RabbitMQ",
            LoseAnswer => "answer to a commit lost",
        }
    }

    /// Of a hundred draws. A broker takes seconds to start, so it dies seldom.
    const fn weight(self) -> u64 {
        match self {
            KillWorker => 22,
            FreezeWorker => 14,
            CutDatabase | CutBroker => 10,
            PurgeQueues | RestartDatabase => 8,
            ReplaceWorker | KillServer | StallDatabase | StallBroker | LoseAnswer => 5,
            RestartBroker | WipeBroker => 1,
        }
    }

    fn draw(rng: &mut Rng) -> Self {
        let total = Self::ALL.iter().map(|kind| kind.weight()).sum::<u64>();
        let mut left = rng.between(0, total - 1);
        for kind in Self::ALL {
            match left.checked_sub(kind.weight()) {
                Some(rest) => left = rest,
                None => return kind,
            }
        }
        KillWorker
    }
}

/// Messages seldom wait long.
const PURGING: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// After the start of the schedule.
    at: Duration,
    worker: usize,
    /// A fault of the network hits all workers, not just one.
    all: bool,
    lasts: Duration,
}

/// Three to six. The kinds of one of them follow each other from seed to seed, so that none is left to chance.
pub(crate) fn draw(seed: u64, rng: &mut Rng) -> Vec<Fault> {
    let featured = Kind::ALL[(seed % Kind::ALL.len() as u64) as usize];
    let more = rng.between(2, 5);
    let mut faults = vec![draw_fault(featured, rng)];
    for _ in 0..more {
        let kind = Kind::draw(rng);
        faults.push(draw_fault(kind, rng));
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

fn draw_fault(kind: Kind, rng: &mut Rng) -> Fault {
    let lease = LEASE.as_millis() as u64;
    let latest = match kind {
        PurgeQueues => 600,
        FreezeWorker | RestartBroker | WipeBroker => 1_200,
        StallDatabase | StallBroker => 2_000,
        _ => 3_500,
    };
    let lasts = match kind {
        FreezeWorker => rng.between(lease + 300, lease + 1_500),
        StallDatabase | StallBroker => rng.between(300, lease + 500),
        _ => rng.between(0, 1_000),
    };
    Fault {
        kind,
        at: Duration::from_millis(rng.between(150, latest)),
        worker: rng.between(0, WORKERS as u64 - 1) as usize,
        all: rng.between(0, 2) == 0,
        lasts: Duration::from_millis(lasts),
    }
}

/// What happened when, for whoever has to understand a failure.
#[derive(Clone)]
pub(crate) struct Timeline {
    began: Instant,
    entries: Arc<Mutex<Vec<(Duration, String)>>>,
}

impl Timeline {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            entries: Arc::default(),
        }
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push((self.began.elapsed(), what.into()));
    }

    pub(crate) fn text(&self) -> String {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let line =
            |(at, what): &(Duration, String)| format!("  {:7.3} s  {what}\n", at.as_secs_f32());
        entries.iter().map(line).collect()
    }
}

/// What came of a fault.
pub(crate) struct Done {
    pub(crate) kind: Kind,
    /// It hit something: messages were there to be purged, a commit came to lose its answer.
    pub(crate) hit: bool,
    pub(crate) problem: Option<String>,
}

/// Does all of them at their times; returns when the last is over.
pub(crate) async fn inflict(
    cluster: &Arc<Cluster>,
    faults: &[Fault],
    timeline: &Timeline,
) -> Vec<Done> {
    let mut tasks = JoinSet::new();
    for fault in faults.iter().copied() {
        let (cluster, timeline) = (cluster.clone(), timeline.clone());
        tasks.spawn(async move {
            tokio::time::sleep(fault.at.saturating_sub(timeline.began.elapsed())).await;
            timeline.note(format!("{} begins: {}", fault.kind.name(), fault.target()));
            let (hit, problem) = fault.act(&cluster).await;
            timeline.note(format!(
                "{} is over{}",
                fault.kind.name(),
                if hit { "" } else { ", and hit nothing" }
            ));
            Done {
                kind: fault.kind,
                hit,
                problem,
            }
        });
    }
    tasks.join_all().await
}

impl Fault {
    fn target(&self) -> String {
        let worker = self.worker + 1;
        match self.kind {
            KillWorker | FreezeWorker | StallDatabase | StallBroker | CutDatabase | CutBroker
                if !self.network_of_all() =>
            {
                format!("worker {worker}, {:?}", self.lasts)
            }
            ReplaceWorker | LoseAnswer => format!("worker {worker}"),
            StallDatabase | StallBroker => format!("all workers, {:?}", self.lasts),
            CutDatabase | CutBroker => "all workers".into(),
            KillServer => format!("{:?}", self.lasts),
            _ => "all".into(),
        }
    }

    fn network_of_all(&self) -> bool {
        self.all
            && matches!(
                self.kind,
                CutDatabase | CutBroker | StallDatabase | StallBroker
            )
    }

    /// Whether it hit anything, and what must not have happened.
    async fn act(&self, cluster: &Cluster) -> (bool, Option<String>) {
        let services = &cluster.services;
        match self.kind {
            KillWorker => cluster.kill_worker(self.worker, self.lasts).await,
            FreezeWorker => cluster.freeze_worker(self.worker, self.lasts).await,
            ReplaceWorker => return (true, cluster.replace_worker(self.worker).await.err()),
            KillServer => cluster.kill_server(self.lasts).await,
            RestartBroker => services.restart_broker().await,
            WipeBroker => services.wipe_broker().await,
            PurgeQueues => return (self.purge(cluster).await, None),
            RestartDatabase => services.restart_database().await,
            CutDatabase => self.on_proxies(|worker| cluster.database_of(worker).cut()),
            CutBroker => self.on_proxies(|worker| cluster.broker_of(worker).cut()),
            StallDatabase => self.stall(|worker| cluster.database_of(worker)).await,
            StallBroker => self.stall(|worker| cluster.broker_of(worker)).await,
            LoseAnswer => return (self.lose_answer(cluster).await, None),
        }
        (true, None)
    }

    /// Again and again until something was there to be lost, or until its time is over.
    async fn purge(&self, cluster: &Cluster) -> bool {
        let deadline = Instant::now() + PURGING;
        while cluster.services.purge_queues().await == 0 {
            if Instant::now() >= deadline {
                return false;
            }
        }
        true
    }

    fn on_proxies(&self, act: impl Fn(usize)) {
        match self.network_of_all() {
            true => (0..WORKERS).for_each(act),
            false => act(self.worker),
        }
    }

    async fn stall<'c>(&self, proxy: impl Fn(usize) -> &'c Arc<Proxy>) {
        self.on_proxies(|worker| proxy(worker).stall(true));
        tokio::time::sleep(self.lasts).await;
        self.on_proxies(|worker| proxy(worker).stall(false));
    }

    /// The next commit of a step with an effect is made, and its maker does not hear of it.
    async fn lose_answer(&self, cluster: &Cluster) -> bool {
        let patience = Duration::from_secs(4);
        let proxy = cluster.database_of(self.worker).clone();
        proxy.cut_on_next(b"http_request");
        let waiting = tokio::task::spawn_blocking(move || proxy.wait_for_cut(patience));
        waiting.await.unwrap()
    }
}
