//! The measurements on PostgreSQL and RabbitMQ.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_engine::worker::Roles;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_postgres::baseline::timers::{self, PlainTimers};

use super::firings::Firings;
use super::ground::{Engine, Ground, Idle, Queue};
use super::plan;
use crate::bench::cluster::{Crew, Site};
use crate::bench::{BenchError, flows};
use crate::wiring::{Cluster, Membership};

const TIMERS: Roles = Roles {
    timers: true,
    ..Roles::NONE
};
/// How long an idle worker is watched, once it has settled.
const WATCHED: Duration = Duration::from_secs(10);
const SETTLING: Duration = Duration::from_secs(3);

pub(super) struct ClusterGround<'a> {
    site: &'a Site,
    plain: PlainTimers,
    /// A process that does nothing by itself: it writes what users write, and knows the database's time.
    server: Cluster,
}

impl<'a> ClusterGround<'a> {
    pub(super) async fn open(site: &'a Site) -> Result<Self, BenchError> {
        // Makes the tables.
        let server = join(site, Roles::NONE, plan::options(&Firings::default())).await?;
        let options = site
            .config
            .database
            .options(&site.places.database_url, &Options::default());
        let plain = PlainTimers::open(&options)
            .await
            .map_err(BenchError::Failed)?;
        Ok(Self {
            site,
            plain,
            server,
        })
    }

    pub(super) async fn close(self) {
        self.server.shutdown().await;
    }
}

/// A process of the installation, in this process.
async fn join(site: &Site, roles: Roles, options: Options) -> Result<Cluster, BenchError> {
    let member = Membership {
        database_url: site.places.database_url.clone(),
        broker_url: site.places.broker_url.clone(),
        roles,
        slots: None,
    };
    let registry = Arc::new(flows::registry()?);
    let joined = Cluster::join_with(&member, &site.config, registry, options).await;
    joined.map_err(BenchError::of)
}

#[async_trait]
impl Ground for ClusterGround<'_> {
    fn clock(&self) -> Arc<dyn Clock> {
        self.server.store.clock()
    }

    async fn start(&self, options: Options) -> Result<Engine, BenchError> {
        let cluster = join(self.site, TIMERS, options).await?;
        Ok(Engine::Cluster(Box::new(cluster)))
    }

    fn writer(&self) -> Option<&Control> {
        Some(&self.server.control)
    }

    async fn idle(&self) -> Result<Idle, BenchError> {
        let mut crew = Crew::start(self.site, &self.server, &[Options::default().slots]).await?;
        tokio::time::sleep(SETTLING).await;
        let before = crew.questions()?;
        tokio::time::sleep(WATCHED).await;
        let asked = crew.questions()? - before;
        let resident_bytes = crew.resident_bytes() as f64;
        crew.stop();
        Ok(Idle {
            resident_bytes,
            what: "idle_questions_with_1m_pending",
            per_second: asked as f64 / WATCHED.as_secs_f64(),
        })
    }

    async fn fill(&self, actions: &[ScheduledAction], queue: Queue) -> Result<(), BenchError> {
        let queue = match queue {
            Queue::Incoming => timers::Queue::Incoming,
            Queue::Processing => timers::Queue::Processing,
        };
        let (shards, now) = (Options::default().timer_shards, self.clock().now());
        let measure = &self.site.measure;
        let filled = measure.fill_actions(actions, queue, shards, now).await;
        filled.map_err(BenchError::Failed)
    }

    async fn settle(&self) -> Result<(), BenchError> {
        let settled = self.site.measure.settle_actions().await;
        settled.map_err(BenchError::Failed)
    }

    async fn actions(&self, prefix: &str) -> Result<u64, BenchError> {
        let found = self.site.measure.actions(prefix).await;
        found.map_err(BenchError::Failed)
    }

    async fn fired_once(&self, prefix: &str) -> Result<u64, BenchError> {
        let found = self.site.measure.fired_once(prefix).await;
        found.map_err(BenchError::Failed)
    }

    /// The server's statistics come a second late.
    async fn transactions(&self) -> Result<Option<f64>, BenchError> {
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        Ok(Some(self.site.counters().await?.transactions))
    }

    async fn plain_clear(&self) -> Result<(), BenchError> {
        self.plain.clear().await.map_err(BenchError::Failed)
    }

    async fn plain_fill(&self, actions: &[ScheduledAction]) -> Result<(), BenchError> {
        self.plain.fill(actions).await.map_err(BenchError::Failed)
    }

    async fn plain_batch(
        &self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Result<usize, BenchError> {
        let made = self.plain.batch(now, act).await;
        made.map_err(BenchError::Failed)
    }

    async fn plain_done(&self) -> Result<u64, BenchError> {
        self.plain.done().await.map_err(BenchError::Failed)
    }
}
