//! The store of a cluster: PostgreSQL, for any number of processes.
//!
//! Reading order: [`PostgresStore::open`] here, `session` (connections and pools), `commits` (many creations and
//! transitions at once), `changes` (how decisions of the kernel become rows), then one module per role of the store:
//! `executions`, `recovery`, `timers`, `schedule`, `catalog`, `queries`.
//!
//! Promises: what was answered is on disk; rows that fail, fail alone; no rule of the protocol lives here. Every write
//! to an execution is guarded by the version it was decided on.

pub mod baseline;
mod catalog;
mod changes;
mod clock;
mod commits;
mod connect;
mod creates;
mod editor;
mod error;
mod executions;
mod heads;
mod history;
mod hot;
mod keys;
mod letters;
mod lists;
mod locked;
mod migrations;
mod options;
mod overview;
mod partitions;
mod queries;
mod quotas;
mod recovery;
mod retention;
mod rows;
mod schedule;
mod session;
mod sessions;
mod sql;
mod timers;
mod transaction;
mod value;
mod webhooks;
mod workers;

use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use clock::DatabaseClock;
pub use connect::places_of;
pub use migrations::MigrationError;
pub use options::Options;
use pawl_kernel::ports::batches::BatchSizes;

use crate::commits::{Committers, Lane};
use crate::connect::{Connector, LISTS, LOOKUPS};
use crate::hot::RowCache;
use crate::locked::LockedRows;
use crate::quotas::KnownNames;
use crate::session::Pool;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Address(String),
    #[error("TLS to the database: {0}")]
    Tls(String),
    #[error("cannot reach the database: {0}")]
    Unreachable(String),
    #[error("PostgreSQL {0} is too old; Pawl needs version 15 or newer")]
    TooOld(String),
    #[error("the database {address}: {source}")]
    Migration {
        address: String,
        source: MigrationError,
    },
}

/// All roles of the store on one PostgreSQL database.
pub struct PostgresStore {
    connector: Arc<Connector>,
    committers: Committers,
    /// The connections of the committers.
    lanes: Arc<Pool>,
    /// Claims and commands.
    writers: Arc<Pool>,
    readers: Arc<Pool>,
    /// Reserved for what keeps the cluster alive: heartbeats, reaper, timers, probes. No other work uses them up.
    vital: Arc<Pool>,
    /// Partitions and retention: one connection, so that they take none from other work.
    upkeep: Arc<Pool>,
    hot: Arc<RowCache>,
    shards: u32,
    batches: Arc<BatchSizes>,
    /// Which quotas are set.
    known_names: Arc<KnownNames>,
    clock: Arc<DatabaseClock>,
}

/// Reserved connections: a heartbeat does not wait for a sweep.
const VITAL_CONNECTIONS: usize = 3;

impl PostgresStore {
    /// Connects, brings the tables up to date under a lock, and starts the committers.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let connector = Arc::new(Connector::new(&options)?);
        prepare(&connector, &options).await?;
        let limit = options.transaction_timeout;
        let pool = |size, settings| Arc::new(Pool::new(connector.clone(), size, limit, settings));
        let vital = pool(VITAL_CONNECTIONS, LOOKUPS);
        let hot = Arc::new(RowCache::default());
        let batches = Arc::new(BatchSizes::default());
        let known_names = Arc::new(KnownNames::default());
        let lanes = pool(options.committers, LOOKUPS);
        let committers = Committers::start(options.committers, || Lane {
            pool: lanes.clone(),
            hot: hot.clone(),
            shards: options.timer_shards.max(1),
            batches: batches.clone(),
            locked: LockedRows::default(),
            known_names: known_names.clone(),
        });
        let clock = DatabaseClock::start(vital.clone())
            .await
            .map_err(|error| OpenError::Unreachable(error.to_string()))?;
        Ok(Self {
            committers,
            lanes,
            writers: pool(options.writers, LOOKUPS),
            readers: pool(options.readers, LISTS),
            vital,
            upkeep: Arc::new(Pool::new(
                connector.clone(),
                1,
                limit.max(retention::TIME_LIMIT),
                LISTS,
            )),
            hot,
            shards: options.timer_shards.max(1),
            batches,
            known_names,
            clock,
            connector,
        })
    }

    /// The database's time: leases and timers are measured by it.
    pub fn clock(&self) -> Arc<DatabaseClock> {
        self.clock.clone()
    }

    /// How often this process has asked the server anything: statements, and words like BEGIN.
    pub fn questions(&self) -> u64 {
        self.connector.questions.load(Ordering::Relaxed)
    }

    /// How many jobs of the committers shared a transaction.
    pub fn batches(&self) -> &Arc<BatchSizes> {
        &self.batches
    }

    /// Does the server understand every statement? The first it does not is in the error.
    pub async fn check_statements(&self) -> Result<(), String> {
        let done = self.readers.run(|session| async move {
            for sql in sql::ALL.iter().copied().chain(lists::all()) {
                if let Err(fault) = session.ready(&[sql]).await {
                    return Ok(Err(format!("{}: {fault}", sql.name)));
                }
            }
            Ok(Ok(()))
        });
        done.await.map_err(|fault| fault.to_string())?
    }

    /// Nothing can be asked of it after this.
    pub fn close(&self) {
        for pool in [
            &self.lanes,
            &self.writers,
            &self.readers,
            &self.vital,
            &self.upkeep,
        ] {
            pool.close();
        }
    }
}

async fn prepare(connector: &Connector, options: &Options) -> Result<(), OpenError> {
    let unreachable = |fault: error::Fault| OpenError::Unreachable(fault.to_string());
    let session = connector.open(LISTS).await.map_err(unreachable)?;
    check_version(&session).await?;
    let path = session.alone(&sql::SEARCH_PATH, &[]).await;
    let path = path.map_err(unreachable)?;
    let path = path.first().and_then(|row| row.try_get(0).ok());
    connector.check_settings(path.unwrap_or_default())?;
    let failed = |source| OpenError::Migration {
        address: connector.address(),
        source,
    };
    migrations::apply(&session, connector.schema())
        .await
        .map_err(failed)?;
    let shards = i32::try_from(options.timer_shards.max(1)).unwrap_or(i32::MAX);
    session
        .alone(&sql::SHARD_ADD, &[&shards])
        .await
        .map_err(unreachable)?;
    let now = clock::ask(&session).await.map_err(unreachable)?;
    partitions::maintain(&session, connector.schema(), now)
        .await
        .map_err(unreachable)
}

async fn check_version(session: &session::Session) -> Result<(), OpenError> {
    const OLDEST: i32 = 150_000;
    let unreachable = |fault: error::Fault| OpenError::Unreachable(fault.to_string());
    let rows = session
        .alone(&sql::SERVER_VERSION, &[])
        .await
        .map_err(unreachable)?;
    let Some(row) = rows.first() else {
        return Err(OpenError::Unreachable("no answer to the version".into()));
    };
    let version: i32 = row
        .try_get(0)
        .map_err(|error| OpenError::Unreachable(error.to_string()))?;
    if version >= OLDEST {
        return Ok(());
    }
    Err(OpenError::TooOld((version / 10_000).to_string()))
}
