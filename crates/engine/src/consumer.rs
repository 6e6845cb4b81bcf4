//! Takes messages, claims what they point at, and runs passes: as many at once as there are slots. A message is
//! acknowledged last, so that a crash anywhere before brings it back.
//!
//! No [`crate::service::Service`]: it ticks for nothing, its pace is that of the queue and of the passes, and at a shutdown
//! it finishes what is in flight instead of ending at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use pawl_kernel::id;
use pawl_kernel::lifecycle::{ClaimRequest, Release, Skip};
use pawl_kernel::ports::queue::{Delivery, QueueError};
use pawl_kernel::ports::store::{Claim, ClaimedExecution, StoreError, StoreResult, lease};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::slot_pool::{ClaimedWork, SlotPool, Work, acknowledge, pass_of};

/// Most messages claimed in one statement.
const BATCH: usize = 128;

pub struct Consumer {
    runtime: Runtime,
    running: Arc<RunningPasses>,
    slots: Arc<Semaphore>,
    suspects: Arc<Semaphore>,
    work_sender: mpsc::UnboundedSender<Work>,
    work: mpsc::UnboundedReceiver<Work>,
}

impl Consumer {
    pub(crate) fn new(runtime: Runtime, running: Arc<RunningPasses>) -> Self {
        let (work_sender, work) = mpsc::unbounded_channel();
        let slots = Arc::new(Semaphore::new(runtime.options.slots));
        Self {
            runtime,
            running,
            slots,
            suspects: Arc::new(Semaphore::new(1)),
            work_sender,
            work,
        }
    }

    pub(crate) fn slot_pool(&self) -> SlotPool {
        SlotPool {
            runtime: self.runtime.clone(),
            running: self.running.clone(),
            slots: self.slots.clone(),
            work: self.work_sender.clone(),
        }
    }

    /// Runs until `stop`, then finishes what is in flight. Dropping the future drops the passes where they are,
    /// but for those that the callers of starts still run.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let slots = self.runtime.options.slots;
        let _here = self.runtime.metrics.workers.worker_here(slots);
        let mut passes = JoinSet::new();
        let (line, in_line) = mpsc::unbounded_channel();
        let intake = Intake {
            runtime: self.runtime.clone(),
            slots: self.slots.clone(),
            suspects: self.suspects.clone(),
            line,
            work: self.work_sender.clone(),
            stop: stop.clone(),
        };
        // With wakers of their own: most of what wakes this loop is none of their business.
        let mut intakes = FuturesUnordered::new();
        intakes.push(intake.run().boxed());
        intakes.push(intake.admit_suspects(in_line).boxed());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(work) = self.work.recv() => self.start(&mut passes, work),
                Some(ended) = passes.join_next(), if !passes.is_empty() => report(ended),
                // A queue that closes before the word to stop comes ends the intake first.
                Some(()) = intakes.next() => break,
            }
        }
        self.running.begin_shutdown();
        self.slots.close();
        self.suspects.close();
        if stop.is_cancelled() {
            // A claim under way is finished, so that what it took can be given back.
            loop {
                tokio::select! {
                    ended = intakes.next() => match ended {
                        Some(()) => {}
                        None => break,
                    },
                    Some(work) = self.work.recv() => self.settle(&mut passes, work).await,
                }
            }
        }
        self.drain(passes).await;
    }

    fn start(&self, passes: &mut JoinSet<()>, work: Work) {
        match work {
            Work::Claimed(work) => {
                if let Some(pass) = pass_of(&self.runtime, &self.running, *work, None) {
                    passes.spawn(pass);
                }
            }
            Work::Inline(pass) => {
                passes.spawn(pass);
            }
        }
    }

    /// What has not begun is given back.
    async fn settle(&self, passes: &mut JoinSet<()>, work: Work) {
        match work {
            Work::Claimed(work) => give_back(&self.runtime, *work).await,
            begun @ Work::Inline(_) => self.start(passes, begun),
        }
    }

    /// What has begun, here or with the caller of a start, may end within the grace time.
    async fn drain(&mut self, mut passes: JoinSet<()>) {
        let deadline = self.runtime.now().plus(self.runtime.options.grace);
        let running = self.running.clone();
        loop {
            let left = running.left();
            if passes.is_empty() && running.is_empty() && self.work.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                Some(work) = self.work.recv() => self.settle(&mut passes, work).await,
                Some(ended) = passes.join_next(), if !passes.is_empty() => report(ended),
                () = left => {}
                () = self.runtime.clock.sleep_until(deadline) => break,
            }
        }
        // Asked for first: an aborted pass takes its entry with it.
        let held = self.running.held();
        passes.abort_all();
        for (id, _) in &held {
            tracing::warn!(execution_id = %id, "its node still ran at the end of the grace time");
        }
        // Their effects may have happened: the next to run them must know.
        match self
            .runtime
            .store
            .release(held, Release::Begun, self.runtime.now())
            .await
        {
            // Some of their messages were acknowledged early; for the others one message more does no harm.
            Ok(dispatches) => self.runtime.publisher.publish_all(dispatches).await,
            Err(error) => tracing::warn!(%error, "leases not given back; they will run out"),
        }
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a worker's task panicked");
    }
}

