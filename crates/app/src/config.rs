//! Settings: flags, then `PAWL_*` variables, then `pawl.toml`, then defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::quota::{QuotaKind, QuotaName, Source};
use pawl_kernel::time::parse_duration;
use serde::Deserialize;
use serde_json::{Map, Value};

/// `pawl.toml`. Unknown names are refused: a typo must not silently be a default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: Option<SocketAddr>,
    /// Where a worker serves its metrics and health.
    pub metrics_listen: Option<SocketAddr>,
    pub data: Option<PathBuf>,
    pub env: EnvSection,
    pub engine: EngineSection,
    pub limits: LimitsSection,
    pub http: HttpSection,
    pub database: DatabaseSection,
    pub broker: BrokerSection,
    pub quotas: QuotasSection,
    pub retention: RetentionSection,
    pub connections: BTreeMap<String, ConnectionSection>,
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSection {
    /// Bytes of one step's output.
    pub step_output: Option<usize>,
    /// Bytes of a context.
    pub context: Option<usize>,
    /// Bytes of a request body.
    pub request_body: Option<usize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSection {
    /// Outgoing requests may reach private networks.
    pub allow_private: bool,
    /// Address ranges that are allowed although the rules forbid them, as `10.1.0.0/16`.
    pub allow: Vec<String>,
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
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrokerSection {
    pub url: Option<String>,
    /// Put before the name of every queue and exchange, so that several installations can share a broker.
    pub prefix: String,
    /// `classic` or `quorum`; cannot be changed once the queues exist.
    pub queue_type: Option<String>,
    /// Deliveries after which a quorum queue gives a message up.
    pub delivery_limit: Option<u32>,
    /// Messages of other programs may start executions.
    pub accept_external: bool,
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
            source: Source::Config,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSection {
    pub url: String,
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
        match rules.iter().find(|(_, holds)| !holds) {
            Some((rule, _)) => Err((*rule).to_owned()),
            None => self.quotas.all().map(drop),
        }
    }

    /// What `env` holds in expressions.
    pub fn visible_env(&self, all: impl Iterator<Item = (String, String)>) -> Map<String, Value> {
        all.filter(|(name, _)| !name.starts_with(SECRET_PREFIX) && !KEPT_BACK.contains(&&**name))
            .filter(|(name, _)| self.env.allow.iter().any(|pattern| matches(pattern, name)))
            .map(|(name, value)| (name, Value::String(value)))
            .collect()
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
        let defaults = defaults.with_lease(lease);
        pawl_engine::Options {
            slots: engine.slots.unwrap_or(defaults.slots).max(1),
            max_recoveries: engine.max_recoveries.unwrap_or(defaults.max_recoveries),
            sweep_after: engine
                .sweep_after
                .map_or(defaults.sweep_after, |text| text.0),
            grace: engine.grace.map_or(defaults.grace, |text| text.0),
            retention: self.retention.keep.map(|text| text.0),
            payload,
            env: self.visible_env(variables()),
            secrets: secrets_from(variables()),
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
