//! The measurements on a folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_sqlite::baseline::timers::{self, FolderFiller, Plain};

use super::ground::{Engine, Ground, Idle, Queue};
use crate::bench::{BenchError, flows, idle};
use crate::system::SystemClock;
use crate::wiring::EmbeddedEngine;

pub(super) struct EmbeddedGround {
    folder: PathBuf,
    plain: Mutex<Plain>,
}

impl EmbeddedGround {
    pub(super) fn open(folder: &Path) -> Result<Self, BenchError> {
        std::fs::create_dir_all(folder).map_err(BenchError::of)?;
        let plain = Plain::open(&folder.join("plain.db")).map_err(BenchError::Failed)?;
        Ok(Self {
            folder: folder.join("pawl"),
            plain: Mutex::new(plain),
        })
    }

    fn filling(&self) -> Result<FolderFiller, BenchError> {
        FolderFiller::open(&self.folder).map_err(BenchError::Failed)
    }

    fn plain<T>(
        &self,
        work: impl FnOnce(&mut Plain) -> Result<T, String>,
    ) -> Result<T, BenchError> {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut plain).map_err(BenchError::Failed)
    }
}

#[async_trait]
impl Ground for EmbeddedGround {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    async fn start(&self, options: Options) -> Result<Engine, BenchError> {
        let options = Options {
            exclusive: true,
            ..options
        };
        let registry = Arc::new(flows::registry()?);
        let embedded = EmbeddedEngine::start_with(&self.folder, registry, options).await;
        Ok(Engine::Embedded(Box::new(
            embedded.map_err(BenchError::of)?,
        )))
    }

    /// There is no other process.
    fn writer(&self) -> Option<&Control> {
        None
    }

    async fn idle(&self) -> Result<Idle, BenchError> {
        let report = idle::watch(&self.folder)?;
        let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
        Ok(Idle {
            resident_bytes: number("resident_bytes"),
            what: "idle_wakeups_with_1m_pending",
            per_second: number("wakeups_per_second"),
        })
    }

    async fn fill(&self, actions: &[ScheduledAction], queue: Queue) -> Result<(), BenchError> {
        let queue = match queue {
            Queue::Incoming => timers::Queue::Incoming,
            Queue::Processing => timers::Queue::Processing,
        };
        let (shards, now) = (Options::default().timer_shards, self.clock().now());
        let filled = self.filling()?.fill(actions, queue, shards, now);
        filled.map_err(BenchError::Failed)
    }

    async fn settle(&self) -> Result<(), BenchError> {
        Ok(())
    }

    async fn actions(&self, prefix: &str) -> Result<u64, BenchError> {
        let found = self.filling()?.actions(prefix);
        found.map_err(BenchError::Failed)
    }

    async fn fired_once(&self, prefix: &str) -> Result<u64, BenchError> {
        let found = self.filling()?.fired_once(prefix);
        found.map_err(BenchError::Failed)
    }

    async fn transactions(&self) -> Result<Option<f64>, BenchError> {
        Ok(None)
    }

    async fn plain_clear(&self) -> Result<(), BenchError> {
        self.plain(|plain| plain.clear())
    }

    async fn plain_fill(&self, actions: &[ScheduledAction]) -> Result<(), BenchError> {
        self.plain(|plain| plain.fill(actions))
    }

    async fn plain_batch(
        &self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Result<usize, BenchError> {
        self.plain(|plain| plain.batch(now, act))
    }

    async fn plain_done(&self) -> Result<u64, BenchError> {
        self.plain(|plain| plain.done())
    }
}