async fn give_back(runtime: &Runtime, work: ClaimedWork) {
    let token = work.claimed.state.lease.as_ref().map(|lease| lease.token);
    let Some(token) = token else { return };
    let lease = vec![(work.claimed.execution.head.id, token)];
    // An error means that the lease will run out. Either way its message, which was not acknowledged, comes back.
    let _ = runtime
        .store
        .release(lease, Release::Unbegun, runtime.now())
        .await;
}

/// Receives and claims; hands what it took to the consumer.
struct Intake {
    runtime: Runtime,
    slots: Arc<Semaphore>,
    suspects: Arc<Semaphore>,
    /// Suspects that wait for their place.
    line: mpsc::UnboundedSender<Delivery>,
    work: mpsc::UnboundedSender<Work>,
    stop: CancellationToken,
}

impl Intake {
    async fn run(&self) {
        while !self.stop.is_cancelled() {
            let Ok(first) = self.slots.clone().acquire_owned().await else {
                return;
            };
            let free = self.slots.available_permits().min(BATCH - 1);
            let received = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                received = self.receive(free + 1) => received,
            };
            let deliveries = match received {
                Ok(deliveries) => deliveries,
                Err(QueueError::Closed) => return,
                Err(error) => {
                    self.runtime.metrics.queue.silent();
                    tracing::warn!(%error, "cannot receive");
                    self.pause().await;
                    continue;
                }
            };
            let mut slots = vec![first];
            for _ in 1..deliveries.len() {
                let Ok(slot) = self.slots.clone().acquire_owned().await else {
                    return;
                };
                slots.push(slot);
            }
            self.take(deliveries, slots).await;
        }
    }

    /// Slots are free and nothing comes: then no message waits, however long the last one had waited.
    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        let mut receiving = std::pin::pin!(self.runtime.queue.receive(max));
        let empty_at = self
            .runtime
            .now()
            .plus(self.runtime.options.sweep_after / 5);
        tokio::select! {
            biased;
            received = &mut receiving => return received,
            () = self.runtime.clock.sleep_until(empty_at) => {}
        }
        self.runtime.hints.backlog.nothing_waits();
        receiving.await
    }

    async fn take(&self, deliveries: Vec<Delivery>, slots: Vec<OwnedSemaphorePermit>) {
        let now = self.runtime.now();
        self.runtime.metrics.queue.received(&deliveries, now);
        // One that comes again was out in between: its age says nothing about the queue.
        let fresh = deliveries.iter().filter(|delivery| !delivery.redelivered);
        let ages = fresh.map(|delivery| {
            let message = &delivery.message;
            (message.priority, now.since(message.published_at))
        });
        self.runtime.hints.messages_received(ages, now);
        let requests: Vec<ClaimRequest> = deliveries
            .iter()
            .map(|delivery| self.request(delivery, false))
            .collect();
        match self.claim(requests).await {
            Ok(claims) => {
                for ((delivery, slot), claim) in deliveries.into_iter().zip(slots).zip(claims) {
                    self.sort_out(delivery, slot, claim).await;
                }
            }
            Err(StoreError::Rejected(_) | StoreError::Corrupt(_)) => {
                self.take_one_by_one(deliveries, slots).await;
            }
            Err(_) => self.put_back(deliveries).await,
        }
    }

    /// One row cannot be read: the others must not suffer for it.
    async fn take_one_by_one(&self, deliveries: Vec<Delivery>, slots: Vec<OwnedSemaphorePermit>) {
        for (delivery, slot) in deliveries.into_iter().zip(slots) {
            match self.claim(vec![self.request(&delivery, false)]).await {
                Ok(mut claims) => match claims.pop() {
                    Some(claim) => self.sort_out(delivery, slot, claim).await,
                    None => acknowledge(&self.runtime, Some(&delivery)).await,
                },
                Err(StoreError::Rejected(reason) | StoreError::Corrupt(reason)) => {
                    let id = delivery.message.execution_id;
                    tracing::error!(execution_id = %id, reason, "this execution cannot be read and is left alone");
                    acknowledge(&self.runtime, Some(&delivery)).await;
                }
                Err(_) => self.put_back(vec![delivery]).await,
            }
        }
    }

    /// Claims; a claim that failed may have happened all the same, and no execution may wait for an unused lease.
    async fn claim(&self, requests: Vec<ClaimRequest>) -> StoreResult<Vec<Claim>> {
        let leases: Vec<_> = requests
            .iter()
            .map(|request| (request.execution_id, request.lease.token))
            .collect();
        let claimed = self.runtime.store.claim(requests, self.runtime.now()).await;
        self.runtime
            .metrics
            .claimed(claimed.as_deref().unwrap_or_default());
        if let Err(error) = &claimed {
            tracing::warn!(%error, "cannot claim");
            self.pause().await;
            let _ = self
                .runtime
                .store
                .release(leases, Release::Unbegun, self.runtime.now())
                .await;
        }
        claimed
    }

    async fn put_back(&self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            let _ = self.runtime.queue.reject(delivery.tag).await;
        }
    }

    async fn sort_out(&self, delivery: Delivery, slot: OwnedSemaphorePermit, claim: Claim) {
        match claim {
            Claim::Taken(claimed) => self.hand_on(claimed, delivery, slot, None),
            Claim::Ended(applied) => {
                self.runtime
                    .announce(delivery.message.execution_id, &applied);
                acknowledge(&self.runtime, Some(&delivery)).await;
            }
            Claim::Skipped(Skip::Suspect) => self.take_suspect(delivery, slot).await,
            Claim::Skipped(Skip::Busy) => {
                tracing::warn!(
                    execution_id = %delivery.message.execution_id,
                    "another transaction has locked the row of this execution; it is offered again later"
                );
                acknowledge(&self.runtime, Some(&delivery)).await;
            }
            Claim::Skipped(reason) => {
                tracing::trace!(execution_id = %delivery.message.execution_id, ?reason, "nothing to do");
                acknowledge(&self.runtime, Some(&delivery)).await;
            }
        }
    }

    fn hand_on(
        &self,
        claimed: Box<ClaimedExecution>,
        delivery: Delivery,
        slot: OwnedSemaphorePermit,
        suspect: Option<OwnedSemaphorePermit>,
    ) {
        let work = ClaimedWork {
            claimed,
            delivery: Some(delivery),
            slot,
            suspicion: suspect,
        };
        // An error means that the worker is shutting down; the unacknowledged message comes back.
        let _ = self.work.send(Work::Claimed(work.into()));
    }

    /// One suspect at a time, so that what kills workers does not drag others along. The others stand in line: a
    /// process that died twice makes suspects of everything it was running, and nearly all of it is innocent.
    async fn take_suspect(&self, delivery: Delivery, slot: OwnedSemaphorePermit) {
        match self.suspects.clone().try_acquire_owned() {
            Ok(place) => self.claim_suspect(delivery, slot, place).await,
            // An error means that the worker is shutting down; the unacknowledged message comes back.
            Err(_) => drop(self.line.send(delivery)),
        }
    }

    async fn admit_suspects(&self, mut line: mpsc::UnboundedReceiver<Delivery>) {
        loop {
            let delivery = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                delivery = line.recv() => delivery,
            };
            let Some(delivery) = delivery else { return };
            let Ok(place) = self.suspects.clone().acquire_owned().await else {
                return;
            };
            let Ok(slot) = self.slots.clone().acquire_owned().await else {
                return;
            };
            self.claim_suspect(delivery, slot, place).await;
        }
    }

    async fn claim_suspect(
        &self,
        delivery: Delivery,
        slot: OwnedSemaphorePermit,
        place: OwnedSemaphorePermit,
    ) {
        match self
            .claim(vec![self.request(&delivery, true)])
            .await
            .map(|mut claims| claims.pop())
        {
            Ok(Some(Claim::Taken(claimed))) => self.hand_on(claimed, delivery, slot, Some(place)),
            Ok(Some(Claim::Ended(applied))) => {
                self.runtime
                    .announce(delivery.message.execution_id, &applied);
                acknowledge(&self.runtime, Some(&delivery)).await;
            }
            Ok(_) => acknowledge(&self.runtime, Some(&delivery)).await,
            Err(_) => self.put_back(vec![delivery]).await,
        }
    }

    fn request(&self, delivery: &Delivery, allow_suspect: bool) -> ClaimRequest {
        let options = &self.runtime.options;
        ClaimRequest {
            execution_id: delivery.message.execution_id,
            message_seq: Some(delivery.message.seq),
            redelivered: delivery.redelivered,
            lease: lease(
                &options.worker_id,
                id::random(&*self.runtime.entropy),
                self.runtime.now().plus(options.lease),
            ),
            allow_suspect,
            max_recoveries: options.max_recoveries,
        }
    }

    async fn pause(&self) {
        self.runtime
            .clock
            .sleep_until(self.runtime.now().plus(Duration::from_millis(500)))
            .await;
    }
}
