//! What is wanted of an action: from when, how often, until when, and what to do. Written as on the wire by
//! [`Spec::to_value`], read by [`super::read`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Number, Value, json};

use super::cron::Cron;
use super::retry::Retry;
use crate::time::{Timestamp, format_duration};

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The first firing of `once` and `periodic`; a cron line fires at it or after.
    pub start_at: Timestamp,
    /// Nothing begins at it or after.
    pub deadline: Option<Timestamp>,
    pub policy: Policy,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    Once {
        retry: Retry,
    },
    /// In phase with `start_at`, however late a firing was.
    Periodic {
        period: Duration,
        retry: Retry,
        repeat: Repeat,
    },
    Cron {
        cron: Arc<Cron>,
        retry: Retry,
        repeat: Repeat,
    },
}

impl Policy {
    pub fn retry(&self) -> &Retry {
        match self {
            Self::Once { retry } | Self::Periodic { retry, .. } | Self::Cron { retry, .. } => retry,
        }
    }

    /// Does it plan the same times, given the same start?
    pub(super) fn has_times_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Once { .. }, Self::Once { .. }) => true,
            (Self::Periodic { period, .. }, Self::Periodic { period: other, .. }) => {
                period == other
            }
            (Self::Cron { cron, .. }, Self::Cron { cron: other, .. }) => cron == other,
            _ => false,
        }
    }

    /// `None`: it fires once.
    pub fn repeat(&self) -> Option<Repeat> {
        match self {
            Self::Once { .. } => None,
            Self::Periodic { repeat, .. } | Self::Cron { repeat, .. } => Some(*repeat),
        }
    }
}

/// What happens where firings meet, and where some were missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    pub overlap: Overlap,
    pub catch_up: CatchUp,
}

/// What a firing does whose time comes while the one before is under way. One under way is one between its first attempt
/// and its last, or one whose execution has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// It does not happen.
    #[default]
    Skip,
    /// It waits.
    Queue,
    /// Executions run side by side. Attempts of one action never do: there it is as `Queue`.
    Allow,
    /// It stops the execution of the one before, or takes its retries away.
    CancelPrevious,
}

impl Overlap {
    pub const CHOICES: &'static [(&'static str, Self)] = &[
        ("skip", Self::Skip),
        ("queue", Self::Queue),
        ("allow", Self::Allow),
        ("cancel_previous", Self::CancelPrevious),
    ];

    pub fn name(self) -> &'static str {
        name_of(Self::CHOICES, self)
    }
}

/// What becomes of firings that were missed because no worker was there to do them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// They do not happen, save one that is hardly late.
    None,
    /// The latest of them happens.
    #[default]
    Last,
    /// All of them happen, one after the other, up to a limit.
    All,
}

impl CatchUp {
    pub const CHOICES: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("last", Self::Last),
        ("all", Self::All),
    ];

    pub fn name(self) -> &'static str {
        name_of(Self::CHOICES, self)
    }
}

fn name_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], value: T) -> &'static str {
    let found = choices.iter().find(|(_, choice)| *choice == value);
    found.map_or("", |(name, _)| name)
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    HttpCallback {
        method: String,
        url: String,
        headers: Map<String, Value>,
        body: Value,
        /// How long an attempt may take; left out, as long as any other action's.
        timeout: Option<Duration>,
    },
    StartExecution {
        schema: String,
        input: Value,
    },
    RabbitmqPublish {
        /// A connection of the configuration; left out, the program's own broker.
        connection: Option<String>,
        exchange: String,
        routing_key: String,
        message: Value,
    },
    /// For tests: takes its time and fails the first attempts of every firing.
    Mock {
        fail_first: u32,
        takes: Duration,
    },
}

impl Action {
    pub const NAMES: &'static [&'static str] = &[
        "http_callback",
        "start_execution",
        "rabbitmq_publish",
        "mock",
    ];

    pub const fn name(&self) -> &'static str {
        match self {
            Self::HttpCallback { .. } => "http_callback",
            Self::StartExecution { .. } => "start_execution",
            Self::RabbitmqPublish { .. } => "rabbitmq_publish",
            Self::Mock { .. } => "mock",
        }
    }

    /// How long an attempt may take, if that is not left to the limits.
    pub const fn timeout(&self) -> Option<Duration> {
        match self {
            Self::HttpCallback { timeout, .. } => *timeout,
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        let fields = match self {
            Self::HttpCallback {
                method,
                url,
                headers,
                body,
                timeout,
            } => {
                let mut fields =
                    json!({"method": method, "url": url, "headers": headers, "body": body});
                if let Some(timeout) = timeout {
                    fields["timeout"] = json!(format_duration(*timeout));
                }
                fields
            }
            Self::StartExecution { schema, input } => json!({"schema": schema, "input": input}),
            Self::RabbitmqPublish {
                connection,
                exchange,
                routing_key,
                message,
            } => {
                let mut fields =
                    json!({"exchange": exchange, "routing_key": routing_key, "message": message});
                if let Some(connection) = connection {
                    fields["connection"] = json!(connection);
                }
                fields
            }
            Self::Mock { fail_first, takes } => {
                json!({"fail_first": fail_first, "takes": format_duration(*takes)})
            }
        };
        named(self.name(), fields)
    }
}

impl Spec {
    /// As on the wire, with every default written out.
    pub fn to_value(&self) -> Value {
        json!({
            "start_at": moment(self.start_at),
            "deadline": self.deadline.map(moment),
            "policy": self.policy.to_value(),
            "action": self.action.to_value(),
        })
    }

    /// The column `spec`.
    pub fn to_stored(&self) -> String {
        self.to_value().to_string()
    }
}

impl Policy {
    fn to_value(&self) -> Value {
        let retry = retry_value(self.retry());
        match self {
            Self::Once { .. } => json!({"once": {"retry": retry}}),
            Self::Periodic { period, repeat, .. } => json!({"periodic": {
                "period": format_duration(*period),
                "retry": retry,
                "overlap": repeat.overlap.name(),
                "catch_up": repeat.catch_up.name(),
            }}),
            Self::Cron { cron, repeat, .. } => json!({"cron": {
                "expr": cron.expr(),
                "timezone": cron.timezone(),
                "overlap": repeat.overlap.name(),
                "catch_up": repeat.catch_up.name(),
                "retry": retry,
            }}),
        }
    }
}

fn named(name: &str, fields: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), fields)]))
}

fn retry_value(retry: &Retry) -> Value {
    json!({
        "max_retries": retry.max_retries,
        "min": format_duration(retry.min),
        "max": format_duration(retry.max),
        "scale": format_duration(retry.scale),
        "backoff": number(retry.backoff),
    })
}

/// Whole numbers without a fraction, as people write them.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// As short as people write it.
fn moment(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(moment) => moment.to_string(),
        Err(_) => at.to_string(),
    }
}
