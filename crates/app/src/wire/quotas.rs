//! Quotas.

use std::borrow::Cow;

use pawl_kernel::ports::quotas::Holder;
use pawl_kernel::quota::{self, QuotaKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::name::QuotaSource;
use super::{Name, Text, Time};

/// A limit to be set.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetQuota {
    /// How many may be under way at once; 0 admits none.
    #[schemars(required, range(min = 0, max = 4_294_967_295_u32))]
    pub(crate) limit: Option<u64>,
    /// At most so many starts in a time, evenly spread: `10/s`, `100/m`, `5000/h`.
    pub(crate) rate: Option<Text>,
}

/// How many executions may be under way at once.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Quota<'a> {
    pub(crate) kind: Name<QuotaKind>,
    /// A schema's name, a tenant, or a schema's name, a slash and the value of its concurrency key.
    pub(crate) name: Cow<'a, str>,
    pub(crate) limit: Option<u32>,
    pub(crate) rate: Option<String>,
    /// Executions that hold a place in it.
    pub(crate) used: u64,
    /// Executions in line that would take one.
    pub(crate) waiting: u64,
    /// Who set it; `settings` are those of a schema.
    pub(crate) source: Name<QuotaSource>,
    pub(crate) updated_at: Time,
    /// Who holds it, longest first, at most 100; only when one quota is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holders: Option<Vec<QuotaHolder>>,
}

/// An execution that holds a place in a quota.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct QuotaHolder {
    pub(crate) execution_id: Uuid,
    pub(crate) since: Time,
}

impl<'a> From<&'a quota::Quota> for Quota<'a> {
    fn from(quota: &'a quota::Quota) -> Self {
        Self {
            kind: quota.name.kind().into(),
            name: quota.name.name().into(),
            limit: quota.limit(),
            rate: quota.rate.map(|rate| rate.to_string()),
            used: quota.used,
            waiting: quota.waiting,
            source: Name::new(quota.source.map_or("settings", quota::QuotaSource::name)),
            updated_at: Time(quota.updated_at),
            holders: None,
        }
    }
}

impl From<&Holder> for QuotaHolder {
    fn from(holder: &Holder) -> Self {
        Self {
            execution_id: holder.execution_id.0,
            since: Time(holder.since),
        }
    }
}
