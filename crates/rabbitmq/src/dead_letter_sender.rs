//! Gives messages up to the dead letters.
//!
//! What is refused is published to the dead-letter exchange with the reason in a header, and acknowledged once that is
//! confirmed: whatever the queue it came from was declared with, nothing is lost. While it cannot be confirmed the message
//! is kept here and tried again.

use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::flights::Destination;
use crate::outcome::Outcome;
use crate::publishing::{Gate, publish};
use crate::settle::{DeliveryClaim, Verdict};
use crate::topology::Topology;
use crate::wire::shortened;

/// Between two tries: long enough not to spin while the broker takes nothing.
const TRIED_AGAIN: Duration = Duration::from_secs(5);
/// After this long it goes back to the broker, before the broker loses patience with the consumer.
const KEPT_HERE: Duration = Duration::from_secs(600);

#[derive(Clone)]
pub(crate) struct DeadLetterSender {
    pub(crate) gate: watch::Receiver<Gate>,
    pub(crate) topology: Topology,
    /// What is kept of a body; the reason tells how long it was.
    pub(crate) max_bytes: usize,
}

impl DeadLetterSender {
    /// Does not wait: there may be many, and the broker may be slow.
    pub(crate) fn bury(
        &self,
        claimed: DeliveryClaim,
        mut body: Vec<u8>,
        class: PriorityClass,
        reason: &str,
    ) {
        body.truncate(self.max_bytes);
        let destination = Destination::DeadLetters {
            reason: shortened(reason),
            queue: self.topology.work_queue(class),
        };
        tokio::spawn(publish_and_settle(
            self.gate.clone(),
            claimed,
            destination,
            body,
        ));
    }
}

async fn publish_and_settle(
    gate: watch::Receiver<Gate>,
    claimed: DeliveryClaim,
    destination: Destination,
    body: Vec<u8>,
) {
    let begun = Instant::now();
    // After the end of its connection the broker delivers it anew.
    while claimed.is_alive() && begun.elapsed() < KEPT_HERE {
        match publish(&gate, destination.clone(), body.clone()).await {
            Outcome::Confirmed => return claimed.settle(Verdict::Done),
            other => tracing::warn!(why = %other, "a dead letter has to wait"),
        }
        sleep(TRIED_AGAIN).await;
    }
}
