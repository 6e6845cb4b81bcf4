//! One execution's way through a worker, from the slot it takes to the acknowledgement of its message: run by the
//! consumer, or by the caller of a start until the execution is created.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::queue::Delivery;
use pawl_kernel::ports::store::{ClaimedExecution, CreateOutcome, StoreResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::pass::{self, PassEnd};
use crate::pending_create::{CreateReply, PendingCreate};
use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::sync::lock;

/// An execution this worker holds the lease of, with the slot it runs in.
pub(crate) struct ClaimedWork {
    pub(crate) claimed: Box<ClaimedExecution>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) slot: OwnedSemaphorePermit,
    /// Held while the execution is one that may kill workers.
    pub(crate) suspicion: Option<OwnedSemaphorePermit>,
}

/// What comes to the consumer.
pub(crate) enum Work {
    Claimed(Box<ClaimedWork>),
    /// The caller of a start has run it until now.
    Inline(RunningPass),
}

pub(crate) type RunningPass = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The worker's free slots, for starts: an execution that gets one is created with this worker's lease and skips the
/// queue.
#[derive(Clone)]
pub struct SlotPool {
    pub(crate) runtime: Runtime,
    pub(crate) running: Arc<RunningPasses>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) work: mpsc::UnboundedSender<Work>,
}

/// A slot reserved for an execution about to be created.
pub(crate) struct Slot {
    pool: SlotPool,
    permit: OwnedSemaphorePermit,
}

impl SlotPool {
    pub(crate) fn reserve(&self) -> Option<Slot> {
        if self.work.is_closed() {
            return None;
        }
        let permit = self.slots.clone().try_acquire_owned().ok()?;
        Some(Slot {
            pool: self.clone(),
            permit,
        })
    }
}

impl Slot {
    /// Begins with an execution that is still to be created.
    pub(crate) fn run_inline(self, pending: PendingCreate) -> InlinePass {
        let Self { pool, permit } = self;
        let work = ClaimedWork {
            claimed: pending.claimed(),
            delivery: None,
            slot: permit,
            suspicion: None,
        };
        let pass = pass_of(&pool.runtime, &pool.running, work, Some(pending));
        InlinePass {
            pass: pass.map(|pass| Box::pin(pass) as RunningPass),
            work: pool.work,
        }
    }
}

/// A pass that the caller of a start runs, which spares it a task of its own if its first commit is also its last. A
/// caller that is answered, or goes away, leaves the rest to the worker.
pub(crate) struct InlinePass {
    pass: Option<RunningPass>,
    work: mpsc::UnboundedSender<Work>,
}

impl InlinePass {
    /// Runs it until the caller can be answered.
    pub(crate) async fn until_created(mut self, reply: CreateReply) -> StoreResult<CreateOutcome> {
        let mut created = pin!(reply.received());
        // In this order: a first commit that is also the last ends both.
        tokio::select! {
            biased;
            () = &mut self => created.await,
            created = &mut created => created,
        }
    }
}

impl Future for InlinePass {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pass) = &mut self.pass {
            ready!(pass.as_mut().poll(context));
            self.pass = None;
        }
        Poll::Ready(())
    }
}

impl Drop for InlinePass {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            // An error means that the worker is gone. If the execution is stored, its lease will run out and the reaper find
            // it; if not, no caller was told that it is.
            let _ = self.work.send(Work::Inline(pass));
        }
    }
}

/// All of a pass, from the slot it takes to the acknowledgement of its message. `None`: there is no lease.
pub(crate) fn pass_of(
    runtime: &Runtime,
    running: &Arc<RunningPasses>,
    work: ClaimedWork,
    pending: Option<PendingCreate>,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let ClaimedWork {
        claimed,
        delivery,
        slot,
        suspicion,
    } = work;
    let held = claimed.state.lease.as_ref()?;
    let id = claimed.execution.head.id;
    let ticket = match &pending {
        Some(_) => running.enter_unstored(id, held),
        None => running.enter(id, held, suspicion),
    };
    let receipt = Receipt::new(runtime.clone(), delivery);
    let ticket = ticket.with_receipt(receipt.clone());
    let runtime = runtime.clone();
    Some(async move {
        let _slot = slot;
        let _busy = runtime.metrics.workers.pass_here(&claimed.state);
        if planted::has(Bug::AckBeforeCommit) {
            receipt.acknowledge().await;
        }
        let pass = AssertUnwindSafe(pass::run(runtime.clone(), claimed, ticket, pending));
        let end = pass.catch_unwind().await;
        match end.unwrap_or_else(|panic| panicked(id, &*panic)) {
            PassEnd::Committed(dispatch) => {
                if let Some(dispatch) = dispatch {
                    runtime.publish(dispatch).await;
                }
                receipt.acknowledge().await;
            }
            PassEnd::NotStarted => {}
            PassEnd::Abandoned => {
                runtime.metrics.workers.leases_lost.increment();
                tracing::warn!(execution_id = %id, "pass abandoned; the execution will be taken up again");
                // The present holder of the lease, or the reaper, owns its recovery.
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
    runtime: Runtime,
    delivery: Arc<Mutex<Option<Delivery>>>,
}

impl Receipt {
    pub(crate) fn new(runtime: Runtime, delivery: Option<Delivery>) -> Self {
        Self {
            runtime,
            delivery: Arc::new(Mutex::new(delivery)),
        }
    }

    pub(crate) async fn acknowledge(&self) {
        let delivery = lock(&self.delivery).take();
        acknowledge(&self.runtime, delivery.as_ref()).await;
    }
}

pub(crate) async fn acknowledge(runtime: &Runtime, delivery: Option<&Delivery>) {
    if let Some(delivery) = delivery
        && let Err(error) = runtime.queue.acknowledge(delivery.tag).await
    {
        let id = delivery.message.execution_id;
        tracing::debug!(execution_id = %id, %error, "not acknowledged; the message will come back and be recognised");
    }
}
