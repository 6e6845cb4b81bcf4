//! Wishes of other programs to start an execution.

use std::fmt;
use std::time::Duration;

use lapin::message::Delivery;
use lapin::types::ShortString;
use pawl_kernel::execution::PriorityClass;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::dead_letter_sender::DeadLetterSender;
use crate::settle::{DeliveryClaim, Verdict};

/// Between two offers of the same wish. Short enough to feel prompt, long enough not to spin while the store is down.
const OFFERED_AGAIN: Duration = Duration::from_secs(5);
/// After this long it goes back to the broker, so that another process may try and the broker does not lose patience.
const KEPT_HERE: Duration = Duration::from_secs(600);

/// Another program wants an execution started. Dropped without an answer it goes back into the queue.
pub struct ExternalStart {
    /// The message as it came.
    pub body: Vec<u8>,
    /// Why it cannot be used, as far as that is known before it is read as a start: it is to be refused with that.
    pub defect: Option<String>,
    /// The queue on which the sender waits for an answer.
    pub reply_to: Option<String>,
    /// The sender's name for what this belongs to.
    pub correlation_id: Option<String>,
    /// What the queue it came through asks for: `.high` and `.low` say so, the usual one leaves it to the schema.
    pub priority: Option<PriorityClass>,
    pub redelivered: bool,
    class: PriorityClass,
    claimed: DeliveryClaim,
    dead_letters: DeadLetterSender,
    /// Where it came from, to be offered there again.
    offers: mpsc::WeakSender<ExternalStart>,
    arrived: Instant,
}

impl ExternalStart {
    pub(crate) fn new(
        (class, delivery): (PriorityClass, Delivery),
        defect: Option<String>,
        claimed: DeliveryClaim,
        dead_letters: DeadLetterSender,
        offers: mpsc::WeakSender<ExternalStart>,
    ) -> Self {
        let properties = &delivery.properties;
        Self {
            defect,
            reply_to: given(properties.reply_to()),
            correlation_id: given(properties.correlation_id()),
            priority: Some(class).filter(|class| *class != PriorityClass::Normal),
            redelivered: delivery.redelivered,
            class,
            body: delivery.data,
            claimed,
            dead_letters,
            offers,
            arrived: Instant::now(),
        }
    }

    /// The execution exists, started now or before under the same key.
    pub fn done(self) {
        self.claimed.settle(Verdict::Done);
    }

    /// It will never be possible: to the dead letters with the reason.
    pub fn refuse(self, reason: &str) {
        self.dead_letters
            .bury(self.claimed, self.body, self.class, reason);
    }

    /// Not now, for instance because the store is down. It is kept here and offered again in a few seconds, which costs
    /// the broker nothing and counts as no delivery; after ten minutes it goes back into the queue.
    pub fn give_back(self) {
        tokio::spawn(async move {
            sleep(OFFERED_AGAIN).await;
            if !self.claimed.is_alive() {
                // The connection is gone, and the broker delivers it anew.
                return;
            }
            if self.arrived.elapsed() > KEPT_HERE {
                return self.claimed.settle(Verdict::Again);
            }
            // A failure drops it, which gives it back.
            if let Some(offers) = self.offers.upgrade() {
                let _ = offers.send(self).await;
            }
        });
    }
}

/// An empty property is the same as none.
fn given(property: &Option<ShortString>) -> Option<String> {
    let text = property.as_ref().map(ToString::to_string);
    text.filter(|text| !text.is_empty())
}

impl fmt::Debug for ExternalStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalStart")
            .field("bytes", &self.body.len())
            .field("reply_to", &self.reply_to)
            .finish_non_exhaustive()
    }
}
