//! Places for calls that wait for an answer: they must not keep other requests out, and no webhook may take them all.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pawl_kernel::id::SchemaId;
use pawl_kernel::webhook::Webhook;

type WebhookKey = (SchemaId, String);

pub(super) struct WaitingCalls {
    most: usize,
    taken: Mutex<CallCounts>,
}

#[derive(Default)]
struct CallCounts {
    all: usize,
    by_webhook: HashMap<WebhookKey, usize>,
}

/// The right to wait, until it is dropped.
pub(super) struct WaitPlace<'a> {
    waiting: &'a WaitingCalls,
    key: WebhookKey,
}

impl WaitingCalls {
    /// Of so many connections.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            most: (connections * 3 / 4).max(1),
            taken: Mutex::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, CallCounts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: all are taken, or this webhook has two thirds of them already.
    pub(super) fn take(&self, webhook: &Webhook) -> Option<WaitPlace<'_>> {
        let key = (webhook.schema_id, webhook.name.clone());
        let mut taken = self.taken();
        let own = taken.by_webhook.get(&key).copied().unwrap_or_default();
        if taken.all >= self.most || own >= (self.most * 2).div_ceil(3) {
            return None;
        }
        taken.all += 1;
        taken.by_webhook.insert(key.clone(), own + 1);
        Some(WaitPlace { waiting: self, key })
    }
}

impl Drop for WaitPlace<'_> {
    fn drop(&mut self) {
        let mut taken = self.waiting.taken();
        taken.all -= 1;
        if let Some(own) = taken.by_webhook.get_mut(&self.key) {
            *own -= 1;
            if *own == 0 {
                taken.by_webhook.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::webhook::read;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn webhook(number: u128) -> Webhook {
        Webhook {
            schema_id: SchemaId(Uuid::from_u128(number)),
            schema: "s".into(),
            version: 1,
            active: true,
            name: "0".into(),
            trigger: read::of_value(&json!({"type": "webhook", "path": "p"})).unwrap(),
        }
    }

    #[test]
    fn one_webhook_leaves_places_to_others() {
        let waiting = WaitingCalls::new(12);
        let (one, other) = (webhook(1), webhook(2));
        let mut ones: Vec<_> = std::iter::from_fn(|| waiting.take(&one)).collect();
        let others: Vec<_> = std::iter::from_fn(|| waiting.take(&other)).collect();
        assert_eq!((ones.len(), others.len()), (6, 3));
        drop(others);
        ones.pop();
        assert!(waiting.take(&one).is_some());
        drop(ones);
        let taken = waiting.taken();
        assert!(taken.all == 0 && taken.by_webhook.is_empty());
    }
}
