//! One execution's way through a worker, from the slot it takes to the acknowledgement of its message: run by the
//! consumer, or where somebody waits for its birth.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::queue::Delivery;
use pawl_kernel::ports::store::Claimed;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::birth::Birth;
use crate::parts::Parts;
use crate::pass::{self, PassEnd};
use crate::running::Running;
use crate::sync::lock;

/// An execution this worker holds the lease of, with the slot it runs in.
pub(crate) struct Fresh {
    pub(crate) claimed: Box<Claimed>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) slot: OwnedSemaphorePermit,
    /// Held while the execution is one that may kill workers.
    pub(crate) suspicion: Option<OwnedSemaphorePermit>,
}

/// What comes to the consumer.
pub(crate) enum Work {
    Fresh(Box<Fresh>),
    /// Somebody else has run it until now.
    Begun(RunningPass),
}

pub(crate) type RunningPass = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The worker's side that others may use: hand it an execution that was born with its lease.
#[derive(Clone)]
pub struct Adopter {
    pub(crate) parts: Parts,
    pub(crate) running: Arc<Running>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) work: mpsc::UnboundedSender<Work>,
}

/// A slot reserved for an execution about to be created.
pub struct Slot {
    adopter: Adopter,
    permit: OwnedSemaphorePermit,
}

impl Adopter {
    /// A free slot, if there is one: saves the execution the way through the queue.
    pub fn reserve(&self) -> Option<Slot> {
        if self.work.is_closed() {
            return None;
        }
        let permit = self.slots.clone().try_acquire_owned().ok()?;
        Some(Slot {
            adopter: self.clone(),
            permit,
        })
    }
}

impl Slot {
    /// `false`: the worker is gone; the lease will run out and the execution be found.
    pub fn run(self, claimed: Box<Claimed>) -> bool {
        let fresh = Fresh {
            claimed,
            delivery: None,
            slot: self.permit,
            suspicion: None,
        };
        self.adopter.work.send(Work::Fresh(fresh.into())).is_ok()
    }

    /// Begins at once with one that is not in the store yet.
    pub(crate) fn bear(self, claimed: Box<Claimed>, birth: Birth) -> Begun {
        let Self { adopter, permit } = self;
        let fresh = Fresh {
            claimed,
            delivery: None,
            slot: permit,
            suspicion: None,
        };
        let pass = pass_of(&adopter.parts, &adopter.running, fresh, Some(birth));
        Begun {
            pass: pass.map(|pass| Box::pin(pass) as RunningPass),
            work: adopter.work,
        }
    }
}

/// A pass that runs where somebody waits for its first commit, which spares it a task of its own if that is also its
/// last. Whoever does not wait any longer leaves the rest to the worker.
pub(crate) struct Begun {
    pass: Option<RunningPass>,
    work: mpsc::UnboundedSender<Work>,
}

impl Future for Begun {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pass) = &mut self.pass {
            ready!(pass.as_mut().poll(context));
            self.pass = None;
        }
        Poll::Ready(())
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            // An error means that the worker is gone. If the execution is stored, its lease will run out and it be found; if
            // not, nobody was told that it is.
            let _ = self.work.send(Work::Begun(pass));
        }
    }
}

/// All of a pass, from the slot it takes to the acknowledgement of its message. `None`: there is no lease.
pub(crate) fn pass_of(
    parts: &Parts,
    running: &Arc<Running>,
    fresh: Fresh,
    birth: Option<Birth>,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let Fresh {
        claimed,
        delivery,
        slot,
        suspicion,
    } = fresh;
    let held = claimed.state.lease.as_ref()?;
    let id = claimed.execution.head.id;
    let ticket = running.enter(id, held, suspicion, birth.is_none());
    let receipt = Receipt::new(parts.clone(), delivery);
    let ticket = ticket.with_receipt(receipt.clone());
    let parts = parts.clone();
    Some(async move {
        let _slot = slot;
        let _busy = parts.metrics.workers.pass_here(&claimed.state);
        if planted::has(Bug::AckBeforeCommit) {
            receipt.acknowledge().await;
        }
        let pass = AssertUnwindSafe(pass::run(parts.clone(), claimed, ticket, birth));
        let end = pass.catch_unwind().await;
        match end.unwrap_or_else(|panic| panicked(id, &*panic)) {
            PassEnd::Committed(dispatch) => {
                if let Some(dispatch) = dispatch {
                    parts.publish(dispatch).await;
                }
                receipt.acknowledge().await;
            }
            PassEnd::Unborn => {}
            PassEnd::Abandoned => {
                parts.metrics.workers.leases_lost.increment();
                tracing::warn!(execution_id = %id, "pass abandoned; the execution will be taken up again");
                // Whoever holds the lease now, or the reaper, owns its recovery.
                receipt.acknowledge().await;
            }
        }
    })
}

/// Its lease will run out, and the reaper owns its recovery.
fn panicked(id: ExecutionId, panic: &(dyn std::any::Any + Send)) -> PassEnd {
    let text = pass::panic_text(panic);
    tracing::error!(execution_id = %id, panic = text, "a pass panicked; if the execution is stored it will be taken up again");
    PassEnd::Abandoned
}

/// The message that a pass came from, acknowledged once: at the end, or early for a node that may outlast the
/// broker's patience.
#[derive(Clone)]
pub(crate) struct Receipt {
    parts: Parts,
    delivery: Arc<Mutex<Option<Delivery>>>,
}

impl Receipt {
    pub(crate) fn new(parts: Parts, delivery: Option<Delivery>) -> Self {
        Self {
            parts,
            delivery: Arc::new(Mutex::new(delivery)),
        }
    }

    pub(crate) async fn acknowledge(&self) {
        let delivery = lock(&self.delivery).take();
        acknowledge(&self.parts, delivery.as_ref()).await;
    }
}

pub(crate) async fn acknowledge(parts: &Parts, delivery: Option<&Delivery>) {
    if let Some(delivery) = delivery
        && let Err(error) = parts.queue.acknowledge(delivery.tag).await
    {
        let id = delivery.message.execution_id;
        tracing::debug!(execution_id = %id, %error, "not acknowledged; the message will come back and be recognised");
    }
}
