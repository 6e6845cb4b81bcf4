//! Settings: flags, then `PAWL_*` variables, then `pawl.toml`, then defaults.

mod kinds;
mod limits;
mod rights;
mod secrets;
mod server;
mod ui;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::quota::{QuotaKind, QuotaName, QuotaSource};
use pawl_kernel::time::parse_duration;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use limits::LimitsSection;
pub use secrets::SecretSection;
pub use server::ServerSection;
pub use ui::{PublicUrl, UiSection};

/// `pawl.toml`. Unknown names are refused: a typo must not silently be a default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: Option<SocketAddr>,
    /// Where a worker serves its metrics and health.
    pub metrics_listen: Option<SocketAddr>,
    pub data: Option<PathBuf>,
    pub server: ServerSection,
    pub ui: UiSection,
    pub env: EnvSection,
    pub engine: EngineSection,
    pub timers: TimersSection,
    pub limits: LimitsSection,
    pub http: HttpSection,
    pub database: DatabaseSection,
    pub broker: BrokerSection,
    pub quotas: QuotasSection,
    pub retention: RetentionSection,
    pub connections: BTreeMap<String, ConnectionSection>,
    pub code: CodeSection,
    pub secrets: BTreeMap<String, SecretSection>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvSection {
    /// Names of environment variables that expressions may see as `env.NAME`; a `*` at the end matches any rest.
    pub allow: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSection {
    pub slots: Option<usize>,
    pub lease: Option<DurationText>,
    pub max_recoveries: Option<u32>,
    pub sweep_after: Option<DurationText>,
    pub grace: Option<DurationText>,
}

/// Sleeps and scheduled actions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimersSection {
    /// What the queues of timers are split into; workers share them out.
    pub shards: Option<u32>,
    /// The shards of a worker that has been silent for so long go to another worker. An attempt has four fifths of it.
    pub lock_free_after: Option<DurationText>,
    /// Timers fired each second of those that were overdue when the worker came.
    pub catch_up_rate: Option<u32>,
    /// Attempts of scheduled actions made at once.
    pub action_slots: Option<usize>,
    /// How many missed firings `catch_up: all` makes up for.
    pub catch_up_max: Option<u32>,
    /// How late a firing may be under `catch_up: none`.
    pub grace: Option<DurationText>,
    /// For tests: users may write actions that only pretend.
    pub allow_mock: bool,
}

