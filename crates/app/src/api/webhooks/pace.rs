//! The rates of triggers, counted by this process alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderValue, StatusCode, header};
use pawl_kernel::id::SchemaId;
use pawl_kernel::time::Timestamp;
use pawl_kernel::webhook::Webhook;
use pawl_kernel::webhook::bucket::Bucket;

use crate::api::error::{ApiError, ApiResult};

#[derive(Default)]
pub(super) struct Pace {
    buckets: Mutex<HashMap<(SchemaId, String), Bucket>>,
}

impl Pace {
    pub(super) fn admit(&self, webhook: &Webhook, now: Timestamp) -> ApiResult<()> {
        let Some(rate) = webhook.trigger.rate else {
            return Ok(());
        };
        let key = (webhook.schema_id, webhook.name.clone());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = buckets.entry(key).or_default().take(rate, now);
        drop(buckets);
        let Err(missing) = taken else {
            return Ok(());
        };
        let message = format!("this webhook takes {rate}");
        let seconds = missing.as_secs_f64().ceil().max(1.0) as u64;
        let refusal = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message);
        Err(refusal.header_value(header::RETRY_AFTER, HeaderValue::from(seconds)))
    }
}
