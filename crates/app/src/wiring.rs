//! Puts an engine together. The only code that knows which store, queue and node types there are.

mod brokers;
mod cluster;
mod observe;
mod own;
mod own_store;
mod programs;

use std::path::Path;
use std::sync::Arc;

use pawl_engine::control::Control;
use pawl_engine::worker::Worker;
use pawl_engine::{Options, Runtime, ServiceRunner};
use pawl_kernel::node::Registry;
use pawl_kernel::ports::store::{RecoveryStore, StoreError};
use pawl_kernel::time::Clock;
use pawl_nodes::Environment;
use pawl_nodes::http::{AddressPolicy, HttpLimits};
use pawl_sqlite::{EmbeddedQueue, OpenError, SqliteStore};
use tokio_util::sync::CancellationToken;

use brokers::ConfiguredBrokers;
pub use cluster::{Cluster, Membership};
use own::OwnPlaces;
pub(crate) use own_store::{exposure, look_for_exposure};
pub use programs::SCRIPT_CHILD;
pub(crate) use programs::databases;

use crate::config::Config;
pub use crate::services::ServiceFailure;
use crate::services::Services;
use crate::system::{SystemClock, SystemEntropy};

#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Database(#[from] pawl_postgres::OpenError),
    #[error(transparent)]
    Broker(#[from] pawl_rabbitmq::BrokerError),
    #[error("{0}")]
    Config(String),
}

/// Engine, store and queue in one process on one data folder.
pub struct EmbeddedEngine {
    pub control: Control,
    stop: CancellationToken,
    worker: Services,
    helpers: Services,
    store: Arc<SqliteStore>,
}

impl EmbeddedEngine {
    /// Opens the folder, clears what a dead process left, and starts the worker.
    pub async fn start(data: &Path, config: &Config) -> Result<Self, WiringError> {
        check_secrets(config)?;
        let registry = Arc::new(registry(config, true)?);
        let options = Options {
            exclusive: true,
            worker_id: worker_id(),
            ..config.engine_options()
        };
        let mut embedded = Self::start_with(data, registry, options).await?;
        configure_quotas(&embedded.control, config).await?;
        look_for_exposure(embedded.control.runtime(), config)?;
        let runtime = embedded.control.runtime();
        if let Some(keeper) = programs::keeper(runtime, config)? {
            let runner = ServiceRunner::new(runtime, embedded.stop.clone());
            let keeping = runner.run(keeper);
            embedded.helpers.add("the keeper of applied rows", keeping);
        }
        Ok(embedded)
    }

    pub async fn start_with(
        data: &Path,
        registry: Arc<Registry>,
        options: Options,
    ) -> Result<Self, WiringError> {
        let database = pawl_sqlite::Options {
            timer_shards: options.timer_shards,
            ..pawl_sqlite::Options::default()
        };
        let store = Arc::new(SqliteStore::open(data, database)?);
        let clock = Arc::new(SystemClock);
        let cleared = store.clear_leases(clock.now()).await?;
        if cleared > 0 {
            tracing::info!(
                cleared,
                "executions interrupted by the last stop will go on"
            );
        }
        let queue = Arc::new(EmbeddedQueue::default());
        let runtime = Runtime::new(
            store.clone(),
            queue.clone(),
            clock,
            Arc::new(SystemEntropy),
            registry,
            options,
        );
        observe::embedded(&runtime, &store, &queue);
        pawl_engine::worker::queue_everything(&runtime).await?;
        let worker = Worker::new(runtime.clone());
        let control = Control::new(runtime, Some(worker.handle()));
        let stop = CancellationToken::new();
        let mut running = Services::default();
        running.add("the worker", worker.run(stop.clone()));
        Ok(Self {
            control,
            stop,
            worker: running,
            helpers: Services::default(),
            store,
        })
    }

    /// Returns when the worker has ended before the shutdown. Cancelling loses nothing.
    pub async fn broken(&mut self) -> ServiceFailure {
        self.worker.broken().await
    }

    /// Finishes what is in flight and closes the store.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.worker.finish().await;
        self.helpers.abort();
        drop(self.control);
        self.store.close();
    }
}

/// What the configuration says of quotas is so from the first request on.
pub(crate) async fn configure_quotas(
    control: &Control,
    config: &Config,
) -> Result<(), WiringError> {
    let wanted = config.quotas.all().map_err(WiringError::Config)?;
    let done = control.configure_quotas(wanted).await;
    done.map_err(|error| WiringError::Config(format!("quotas: {error}")))
}

/// What is too short to be blotted out must not get in anywhere.
pub(crate) fn check_secrets(config: &Config) -> Result<(), WiringError> {
    for name in config.secrets_without_value() {
        let variable = format!("PAWL_SECRET_{}", name.to_uppercase());
        tracing::warn!(
            "[secrets.{name}] of the configuration names a secret without a value: set {variable}"
        );
    }
    match Config::short_secrets().first() {
        None => Ok(()),
        Some(name) => Err(WiringError::Config(format!(
            "the secret `{name}` is shorter than 6 bytes; it could not be told from other text in what is stored"
        ))),
    }
}

/// The node types of this binary. `loopback`: `dev` and `run` may call services on this machine.
pub fn registry(config: &Config, loopback: bool) -> Result<Registry, WiringError> {
    let own = OwnPlaces {
        addresses: config.http.own.clone(),
        ..OwnPlaces::default()
    };
    registry_beside(None, own, config, loopback)
}

/// As [`registry`], in a process with a broker of its own at this address. `own`: where workflows must not get to.
fn registry_beside(
    own_broker: Option<&str>,
    own: OwnPlaces,
    config: &Config,
    loopback: bool,
) -> Result<Registry, WiringError> {
    let mut policy = AddressPolicy {
        allow_loopback: loopback,
        allow_private: config.http.allow_private,
        deny_own: own.addresses,
        deny_own_names: own.names,
        ..AddressPolicy::default()
    };
    for range in &config.http.allow {
        let range = range.parse().map_err(|_| {
            WiringError::Config(format!(
                "http.allow: `{range}` is no address range; write 10.1.0.0/16"
            ))
        })?;
        policy.allow.push(range);
    }
    let brokers = Arc::new(ConfiguredBrokers::new(config, own_broker)?);
    let environment = Environment::new(policy, HttpLimits::default()).with_brokers(brokers);
    let mut handlers = pawl_nodes::handlers(&environment);
    handlers.extend(programs::handlers(config)?);
    Ok(Registry::new(handlers))
}

/// A name a person can find: host and process.
pub(crate) fn worker_id() -> String {
    let host =
        std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "localhost".into());
    format!("{}/{}", host.trim(), std::process::id())
}
