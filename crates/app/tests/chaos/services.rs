//! Database and broker of the storm: our own, since they are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::sync::Mutex;
use xtask::services::{Postgres, PostgresOptions, RabbitMq, RabbitOptions, psql};

const WORK_QUEUES: &str = "[Q || Q <- rabbit_amqqueue:list(<<\"/\">>), \
     lists:prefix(\"schema_execution_queue\", binary_to_list(element(4, amqqueue:get_name(Q))))]";

/// Cheap to clone. Whoever stops a server has it for himself until it is up again.
#[derive(Clone)]
pub(crate) struct Services {
    postgres: Arc<Postgres>,
    rabbit: Arc<RabbitMq>,
    database_turn: Arc<Mutex<()>>,
    broker_turn: Arc<Mutex<()>>,
    redelivered: Arc<AtomicUsize>,
}

impl Services {
    pub(crate) async fn start() -> Self {
        let postgres = blocking(|| Postgres::start(PostgresOptions::default()).unwrap());
        let rabbit = blocking(|| RabbitMq::start(RabbitOptions::default()).unwrap());
        let (postgres, rabbit) = tokio::join!(postgres, rabbit);
        Self {
            postgres: Arc::new(postgres),
            rabbit: Arc::new(rabbit),
            database_turn: Arc::default(),
            broker_turn: Arc::default(),
            redelivered: Arc::default(),
        }
    }

    pub(crate) fn database_port(&self) -> u16 {
        self.postgres.port()
    }

    pub(crate) fn broker_port(&self) -> u16 {
        self.rabbit.port()
    }

    pub(crate) fn logs(&self) -> [(&'static str, String); 2] {
        [
            ("postgres.log", self.postgres.log()),
            ("rabbitmq.log", self.rabbit.log()),
        ]
    }

    /// Statements that answer with nothing.
    pub(crate) async fn script(&self, sql: &str) {
        let (url, sql) = (self.postgres.url(), sql.to_owned());
        blocking(move || psql(&url, &sql).unwrap()).await;
    }

    /// The one JSON value that a statement answers with.
    pub(crate) async fn json(&self, sql: &str) -> Value {
        let (url, sql) = (self.postgres.url(), sql.to_owned());
        let text = blocking(move || psql(&url, &sql).unwrap()).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Crash and recovery of the database.
    pub(crate) async fn restart_database(&self) {
        let _turn = self.database_turn.lock().await;
        let postgres = self.postgres.clone();
        blocking(move || postgres.restart_immediate().unwrap()).await;
    }

    /// `kill -9`, and up again with what it had on disk.
    pub(crate) async fn restart_broker(&self) {
        let _turn = self.broker_turn.lock().await;
        self.note_redelivered().await;
        let rabbit = self.rabbit.clone();
        blocking(move || {
            rabbit.kill();
            rabbit.start_again().unwrap();
        })
        .await;
    }

    /// `kill -9`, and up again with nothing.
    pub(crate) async fn wipe_broker(&self) {
        let _turn = self.broker_turn.lock().await;
        self.note_redelivered().await;
        let rabbit = self.rabbit.clone();
        blocking(move || rabbit.wipe().unwrap()).await;
    }

    /// Throws away what waits in the work queues; returns how much that was.
    pub(crate) async fn purge_queues(&self) -> usize {
        let _turn = self.broker_turn.lock().await;
        let purge = "lists:sum([element(2, rabbit_amqqueue:purge(Q)) || Q <- QUEUES]).";
        self.count(&purge.replace("QUEUES", WORK_QUEUES)).await
    }

    /// Messages in the work queues, those in the hands of workers included.
    pub(crate) async fn queued(&self) -> usize {
        let _turn = self.broker_turn.lock().await;
        let count =
            "lists:sum([element(2, hd(rabbit_amqqueue:info(Q, [messages]))) || Q <- QUEUES]).";
        self.count(&count.replace("QUEUES", WORK_QUEUES)).await
    }

    /// Messages that the broker had to deliver again, since the start of the storm.
    pub(crate) async fn redelivered(&self) -> usize {
        let _turn = self.broker_turn.lock().await;
        let now = self.redelivered_now().await;
        self.redelivered.load(Ordering::Relaxed) + now
    }

    /// The broker forgets its counters when it dies.
    async fn note_redelivered(&self) {
        let now = self.redelivered_now().await;
        self.redelivered.fetch_add(now, Ordering::Relaxed);
    }

    async fn redelivered_now(&self) -> usize {
        let sum = "lists:sum([maps:get(messages_redelivered_total, M, 0) \
                   || M <- maps:values(rabbit_global_counters:overview())]).";
        self.count(sum).await
    }

    async fn count(&self, code: &str) -> usize {
        let (rabbit, code) = (self.rabbit.clone(), code.to_owned());
        let text = blocking(move || rabbit.eval(&code)).await.unwrap();
        text.trim().parse().unwrap_or_else(|_| panic!("{text}"))
    }
}

/// The services wait on files and processes.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
