//! Keeps the leases of nodes in flight alive, and hears through the answers who must stop.

use std::sync::Arc;

use crate::parts::Parts;
use crate::running::Running;

/// Runs for ever. Sleeps without a timer while nothing is in flight.
pub(crate) async fn run(parts: Parts, running: Arc<Running>) {
    let interval = parts.options.lease / 3;
    loop {
        if running.is_empty() {
            running.entered.notified().await;
        }
        parts.clock.sleep_until(parts.now().plus(interval)).await;
        beat(&parts, &running).await;
    }
}

async fn beat(parts: &Parts, running: &Running) {
    let now = parts.now();
    let leases = running.to_renew(now);
    let until = now.plus(parts.options.lease);
    if !leases.is_empty() {
        match parts.store.heartbeat(leases.clone(), until).await {
            Ok(beats) => {
                parts.metrics.workers.heartbeats.increment();
                running.renewed(&leases, &beats, until);
            }
            Err(error) => {
                parts.metrics.workers.heartbeat_failures.increment();
                tracing::warn!(%error, "heartbeat failed");
            }
        }
    }
    running.abandon_expired(parts.now().plus(parts.options.lease_margin));
}
