//! The storm: schedule after schedule of work and faults on one cluster, each judged when all has come to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::faults::{self, Timeline};
use crate::flows::Flow;
use crate::judge::{Evidence, judge};
use crate::orders::{self, Order};
use crate::process::Log;
use crate::rng::Rng;
use crate::sink::Sink;
use crate::tally::Tally;
use crate::{load, rows};

/// Schedules of a storm that is not given a time.
pub(crate) const SCHEDULES: usize = 40;
/// How long after the last fault everything must have ended.
const DRAIN: Duration = Duration::from_secs(60);
/// How long people go on asking.
const PATIENCE: Duration = Duration::from_secs(120);
/// What comes to rest by itself: acknowledgements under way, leases given back.
const REST: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct Storm {
    folder: TempDir,
    cluster: Arc<Cluster>,
    sink: Sink,
    /// Executions that wait for the end of the storm.
    kept: Vec<Order>,
    /// Every execution that was accepted.
    known: BTreeSet<String>,
    logs: Vec<Log>,
    pub(crate) tally: Tally,
}

/// A schedule that broke a promise.
pub(crate) struct Broken {
    pub(crate) problems: Vec<String>,
    pub(crate) timeline: String,
}

impl Storm {
    pub(crate) async fn prepare() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("pawl-chaos-")
            .tempdir()
            .unwrap();
        let sink = Sink::start().await;
        let cluster = Cluster::start(folder.path()).await;
        rows::prepare(&cluster.services).await;
        for flow in Flow::ALL {
            let schema = flow.schema(&sink.url());
            let answer = cluster
                .api
                .once("POST", "/api/schemas", Some(&schema))
                .await
                .unwrap();
            assert_eq!(answer.status, 201, "{answer:?}");
        }
        cluster.heal().await;
        Self {
            folder,
            logs: cluster.logs(),
            cluster,
            sink,
            kept: Vec::new(),
            known: BTreeSet::new(),
            tally: Tally::default(),
        }
    }

    /// One schedule from its first order to its verdict.
    pub(crate) async fn run(&mut self, seed: u64) -> Result<(), Broken> {
        let timeline = Timeline::begin();
        let began = Instant::now();
        let mut rng = Rng(seed);
        let orders = orders::draw(seed, &mut rng);
        let faults = faults::draw(seed, &mut rng);
        self.sink.begin_life(self.tally.schedules);
        let work = load::begin(&self.cluster.api, orders, PATIENCE);
        let done = faults::inflict(&self.cluster, &faults, &timeline).await;
        self.cluster.heal().await;
        timeline.note("healed");
        let healed = Instant::now();
        let mut problems = Vec::new();
        for fault in done {
            self.tally.add_fault(fault.kind, fault.hit);
            problems.extend(fault.problem);
        }
        let mut orders = Vec::new();
        for handled in work.join_all().await {
            problems.extend(handled.problems);
            orders.push(handled.order);
        }
        timeline.note("everything was answered");
        self.known
            .extend(orders.iter().filter_map(|order| order.id.clone()));
        problems.extend(self.all_orders_are_known(seed, &orders).await);
        problems.extend(self.strange_calls());
        let (kept, orders): (Vec<Order>, Vec<Order>) = orders.into_iter().partition(Order::is_kept);
        self.kept.extend(kept);
        problems.extend(self.drain_and_judge(orders).await);
        problems.extend(self.read_logs());
        timeline.note("drained and judged");
        self.tally.longest_drain = self.tally.longest_drain.max(healed.elapsed());
        self.tally.schedules += 1;
        let names: Vec<&str> = faults.iter().map(|fault| fault.kind.name()).collect();
        println!(
            "seed {seed}: {:.1?} until healed, {:.1?} until judged: {}",
            healed - began,
            healed.elapsed(),
            names.join(", ")
        );
        let timeline = timeline.text();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Broken { problems, timeline }),
        }
    }

    /// What was kept back is let go, everything ends, everybody leaves.
    pub(crate) async fn finish(&mut self) -> Result<(), Broken> {
        let timeline = Timeline::begin();
        let mut problems = Vec::new();
        let mut orders = Vec::new();
        for order in std::mem::take(&mut self.kept) {
            let handled = load::release(&self.cluster.api, order, PATIENCE).await;
            problems.extend(handled.problems);
            orders.push(handled.order);
        }
        problems.extend(self.drain_and_judge(orders).await);
        self.tally.redelivered = self.cluster.services.redelivered().await;
        problems.extend(self.cluster.shut_down().await);
        self.sink.settle().await;
        problems.extend(self.read_logs());
        let timeline = timeline.text();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Broken { problems, timeline }),
        }
    }

    /// Waits for all ends, then looks at everything.
    async fn drain_and_judge(&mut self, orders: Vec<Order>) -> Vec<String> {
        let mut problems = Vec::new();
        let deadline = Instant::now() + DRAIN;
        let mut contexts = BTreeMap::new();
        let ids: Vec<String> = orders.iter().filter_map(|order| order.id.clone()).collect();
        for id in &ids {
            match load::end_of(&self.cluster.api, id, deadline).await {
                Some(ended) => contexts.extend(self.context(id, &ended).await),
                None => problems.push(self.still_open(id).await),
            }
        }
        problems.extend(self.at_rest().await);
        let evidence = Evidence {
            runs: rows::runs(&self.cluster.services, &ids).await,
            orders,
            requests: self.sink.requests(),
            contexts,
            names: self.cluster.names(),
        };
        let verdict = judge(&evidence);
        self.tally.add(&verdict.tally);
        problems.extend(verdict.problems);
        problems
    }

    /// What the processes say of themselves: passes of zombies are counted, errors of ours are problems. What the
    /// client of the broker calls an error is a connection that we cut.
    fn read_logs(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        for line in self.logs.iter_mut().flat_map(Log::news) {
            let abandoned = line.contains("pass abandoned");
            self.tally.abandoned += usize::from(abandoned);
            let error = line.contains(" ERROR ") && !line.contains(" lapin::");
            if error || line.contains("panicked") {
                problems.push(line);
            }
        }
        problems
    }

    /// The context after the last step, by the API.
    async fn context(&self, id: &str, ended: &Value) -> Option<(String, Value)> {
        let path = format!("/api/executions/{id}/steps/{}/context", ended["seq"]);
        let shown = self.cluster.api.once("GET", &path, None).await?;
        (shown.status == 200).then(|| (id.to_owned(), shown.body["after"].clone()))
    }

    async fn still_open(&self, id: &str) -> String {
        let path = format!("/api/executions/{id}/explain");
        let explained = self.cluster.api.once("GET", &path, None).await;
        let told = explained.map_or(Value::Null, |answer| answer.body);
        format!("{id} was still open {DRAIN:?} after the last fault: {told}")
    }

    /// One execution for each order that was accepted, and no other.
    async fn all_orders_are_known(&self, seed: u64, orders: &[Order]) -> Option<String> {
        let sql =
            format!("SELECT count(*) FROM pawl.executions WHERE idempotency_key LIKE '{seed}-%'");
        let stored = self.cluster.services.json(&sql).await;
        let accepted = orders.iter().filter(|order| order.id.is_some()).count();
        (stored != accepted)
            .then(|| format!("{accepted} orders were accepted and {stored} executions made"))
    }

    /// Calls that belong to no execution anybody was told of.
    fn strange_calls(&self) -> Vec<String> {
        let known = |key: &str| {
            key.split(':')
                .next()
                .is_some_and(|id| self.known.contains(id))
        };
        let requests = self.sink.requests().into_iter();
        requests
            .filter(|request| request.life == self.tally.schedules && !known(&request.key))
            .map(|request| format!("nobody knows the execution of {request:?}"))
            .collect()
    }

    /// No lease, no message, no dead letter without its execution, and a doctor without findings.
    async fn at_rest(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let leases = "SELECT count(*) FROM pawl.execution_state WHERE lease_token IS NOT NULL";
        let letters = "SELECT count(*) FROM pawl.dead_letters d LEFT JOIN pawl.executions e ON e.id = d.execution_id \
                       WHERE e.status IS DISTINCT FROM 11";
        let deadline = Instant::now() + REST;
        loop {
            let services = &self.cluster.services;
            let (leases, queued) = (services.json(leases).await, services.queued().await);
            if leases == 0 && queued == 0 {
                break;
            }
            if Instant::now() >= deadline {
                problems.push(format!("{leases} leases and {queued} messages are left"));
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let letters = self.cluster.services.json(letters).await;
        if letters != 0 {
            problems.push(format!(
                "{letters} dead letters belong to nobody who ended as stuck"
            ));
        }
        let told = self.cluster.api.once("GET", "/api/doctor", None).await;
        let told = told.map_or(Value::Null, |answer| answer.body);
        if told["findings"] != json!([]) {
            problems.push(format!("the doctor says {told}"));
        }
        problems
    }

    /// Keeps the logs, with those of the services, and says where.
    pub(crate) fn keep_logs(self) -> String {
        for (name, text) in self.cluster.services.logs() {
            std::fs::write(self.folder.path().join(name), text).unwrap();
        }
        self.folder.keep().display().to_string()
    }
}
