//! A process of the cluster without the process: the same parts, joined inside the test.

use std::sync::Arc;

use pawl::config::Config;
use pawl::wiring::{self, Cluster, Membership};
use pawl_engine::Options;
use pawl_engine::worker::Roles;
use pawl_kernel::node::Registry;

pub(crate) struct Member {
    config: Config,
    database: String,
    broker: String,
    roles: Roles,
    registry: Arc<Registry>,
    options: Options,
}

pub(crate) fn config(settings: &str) -> Config {
    toml::from_str(settings).unwrap()
}

impl Member {
    pub(crate) fn of(settings: &str, database: &str, broker: &str) -> Self {
        let config = config(settings);
        Self {
            registry: Arc::new(wiring::registry(&config, true).unwrap()),
            options: config.engine_options(),
            config,
            database: database.into(),
            broker: broker.into(),
            roles: Roles::ALL,
        }
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        self.options.worker_id = name.into();
        self
    }

    pub(crate) fn with_roles(mut self, roles: Roles) -> Self {
        self.roles = roles;
        self
    }

    pub(crate) fn with_slots(mut self, slots: usize) -> Self {
        self.options.slots = slots;
        self
    }

    pub(crate) fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = Arc::new(registry);
        self
    }

    /// Reaches the database by another way.
    pub(crate) fn with_database(mut self, url: String) -> Self {
        self.database = url;
        self
    }

    /// Reaches the broker by another way.
    pub(crate) fn with_broker(mut self, url: String) -> Self {
        self.broker = url;
        self
    }

    pub(crate) async fn join(self) -> Cluster {
        let member = Membership {
            database_url: self.database,
            broker_url: self.broker,
            roles: self.roles,
            slots: Some(self.options.slots),
        };
        let joining = Cluster::join_with(&member, &self.config, self.registry, self.options);
        Box::pin(joining).await.unwrap()
    }
}