impl TimersSection {
    /// What would make timers useless rather than slow.
    fn rules(&self) -> [(&'static str, bool); 5] {
        let within = |value: Option<u64>, range: RangeInclusive<u64>| {
            value.is_none_or(|value| range.contains(&value))
        };
        let lock = self.lock_free_after.map(|text| text.0.as_millis() as u64);
        [
            (
                "timers.shards must be between 1 and 1024",
                within(self.shards.map(u64::from), 1..=1_024),
            ),
            (
                "timers.lock_free_after must be between 1s and 10m",
                within(lock, 1_000..=600_000),
            ),
            (
                "timers.catch_up_rate must be 1 or more",
                self.catch_up_rate != Some(0),
            ),
            (
                "timers.action_slots must be between 1 and 10000",
                within(self.action_slots.map(|slots| slots as u64), 1..=10_000),
            ),
            (
                "timers.catch_up_max must be between 1 and 100000",
                within(self.catch_up_max.map(u64::from), 1..=100_000),
            ),
        ]
    }

    /// What is not said stays in proportion to what is.
    fn apply(&self, options: pawl_engine::Options) -> pawl_engine::Options {
        let lock = self.lock_free_after.map(|text| text.0);
        let usual = options.schedule.clone();
        pawl_engine::Options {
            timer_shards: self.shards.unwrap_or(options.timer_shards),
            shard_lock: lock.unwrap_or(options.shard_lock),
            catch_up_rate: self.catch_up_rate.unwrap_or(options.catch_up_rate),
            action_slots: self.action_slots.unwrap_or(options.action_slots),
            allow_mock: self.allow_mock,
            schedule: pawl_kernel::schedule::ScheduleLimits {
                patience: lock.unwrap_or(usual.patience),
                grace: self.grace.map_or(usual.grace, |text| text.0),
                catch_up_max: self.catch_up_max.unwrap_or(usual.catch_up_max),
                ..usual
            },
            ..options
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSection {
    /// Outgoing requests may reach private networks.
    pub allow_private: bool,
    /// Address ranges that are allowed although the rules forbid them, as `10.1.0.0/16`.
    pub allow: Vec<String>,
    /// Where this process itself listens, once it does: no request of a workflow may go there.
    #[serde(skip)]
    pub own: Vec<SocketAddr>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSection {
    /// Finished executions are removed this long after their end; for ever if left out. A schema may say otherwise.
    pub keep: Option<DurationText>,
}

/// The PostgreSQL of a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseSection {
    pub url: Option<String>,
    /// The namespace of all tables, so that several installations can share a database.
    pub schema: String,
    /// A pooler in transaction mode (pgbouncer) stands before the server.
    pub pooler: bool,
    /// Connections that commit.
    pub committers: Option<usize>,
    pub writers: Option<usize>,
    pub readers: Option<usize>,
    pub statement_timeout: Option<DurationText>,
    pub lock_timeout: Option<DurationText>,
}

impl Default for DatabaseSection {
    fn default() -> Self {
        Self {
            url: None,
            schema: "pawl".into(),
            pooler: false,
            committers: None,
            writers: None,
            readers: None,
            statement_timeout: None,
            lock_timeout: None,
        }
    }
}

impl DatabaseSection {
    pub fn options(&self, url: &str, engine: &pawl_engine::Options) -> pawl_postgres::Options {
        let defaults = pawl_postgres::Options::new(url);
        let time = |text: Option<DurationText>, usual| text.map_or(usual, |text| text.0);
        pawl_postgres::Options {
            schema: self.schema.clone(),
            pooler: self.pooler,
            timer_shards: engine.timer_shards,
            committers: self.committers.unwrap_or(defaults.committers),
            writers: self.writers.unwrap_or(defaults.writers),
            readers: self.readers.unwrap_or(defaults.readers),
            statement_timeout: time(self.statement_timeout, defaults.statement_timeout),
            lock_timeout: time(self.lock_timeout, defaults.lock_timeout),
            ..defaults
        }
    }
}

/// The RabbitMQ of a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrokerSection {
    pub url: Option<String>,
    /// Put before the name of every queue and exchange, so that several installations can share a broker.
    pub prefix: String,
    /// `classic` or `quorum`; queues that exist are used as they are.
    pub queue_type: Option<String>,
    /// Deliveries after which a quorum queue gives a message up.
    pub delivery_limit: Option<u32>,
    /// Messages of other programs may start executions.
    pub accept_external: bool,
    /// Nodes and scheduled actions that name no connection may publish to it.
    pub publish: bool,
}

impl Default for BrokerSection {
    fn default() -> Self {
        Self {
            url: None,
            prefix: String::new(),
            queue_type: None,
            delivery_limit: None,
            accept_external: false,
            publish: true,
        }
    }
}

impl BrokerSection {
    pub fn queue_type(&self) -> Result<pawl_rabbitmq::QueueType, crate::wiring::WiringError> {
        let Some(name) = &self.queue_type else {
            return Ok(pawl_rabbitmq::QueueType::default());
        };
        pawl_rabbitmq::QueueType::from_name(name).ok_or_else(|| {
            crate::wiring::WiringError::Config(format!(
                "broker.queue_type: `{name}` is no type of queue; write classic or quorum"
            ))
        })
    }
}

/// How many executions may be under way at once.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotasSection {
    /// By the name of a schema.
    pub schema: BTreeMap<String, QuotaSetting>,
    /// By the label of a tenant.
    pub tenant: BTreeMap<String, QuotaSetting>,
    /// By the name of a schema, a slash and the value of its concurrency key.
    pub key: BTreeMap<String, QuotaSetting>,
}

/// A number, or `{limit = 5, rate = "10/s"}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a limit is a number, or {limit = 5, rate = \"10/s\"}"
)]
pub enum QuotaSetting {
    Limit(u32),
    Both(LimitAndRate),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitAndRate {
    pub limit: u32,
    pub rate: Option<String>,
}

impl QuotasSection {
    /// What the engine is to be told.
    pub fn all(&self) -> Result<Vec<SetQuota>, String> {
        let kinds = [
            (QuotaKind::Schema, &self.schema),
            (QuotaKind::Tenant, &self.tenant),
            (QuotaKind::Key, &self.key),
        ];
        let mut all = Vec::new();
        for (kind, settings) in kinds {
            for (name, setting) in settings {
                let set = setting.read(kind, name);
                let wrong = |reason| format!("quotas.{}.{name}: {reason}", kind.name());
                all.push(set.map_err(wrong)?);
            }
        }
        Ok(all)
    }
}

impl QuotaSetting {
    fn read(&self, kind: QuotaKind, name: &str) -> Result<SetQuota, String> {
        let (limit, rate) = match self {
            Self::Limit(limit) => (*limit, None),
            Self::Both(both) => (both.limit, both.rate.as_deref()),
        };
        Ok(SetQuota {
            name: QuotaName::new(kind, name).map_err(|error| error.to_string())?,
            limit,
            rate: rate.map(str::parse).transpose()?,
            source: QuotaSource::Config,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSection {
    pub url: String,
    /// Of a database: connections at once.
    pub pool_size: Option<usize>,
    /// Waiting for one of them.
    pub pool_timeout: Option<DurationText>,
    pub connect_timeout: Option<DurationText>,
    pub statement_timeout: Option<DurationText>,
    pub lock_timeout: Option<DurationText>,
    /// Rows, and bytes, that one transaction may give back.
    pub max_rows: Option<usize>,
    pub max_bytes: Option<usize>,
    /// PostgreSQL: where tables without a schema in their name are looked for.
    pub schema: Option<String>,
    /// PostgreSQL: a file with the authorities to trust.
    pub root_certificates: Option<PathBuf>,
}

impl ConnectionSection {
    pub fn database(&self) -> pawl_sql::Settings {
        let usual = pawl_sql::Settings::new(&self.url);
        let time = |text: Option<DurationText>, usual| text.map_or(usual, |text| text.0);
        pawl_sql::Settings {
            pool_size: self.pool_size.unwrap_or(usual.pool_size),
            pool_timeout: time(self.pool_timeout, usual.pool_timeout),
            connect_timeout: time(self.connect_timeout, usual.connect_timeout),
            statement_timeout: time(self.statement_timeout, usual.statement_timeout),
            lock_timeout: time(self.lock_timeout, usual.lock_timeout),
            max_rows: self.max_rows.unwrap_or(usual.max_rows),
            max_bytes: self.max_bytes.unwrap_or(usual.max_bytes),
            schema: self.schema.clone(),
            root_certificates: self.root_certificates.clone(),
            ..usual
        }
    }
}

/// Limits of the node `code`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSection {
    /// Processes that run code at once.
    pub children: Option<usize>,
    pub time: Option<DurationText>,
    /// Bytes of its heap.
    pub memory: Option<usize>,
    /// Runs after which a process is replaced; 1 gives each run a process of its own.
    pub runs_per_child: Option<u32>,
    /// Bytes of a result as JSON.
    pub output: Option<usize>,
    /// Bytes of what one run writes to its console.
    pub console: Option<usize>,
    /// Bytes of the code itself.
    pub source: Option<usize>,
    /// Whose children run code, if not this very program's: for tests, which are programs of their own.
    #[serde(skip)]
    pub program: Option<PathBuf>,
}

impl CodeSection {
    /// What no code could run with, or no machine could bear.
    fn rules(&self) -> [(&'static str, bool); 7] {
        let within = |value: Option<usize>, range: RangeInclusive<usize>| {
            value.is_none_or(|value| range.contains(&value))
        };
        let time = self.time.map_or(Duration::from_secs(1), |text| text.0);
        [
            (
                "code.children must be between 1 and 1024: each is a process",
                within(self.children, 1..=1_024),
            ),
            (
                "code.time must be between 10ms and 1h",
                (Duration::from_millis(10)..=Duration::from_secs(3_600)).contains(&time),
            ),
            (
                "code.memory is in bytes and must be between 4194304 (4 MiB) and 4294967296 (4 GiB)",
                within(self.memory, 4 << 20..=4 << 30),
            ),
            (
                "code.runs_per_child must be 1 or more",
                self.runs_per_child != Some(0),
            ),
            (
                "code.output is in bytes and must be between 1024 and 16777216 (16 MiB)",
                within(self.output, 1 << 10..=16 << 20),
            ),
            (
                "code.console is in bytes and must be between 1024 and 1048576 (1 MiB)",
                within(self.console, 1 << 10..=1 << 20),
            ),
            (
                "code.source is in bytes and must be between 1024 and 8388608 (8 MiB)",
                within(self.source, 1 << 10..=8 << 20),
            ),
        ]
    }

    pub fn apply(&self, options: &mut pawl_script::Options) {
        options.children = self.children.unwrap_or(options.children);
        options.runs_per_child = self.runs_per_child.unwrap_or(options.runs_per_child);
        let limits = &mut options.limits;
        limits.time = self.time.map_or(limits.time, |text| text.0);
        limits.memory_bytes = self.memory.unwrap_or(limits.memory_bytes);
        limits.output_bytes = self.output.unwrap_or(limits.output_bytes);
        limits.console_bytes = self.console.unwrap_or(limits.console_bytes);
        limits.source_bytes = self.source.unwrap_or(limits.source_bytes);
    }
}

#[derive(Clone, Copy, Debug)]
pub struct DurationText(pub Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        parse_duration(&text)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {reason}")]
    Wrong { path: PathBuf, reason: String },
}

impl Config {
    /// Reads `path`, or `pawl.toml` in the working folder if it is there.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let standard = Path::new("pawl.toml");
        let path = match path {
            Some(path) => path,
            None if standard.exists() => standard,
            None => return Ok(Self::default()),
        };
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let wrong = |reason: String| ConfigError::Wrong {
            path: path.to_owned(),
            reason,
        };
        let config: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        config.check().map_err(wrong)?;
        rights::warn_if_open(path, &config);
        Ok(config)
    }

    /// Refuses what would make the engine useless rather than slow.
    fn check(&self) -> Result<(), String> {
        let engine = &self.engine;
        let seconds = |text: Option<DurationText>| text.map(|text| text.0.as_secs_f64());
        let rules = [
            (
                "engine.lease must be 3s or more",
                seconds(engine.lease).is_none_or(|lease| lease >= 3.0),
            ),
            (
                "engine.max_recoveries must be 1 or more",
                engine.max_recoveries.is_none_or(|count| count >= 1),
            ),
            (
                "engine.slots must be between 1 and 100000",
                engine
                    .slots
                    .is_none_or(|slots| (1..=100_000).contains(&slots)),
            ),
            (
                "engine.sweep_after must be 1s or more",
                seconds(engine.sweep_after).is_none_or(|after| after >= 1.0),
            ),
        ];
        let (timers, code, server) = (self.timers.rules(), self.code.rules(), self.server.rules());
        let limits = self.limits.rules();
        let own = rules.iter().chain(&limits);
        let mut all = own.chain(&timers).chain(&code).chain(&server);
        match all.find(|(_, holds)| !holds) {
            Some((rule, _)) => Err((*rule).to_owned()),
            None => {
                secrets::check(&self.secrets)?;
                self.quotas.all().map(drop)
            }
        }
    }

    /// What `env` holds in expressions.
    pub fn visible_env(&self, all: impl Iterator<Item = (String, String)>) -> Map<String, Value> {
        all.filter(|(name, _)| !name.starts_with(SECRET_PREFIX) && !KEPT_BACK.contains(&&**name))
            .filter(|(name, _)| self.env.allow.iter().any(|pattern| matches(pattern, name)))
            .map(|(name, value)| (name, Value::String(value)))
            .collect()
    }

    /// Names of secrets that have a section and no value.
    pub fn secrets_without_value(&self) -> Vec<String> {
        let values = secrets_from(variables());
        let names = self.secrets.keys().map(|name| name.to_lowercase());
        names.filter(|name| !values.contains_key(name)).collect()
    }

    /// The names of secrets that are too short to be blotted out.
    pub fn short_secrets() -> Vec<String> {
        let all = secrets_from(variables());
        all.into_iter()
            .filter(|(_, value)| value.len() < SECRET_BYTES_MIN)
            .map(|(name, _)| name)
            .collect()
    }

    pub fn engine_options(&self) -> pawl_engine::Options {
        let defaults = pawl_engine::Options::default();
        let engine = &self.engine;
        let mut payload = defaults.payload;
        payload.output_bytes = self.limits.step_output.unwrap_or(payload.output_bytes);
        payload.context_bytes = self.limits.context.unwrap_or(payload.context_bytes);
        let lease = engine.lease.map_or(defaults.lease, |text| text.0);
        let defaults = self.timers.apply(defaults.with_lease(lease));
        pawl_engine::Options {
            slots: engine.slots.unwrap_or(defaults.slots).max(1),
            max_recoveries: engine.max_recoveries.unwrap_or(defaults.max_recoveries),
            sweep_after: engine
                .sweep_after
                .map_or(defaults.sweep_after, |text| text.0),
            grace: engine.grace.map_or(defaults.grace, |text| text.0),
            retention: self.retention.keep.map(|text| text.0),
            payload,
            expression_time: self
                .limits
                .expression_time
                .map_or(defaults.expression_time, |text| text.0),
            env: self.visible_env(variables()),
            secrets: secrets_from(variables()),
            secret_scopes: secrets::scopes(&self.secrets),
            connections: kinds::of(&self.connections),
            ..defaults
        }
    }
}

/// The environment, without what is not text: nothing of Pawl's is anything else.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

const SECRET_PREFIX: &str = "PAWL_SECRET_";
/// Whatever `env.allow` says: no workflow may read what opens Pawl itself.
const KEPT_BACK: &[&str] = &[
    "PAWL_ADMIN_KEY",
    "PAWL_KEY",
    "PAWL_DATABASE_URL",
    "PAWL_BROKER_URL",
];
/// Shorter ones could not be told from innocent text when they are blotted out.
const SECRET_BYTES_MIN: usize = 6;

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

/// `PAWL_SECRET_STRIPE_KEY` is `secrets.stripe_key`.
fn secrets_from(all: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    all.filter_map(|(name, value)| Some((name.strip_prefix(SECRET_PREFIX)?.to_lowercase(), value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_visible() {
        let config: Config = toml::from_str("[env]\nallow = [\"API_*\", \"HOME\"]").unwrap();
        let all = [("API_URL", "x"), ("HOME", "y"), ("SECRET", "z")];
        let seen = config.visible_env(all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["API_URL", "HOME"]);
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        for text in [
            "lease = \"2s\"",
            "max_recoveries = 0",
            "slots = 0",
            "slots = 900000",
            "sweep_after = \"0s\"",
        ] {
            let config: Config = toml::from_str(&format!("[engine]\n{text}")).unwrap();
            assert!(config.check().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_of_code_that_cannot_work_are_refused() {
        let read = |text: &str| toml::from_str::<Config>(&format!("[code]\n{text}")).unwrap();
        for wrong in [
            "children = 0",
            "children = 100000",
            "time = \"0s\"",
            "time = \"2h\"",
            "memory = 0",
            "memory = 65536",
            "memory = 99999999999",
            "runs_per_child = 0",
            "output = 0",
            "console = 0",
            "source = 0",
            "source = 99999999999",
        ] {
            let name = format!("code.{} ", wrong.split(' ').next().unwrap());
            let reason = read(wrong).check().unwrap_err();
            assert!(reason.starts_with(&name), "{wrong}: {reason}");
        }
        let set = read(
            "children = 3\ntime = \"2s\"\nmemory = 8388608\nruns_per_child = 1\noutput = 2048\nconsole = 4096\n\
             source = 8192",
        );
        set.check().unwrap();
        let mut options = pawl_script::Options::new("pawl");
        set.code.apply(&mut options);
        assert_eq!((options.children, options.runs_per_child), (3, 1));
        let limits = options.limits;
        assert_eq!(limits.time, Duration::from_secs(2));
        assert_eq!(limits.memory_bytes, 8 << 20);
        let rest = [
            limits.output_bytes,
            limits.console_bytes,
            limits.source_bytes,
        ];
        assert_eq!(rest, [2_048, 4_096, 8_192]);
    }

    #[test]
    fn timers_keep_their_proportions() {
        let read = |text: &str| {
            let config: Config = toml::from_str(text).unwrap();
            config.check().unwrap();
            config.engine_options()
        };
        let seconds = |count| Duration::from_secs(count);
        let usual = read("");
        assert_eq!((usual.timer_shards, usual.shard_lock), (16, seconds(10)));
        assert!(!usual.allow_mock);
        assert_eq!(usual.expression_time, seconds(1));
        let patient = read("[limits]\nexpression_time = \"7s\"");
        assert_eq!(patient.expression_time, seconds(7));
        let short = read("[engine]\nlease = \"6s\"");
        assert_eq!(short.schedule_limits().patience, seconds(6));
        let set = read(
            "[timers]\nshards = 4\nlock_free_after = \"3s\"\ncatch_up_rate = 50\naction_slots = 8\n\
             catch_up_max = 7\ngrace = \"5s\"\nallow_mock = true",
        );
        assert_eq!((set.timer_shards, set.shard_lock), (4, seconds(3)));
        assert_eq!((set.catch_up_rate, set.action_slots), (50, 8));
        let limits = set.schedule_limits();
        assert_eq!((limits.patience, limits.grace), (seconds(3), seconds(5)));
        assert_eq!((limits.catch_up_max, set.allow_mock), (7, true));
        for wrong in [
            "shards = 0",
            "shards = 5000",
            "lock_free_after = \"500ms\"",
            "lock_free_after = \"1h\"",
            "catch_up_rate = 0",
            "action_slots = 0",
            "catch_up_max = 0",
        ] {
            let config: Config = toml::from_str(&format!("[timers]\n{wrong}")).unwrap();
            let name = wrong.split(' ').next().unwrap();
            assert!(config.check().unwrap_err().contains(name), "{wrong}");
        }
    }

    #[test]
    fn secrets_are_not_part_of_the_environment() {
        let config: Config = toml::from_str("[env]\nallow = [\"PAWL_*\"]").unwrap();
        let all = [
            ("PAWL_SECRET_KEY", "x"),
            ("PAWL_COLOUR", "y"),
            ("PAWL_ADMIN_KEY", "z"),
            ("PAWL_DATABASE_URL", "z"),
        ];
        let seen = config.visible_env(all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["PAWL_COLOUR"]);
    }

    #[test]
    fn quotas_are_numbers_or_more() {
        let text = "[quotas.schema]\norder-check = 10\n[quotas.tenant]\nacme = {limit = 5, rate = \"10/s\"}\n\
                    [quotas.key]\n\"order-check/ACME\" = 1";
        let config: Config = toml::from_str(text).unwrap();
        let all = config.quotas.all().unwrap();
        let seen: Vec<_> = all
            .iter()
            .map(|set| {
                (
                    set.name.to_string(),
                    set.limit,
                    set.rate.map(|r| r.to_string()),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("schema:order-check".to_owned(), 10, None),
                ("tenant:acme".to_owned(), 5, Some("10/s".to_owned())),
                ("key:order-check/ACME".to_owned(), 1, None),
            ]
        );
        for bad in [
            "[quotas.key]\nACME = 1",
            "[quotas.tenant]\nacme = {limit = 1, rate = \"10\"}",
        ] {
            let config: Config = toml::from_str(bad).unwrap();
            assert!(config.check().is_err(), "{bad}");
        }
        for bad in [
            "[quotas.team]\na = 1",
            "[quotas.tenant]\na = -1",
            "[quotas.tenant]\na = {rate = \"1/s\"}",
        ] {
            assert!(toml::from_str::<Config>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_typo_is_refused() {
        assert!(toml::from_str::<Config>("[engine]\nslotz = 3").is_err());
    }
}
