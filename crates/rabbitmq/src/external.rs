//! Wishes of other programs to start an execution.

use std::fmt;
use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::burial::Undertaker;
use crate::settle::{Claimed, Verdict};
use crate::wire::StartWish;

/// Between two offers of the same wish. Short enough to feel prompt, long enough not to spin while the store is down.
const OFFERED_AGAIN: Duration = Duration::from_secs(5);
/// After this long it goes back to the broker, so that another process may try and the broker does not lose patience.
const KEPT_HERE: Duration = Duration::from_secs(600);

/// Somebody wants an execution started. Dropped without an answer it goes back into the queue.
pub struct ExternalStart {
    /// The sender's own name for it (its `execution_id`), at most 200 characters: start once per key.
    pub key: String,
    /// Name or id of the schema.
    pub schema: String,
    /// Becomes the initial variables.
    pub context: Map<String, Value>,
    /// What the queue it came through asks for: `.high` and `.low` say so, the usual one leaves it to the schema.
    pub priority: Option<PriorityClass>,
    pub redelivered: bool,
    class: PriorityClass,
    body: Vec<u8>,
    claimed: Claimed,
    undertaker: Undertaker,
    /// Where it came from, to be offered there again.
    offers: mpsc::WeakSender<ExternalStart>,
    arrived: Instant,
}

impl ExternalStart {
    pub(crate) fn new(
        wish: StartWish,
        class: PriorityClass,
        delivery: (bool, Vec<u8>),
        claimed: Claimed,
        undertaker: Undertaker,
        offers: mpsc::WeakSender<ExternalStart>,
    ) -> Self {
        Self {
            key: wish.key,
            schema: wish.schema,
            context: wish.context,
            priority: Some(class).filter(|class| *class != PriorityClass::Normal),
            redelivered: delivery.0,
            class,
            body: delivery.1,
            claimed,
            undertaker,
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
        self.undertaker
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

impl fmt::Debug for ExternalStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalStart")
            .field("key", &self.key)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
