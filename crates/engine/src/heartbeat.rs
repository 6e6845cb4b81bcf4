//! Keeps the leases of nodes in flight alive, and hears through the answers who must stop.

use std::pin::pin;
use std::sync::Arc;

use pawl_kernel::id::ExecutionId;
use uuid::Uuid;

use crate::parts::Parts;
use crate::running::Running;

/// Runs for ever. Sleeps without a timer while nothing is in flight.
pub(crate) async fn run(parts: Parts, running: Arc<Running>) {
    tokio::join!(
        keep_alive(&parts, &running),
        ask_about_stops(&parts, &running)
    );
}

async fn keep_alive(parts: &Parts, running: &Running) {
    let interval = parts.options.lease / 3;
    loop {
        if running.is_empty() {
            running.entered.notified().await;
        }
        let mut beat = pin!(async {
            parts.clock.sleep_until(parts.now().plus(interval)).await;
            beat(parts, running.to_renew(parts.now()), running).await;
        });
        // A store that does not answer must not keep anybody from giving up in time.
        loop {
            let look_at = parts.now().plus(interval);
            let expiry = running.first_expiry();
            let expiry = expiry.map(|at| at.minus(parts.options.lease_margin));
            tokio::select! {
                biased;
                () = &mut beat => break,
                () = parts.clock.sleep_until(expiry.map_or(look_at, |at| at.min(look_at))) => {
                    running.abandon_expired(parts.now().plus(parts.options.lease_margin));
                }
            }
        }
        running.abandon_expired(parts.now().plus(parts.options.lease_margin));
    }
}

/// A hint is not believed, but it makes us look at once instead of with the next beat.
async fn ask_about_stops(parts: &Parts, running: &Running) {
    loop {
        let leases = running.doubtful(|| parts.now()).await;
        beat(parts, leases, running).await;
    }
}

async fn beat(parts: &Parts, leases: Vec<(ExecutionId, Uuid)>, running: &Running) {
    if leases.is_empty() {
        return;
    }
    let until = parts.now().plus(parts.options.lease);
    match parts.store.heartbeat(leases.clone(), until).await {
        Ok(beats) => {
            parts.metrics.workers.heartbeats.increment();
            running.renewed(&leases, &beats);
        }
        Err(error) => {
            parts.metrics.workers.heartbeat_failures.increment();
            tracing::warn!(%error, "heartbeat failed");
        }
    }
}
