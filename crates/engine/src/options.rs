//! Every limit and interval of the engine, with the defaults of the design.

use std::collections::BTreeMap;
use std::time::Duration;

use pawl_kernel::node::PayloadLimits;
use serde_json::{Map, Value};

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
    pub reaper_interval: Duration,
    /// An execution that could run and has waited this long gets a new message.
    pub sweep_after: Duration,
    /// How long a shutdown waits for nodes in flight.
    pub grace: Duration,
    pub timer_shards: u32,
    /// No other process can be on this store: locks need no heartbeat and hints cannot be missed.
    pub exclusive: bool,
    /// What `env` holds in expressions.
    pub env: Map<String, Value>,
    /// What `secrets` holds in effectful nodes; replaced by `***` in all that is stored.
    pub secrets: BTreeMap<String, String>,
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
            reaper_interval: Duration::from_secs(5),
            sweep_after: Duration::from_secs(10),
            grace: Duration::from_secs(20),
            timer_shards: 16,
            exclusive: false,
            env: Map::new(),
            secrets: BTreeMap::new(),
        }
    }
}
