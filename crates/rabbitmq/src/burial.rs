//! Gives messages up to the dead letters.
//!
//! What cannot be read is rejected, and the broker moves it; the drain finds the reason by reading it again. What is
//! refused for a reason of ours is published to the dead-letter exchange with that reason in a header, and acknowledged
//! once that is confirmed. If it cannot be confirmed the message is rejected after all: the reason is lost then, the
//! message is not.

use pawl_kernel::execution::PriorityClass;
use tokio::sync::watch;

use crate::flights::Destination;
use crate::outcome::Outcome;
use crate::publishing::{Gate, publish};
use crate::settle::{Claimed, Verdict};
use crate::topology::Topology;
use crate::wire::{MAX_BYTES, shortened};

#[derive(Clone)]
pub(crate) struct Undertaker {
    pub(crate) gate: watch::Receiver<Gate>,
    pub(crate) topology: Topology,
}

impl Undertaker {
    /// Does not wait: there may be many, and the broker may be slow.
    pub(crate) fn bury(&self, claimed: Claimed, body: Vec<u8>, class: PriorityClass, reason: &str) {
        if body.len() > MAX_BYTES {
            // Not worth a trip over the network and back; the size is the reason.
            return claimed.settle(Verdict::Dead);
        }
        let destination = Destination::DeadLetters {
            reason: shortened(reason),
            queue: self.topology.work_queue(class),
        };
        let gate = self.gate.clone();
        tokio::spawn(async move {
            match publish(&gate, destination, body).await {
                Outcome::Confirmed => claimed.settle(Verdict::Done),
                other => {
                    tracing::warn!(why = %other, "the reason of a dead letter is lost");
                    claimed.settle(Verdict::Dead);
                }
            }
        });
    }
}
