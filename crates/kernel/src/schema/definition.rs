//! A schema as it is stored: everything defaults already filled in, nothing compiled yet.
//!
//! The stored text of a version is this struct as JSON. It never changes once saved, so new fields
//! need a default that keeps the old meaning.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::{duration_from_seconds, format_duration, parse_duration};

/// The language level written into every version saved today.
pub const LANGUAGE: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub language: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The number under which other programs know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<i64>,
    /// A JSON Schema, kept as written: [`crate::input`] says what it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default)]
    pub settings: Settings,
    /// Kept as written, and checked: [`crate::webhook`] and [`crate::schedule`] say what they mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Value>,
    pub nodes: Vec<NodeDefinition>,
    pub edges: Vec<EdgeDefinition>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub max_steps: u64,
    #[serde(with = "duration_text")]
    pub max_duration: Duration,
    #[serde(with = "duration_text")]
    pub node_timeout: Duration,
    pub max_nodes_per_message: u32,
    pub on_stuck: OnStuck,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Value>,
    pub priority: Priority,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// A duration, or [`FOREVER`].
    pub retention: Option<String>,
}

/// A retention that never ends, whatever the configuration says.
pub const FOREVER: &str = "forever";

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_steps: 10_000,
            max_duration: Duration::from_secs(365 * 86_400),
            node_timeout: Duration::from_secs(30),
            max_nodes_per_message: 64,
            on_stuck: OnStuck::Requeue,
            max_calls: None,
            concurrency: None,
            priority: Priority::Normal,
            tenant: None,
            retention: None,
        }
    }
}

impl Settings {
    /// `concurrency.limit`: executions at once, of the schema or of each key.
    pub fn concurrency_limit(&self) -> Option<u32> {
        let limit = self.concurrency.as_ref()?.get("limit")?.as_u64()?;
        Some(u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// `concurrency.key`: a template.
    pub fn concurrency_key(&self) -> Option<&str> {
        self.concurrency.as_ref()?.get("key")?.as_str()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnStuck {
    Requeue,
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeDefinition {
    pub id: String,
    #[serde(rename = "type")]
    pub node_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default)]
    pub config: Value,
    #[serde(
        default,
        with = "optional_duration_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    #[serde(default)]
    pub on_error: OnError,
    #[serde(default)]
    pub on_interrupt: OnInterrupt,
    #[serde(default)]
    pub disabled: bool,
    #[serde(default)]
    pub entry: bool,
    /// Where the canvas draws it; no meaning for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    #[default]
    Fail,
    Continue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInterrupt {
    #[default]
    Rerun,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// All tries, the first included.
    pub max_attempts: u32,
    #[serde(with = "duration_text")]
    pub delay: Duration,
    pub backoff: Backoff,
    #[serde(with = "duration_text")]
    pub max_delay: Duration,
    pub jitter: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    Fixed,
    Linear,
    #[default]
    Exponential,
}

impl RetryPolicy {
    /// How long to wait after `failures` failed tries (1 or more). `jitter_draw` is in 0..1.
    pub fn delay_after(&self, failures: u32, jitter_draw: f64) -> Duration {
        let factor = match self.backoff {
            Backoff::Fixed => 1.0,
            Backoff::Linear => f64::from(failures.max(1)),
            Backoff::Exponential => 2f64.powi(failures.saturating_sub(1).min(62) as i32),
        };
        let full = (self.delay.as_secs_f64() * factor).min(self.max_delay.as_secs_f64());
        // Half fixed, half random: retries spread out but never come at once.
        let seconds = if self.jitter {
            full * (0.5 + 0.5 * jitter_draw)
        } else {
            full
        };
        duration_from_seconds(seconds).unwrap_or(self.max_delay)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeDefinition {
    pub source: String,
    pub target: String,
    /// Normalised: left out, null, `output` and `success` are the exit that an edge without a name means
    /// ([`crate::node::NodeHandler::unnamed_exit`]).
    #[serde(rename = "sourceHandle")]
    pub source_handle: String,
}

pub const HANDLE_SUCCESS: &str = "success";
pub const HANDLE_ERROR: &str = "error";
/// Of nodes that wait for an event. Without an edge it fails: nothing came, and nothing may act as if it had.
pub const HANDLE_TIMEOUT: &str = "timeout";

mod duration_text {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_duration(*value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        parse_duration(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

mod optional_duration_text {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => to.serialize_str(&format_duration(*duration)),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(from)?
            .map(|text| parse_duration(&text).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_stop_at_the_limit() {
        let policy = RetryPolicy {
            max_attempts: 9,
            delay: Duration::from_secs(5),
            backoff: Backoff::Exponential,
            max_delay: Duration::from_secs(60),
            jitter: false,
        };
        let seconds: Vec<u64> = (1..7)
            .map(|n| policy.delay_after(n, 0.0).as_secs())
            .collect();
        assert_eq!(seconds, [5, 10, 20, 40, 60, 60]);
        let jittered = RetryPolicy {
            jitter: true,
            ..policy
        };
        assert_eq!(jittered.delay_after(1, 0.0).as_millis(), 2_500);
    }
}
