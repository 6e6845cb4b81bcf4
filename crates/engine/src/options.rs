//! Every limit and interval of the engine, with the defaults of the design.

use std::collections::BTreeMap;
use std::time::Duration;

use pawl_kernel::node::PayloadLimits;
use pawl_kernel::schedule::ScheduleLimits;
use pawl_kernel::secrets::SecretScopes;
use serde_json::{Map, Value};

use crate::actions::MockHook;

#[derive(Clone, Debug)]
pub struct Options {
    /// A name a person can find: host and process.
    pub worker_id: String,
    /// Executions run at once.
    pub slots: usize,
    pub lease: Duration,
    /// A worker gives a node up this long before its lease ends.
    pub lease_margin: Duration,
    pub max_recoveries: u32,
    /// Longest time one message keeps an execution in one worker's hands.
    pub pass_time: Duration,
    /// Retry delays shorter than this are waited for under the lease.
    pub short_delay: Duration,
    pub payload: PayloadLimits,
    /// How long the expressions of one config may take.
    pub expression_time: Duration,
    pub reaper_interval: Duration,
    /// An execution that could run and has waited this long gets a new message.
    pub sweep_after: Duration,
    /// How long a shutdown waits for nodes in flight.
    pub grace: Duration,
    pub timer_shards: u32,
    /// A timer shard whose owner has not been heard of for this long is free.
    pub shard_lock: Duration,
    /// Timers fired each second of those that were overdue when this worker came.
    pub catch_up_rate: u32,
    /// Attempts of scheduled actions made at once.
    pub action_slots: usize,
    /// What decides about scheduled actions. Their attempts get four fifths of its `patience`.
    pub schedule: ScheduleLimits,
    /// May users write actions that only pretend?
    pub allow_mock: bool,
    /// Called at each attempt of an action that only pretends.
    pub on_mock: Option<MockHook>,
    /// Finished executions are removed this long after their end, unless their schema says otherwise; `None`: never.
    pub retention: Option<Duration>,
    /// No other process can be on this store: locks need no heartbeat and hints cannot be missed.
    pub exclusive: bool,
    /// What `env` holds in expressions.
    pub env: Map<String, Value>,
    /// What `secrets` holds in effectful nodes; replaced by `***` in all that is stored.
    pub secrets: BTreeMap<String, String>,
    /// Who may use them, and where they may be sent; those that are not here are free.
    pub secret_scopes: SecretScopes,
    /// The kinds of the user's connections by name, for editors: nothing is connected by this.
    pub connections: BTreeMap<String, &'static str>,
}

impl Options {
    /// Everything that finds a lost worker is as quick as the lease is short, in the proportions of the defaults.
    pub fn with_lease(self, lease: Duration) -> Self {
        Self {
            lease,
            lease_margin: self.lease_margin.min(lease / 6),
            reaper_interval: self.reaper_interval.min(lease / 6),
            shard_lock: self.shard_lock.min(lease),
            schedule: ScheduleLimits {
                patience: self.schedule.patience.min(lease),
                ..self.schedule
            },
            ..self
        }
    }

    /// A worker that vanished is not known to have before its lock is free: no attempt counts as interrupted sooner.
    pub fn schedule_limits(&self) -> ScheduleLimits {
        ScheduleLimits {
            patience: self.schedule.patience.max(self.shard_lock),
            ..self.schedule.clone()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            worker_id: "worker".into(),
            slots: 256,
            lease: Duration::from_secs(30),
            lease_margin: Duration::from_secs(5),
            max_recoveries: 5,
            pass_time: Duration::from_secs(30),
            short_delay: Duration::from_secs(2),
            payload: PayloadLimits::default(),
            expression_time: Duration::from_secs(1),
            reaper_interval: Duration::from_secs(5),
            sweep_after: Duration::from_secs(10),
            grace: Duration::from_secs(20),
            timer_shards: 16,
            shard_lock: Duration::from_secs(10),
            catch_up_rate: 1_000,
            action_slots: 64,
            schedule: ScheduleLimits::default(),
            allow_mock: false,
            on_mock: None,
            retention: None,
            exclusive: false,
            env: Map::new(),
            secrets: BTreeMap::new(),
            secret_scopes: SecretScopes::new(),
            connections: BTreeMap::new(),
        }
    }
}
