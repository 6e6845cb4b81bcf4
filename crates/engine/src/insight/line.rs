//! Why an execution stands in line: which quota is full, and who fills it.

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{AdmissionPosition, BEFORE_MAX, Holder};
use pawl_kernel::ports::store::{Store, StoreResult};
use pawl_kernel::quota::Quota;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value, json};

/// More holders than this are counted, not named.
const HOLDERS_SHOWN: u32 = 10;

#[derive(Clone, Debug)]
pub struct InLine {
    pub place: AdmissionPosition,
    /// The first of its quotas that has no room.
    pub full: Option<Quota>,
    /// Who holds that one, longest first.
    pub holders: Vec<Holder>,
}

/// `None`: it does not stand in line.
pub async fn line_of(
    store: &dyn Store,
    id: ExecutionId,
    now: Timestamp,
) -> StoreResult<Option<InLine>> {
    let Some(place) = store.admission_position(id).await? else {
        return Ok(None);
    };
    let full = place.quotas.iter().find(|quota| !quota.has_room(now));
    let full = full.cloned();
    let holders = match &full {
        Some(quota) => store.holders(quota.name.clone(), HOLDERS_SHOWN).await?,
        None => Vec::new(),
    };
    Ok(Some(InLine {
        place,
        full,
        holders,
    }))
}

impl InLine {
    pub(super) fn sentence(&self, now: Timestamp) -> String {
        let before = self.before();
        let Some(quota) = &self.full else {
            return format!(
                "Its quotas have room; the scheduler lets it in within seconds{before}. \
                 Is a worker with the role `scheduler` running?"
            );
        };
        let limit = quota.limit().unwrap_or(u32::MAX);
        let why = match (quota.opens_at(now), quota.rate) {
            (Some(at), Some(rate)) => format!("which admits {rate}, the next at {at}"),
            _ => self.held_by(quota),
        };
        format!(
            "It waits for the quota {} (limit {limit}), {why}{before}.",
            quota.name
        )
    }

    fn held_by(&self, quota: &Quota) -> String {
        let Some(first) = self.holders.first() else {
            return "which admits none".into();
        };
        let others = match quota.used.saturating_sub(1) {
            0 => String::new(),
            1 => " and 1 other".into(),
            more => format!(" and {more} others"),
        };
        format!(
            "held by {} since {}{others}",
            first.execution_id, first.since
        )
    }

    fn before(&self) -> String {
        match self.place.before {
            0 => "; it is the next of its line".into(),
            1 => "; 1 other waits before it".into(),
            BEFORE_MAX.. => format!("; {BEFORE_MAX} or more wait before it"),
            more => format!("; {more} others wait before it"),
        }
    }

    pub(super) fn facts(&self, now: Timestamp) -> Map<String, Value> {
        let quotas: Vec<Value> = self.place.quotas.iter().map(|q| quota(q, now)).collect();
        let holders: Vec<Value> = self.holders.iter().map(holder).collect();
        let facts = json!({
            "quota": self.full.as_ref().map(|quota| quota.name.to_string()),
            "quotas": quotas,
            "held_by": holders,
            "waiting_before": self.place.before,
            "priority": self.place.priority.name(),
        });
        match facts {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

fn quota(quota: &Quota, now: Timestamp) -> Value {
    json!({
        "name": quota.name.to_string(),
        "limit": quota.limit(),
        "rate": quota.rate.map(|rate| rate.to_string()),
        "used": quota.used,
        "waiting": quota.waiting,
        "has_room": quota.has_room(now),
    })
}

fn holder(holder: &Holder) -> Value {
    json!({"execution_id": holder.execution_id.to_string(), "since": holder.since.to_string()})
}
