//! Settings: flags, then `PAWL_*` variables, then `pawl.toml`, then defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pawl_kernel::time::parse_duration;
use serde::Deserialize;
use serde_json::{Map, Value};

/// `pawl.toml`. Unknown names are refused: a typo must not silently be a default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: Option<SocketAddr>,
    pub data: Option<PathBuf>,
    pub env: EnvSection,
    pub engine: EngineSection,
    pub limits: LimitsSection,
    pub http: HttpSection,
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
                "engine.lease must be 10s or more",
                seconds(engine.lease).is_none_or(|lease| lease >= 10.0),
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
            None => Ok(()),
        }
    }

    /// What `env` holds in expressions.
    pub fn visible_env(&self, all: impl Iterator<Item = (String, String)>) -> Map<String, Value> {
        all.filter(|(name, _)| !name.starts_with(SECRET_PREFIX))
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
        pawl_engine::Options {
            slots: engine.slots.unwrap_or(defaults.slots).max(1),
            lease: engine.lease.map_or(defaults.lease, |text| text.0),
            max_recoveries: engine.max_recoveries.unwrap_or(defaults.max_recoveries),
            sweep_after: engine
                .sweep_after
                .map_or(defaults.sweep_after, |text| text.0),
            grace: engine.grace.map_or(defaults.grace, |text| text.0),
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
            "lease = \"5s\"",
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
        let all = [("PAWL_SECRET_KEY", "x"), ("PAWL_COLOUR", "y")];
        let seen = config.visible_env(all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["PAWL_COLOUR"]);
    }

    #[test]
    fn a_typo_is_refused() {
        assert!(toml::from_str::<Config>("[engine]\nslotz = 3").is_err());
    }
}
