//! The executions in this worker's hands: how long their leases last, how long their node may take, and the way
//! to tell a pass that it must stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pawl_kernel::execution::Lease;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::Beat;
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Next;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use uuid::Uuid;

use crate::slot_pool::Receipt;
use crate::sync::lock;

/// Why a node in flight must be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// A person stopped the execution.
    Stop,
    /// The lease ran out or was taken.
    LeaseLost,
}

#[derive(Default)]
pub(crate) struct RunningPasses {
    entries: Mutex<BTreeMap<ExecutionId, RunningEntry>>,
    shutting_down: AtomicBool,
    /// Something was entered: the heartbeat has work again.
    pub(crate) entered: Notify,
    doubtful: Mutex<Vec<ExecutionId>>,
    doubted: Notify,
    /// Something was left, at a time when the shutdown waits for all to leave.
    left: Notify,
}

struct RunningEntry {
    token: Uuid,
    lease_until: Timestamp,
    /// The lease is renewed only while the node is within its time: a hung node must be found. `None`: the lease is not in
    /// the store yet. One that no other worker can see can be neither renewed nor lost.
    renew_until: Option<Timestamp>,
    alarm: Arc<Alarm>,
}

/// Tells a pass that it must stop.
#[derive(Default)]
struct Alarm {
    reason: Mutex<Option<Interruption>>,
    bell: Notify,
}

impl Alarm {
    fn raise(&self, reason: Interruption) {
        lock(&self.reason).get_or_insert(reason);
        self.bell.notify_waiters();
    }

    fn reason(&self) -> Option<Interruption> {
        *lock(&self.reason)
    }

    async fn raised(&self) -> Interruption {
        loop {
            // Made before the look, so that what happens after it is heard.
            let rung = self.bell.notified();
            if let Some(reason) = self.reason() {
                return reason;
            }
            rung.await;
        }
    }
}

impl RunningEntry {
    fn is_stored(&self) -> bool {
        self.renew_until.is_some()
    }
}

impl Drop for RunningEntry {
    /// Another claim of the same execution by this worker may have taken its place.
    fn drop(&mut self) {
        self.alarm.raise(Interruption::LeaseLost);
    }
}

impl RunningPasses {
    /// `suspicion`: the worker's one place for executions that may kill it, until the first commit.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: ExecutionId,
        lease: &Lease,
        suspicion: Option<OwnedSemaphorePermit>,
    ) -> Ticket {
        self.insert(id, lease, Some(lease.until), suspicion)
    }

    /// One whose lease is still to be written: [`Ticket::lease_stored`].
    pub(crate) fn enter_unstored(self: &Arc<Self>, id: ExecutionId, lease: &Lease) -> Ticket {
        self.insert(id, lease, None, None)
    }

    fn insert(
        self: &Arc<Self>,
        id: ExecutionId,
        lease: &Lease,
        renew_until: Option<Timestamp>,
        suspicion: Option<OwnedSemaphorePermit>,
    ) -> Ticket {
        let alarm = Arc::<Alarm>::default();
        let entry = RunningEntry {
            token: lease.token,
            lease_until: lease.until,
            renew_until,
            alarm: alarm.clone(),
        };
        lock(&self.entries).insert(id, entry);
        self.entered.notify_one();
        Ticket {
            place: Arc::new(Place {
                running: self.clone(),
                id,
                token: lease.token,
                suspicion: Mutex::new(suspicion),
            }),
            alarm,
            receipt: None,
        }
    }

    pub(crate) fn begin_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }

    /// Hears of one that leaves after this was called.
    pub(crate) fn left(&self) -> impl Future<Output = ()> {
        self.left.notified()
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.entries).is_empty()
    }

    /// The leases to renew now.
    pub(crate) fn to_renew(&self, now: Timestamp) -> Vec<(ExecutionId, Uuid)> {
        let entries = lock(&self.entries);
        entries
            .iter()
            .filter(|(_, entry)| entry.renew_until > Some(now))
            .map(|(id, entry)| (*id, entry.token))
            .collect()
    }

    /// All leases held, for the release at shutdown.
    pub(crate) fn held(&self) -> Vec<(ExecutionId, Uuid)> {
        lock(&self.entries)
            .iter()
            .map(|(id, entry)| (*id, entry.token))
            .collect()
    }

    /// Takes in what a heartbeat brought back for the leases it asked for.
    pub(crate) fn renewed(&self, asked: &[(ExecutionId, Uuid)], beats: &[Beat]) {
        let mut entries = lock(&self.entries);
        for (id, token) in asked {
            let Some(entry) = entries.get_mut(id).filter(|entry| entry.token == *token) else {
                continue;
            };
            match beats
                .iter()
                .find(|beat| beat.execution_id == *id && beat.token == *token)
            {
                Some(beat) if beat.stop_requested => entry.alarm.raise(Interruption::Stop),
                Some(beat) => entry.lease_until = entry.lease_until.max(beat.until),
                None => entry.alarm.raise(Interruption::LeaseLost),
            }
        }
    }

    /// Drops nodes whose lease is about to end by our own clock.
    pub(crate) fn abandon_expired(&self, limit: Timestamp) {
        for entry in lock(&self.entries)
            .values()
            .filter(|entry| entry.is_stored() && entry.lease_until <= limit)
        {
            entry.alarm.raise(Interruption::LeaseLost);
        }
    }

    /// When the first lease is to be given up, if it is not renewed before.
    pub(crate) fn first_expiry(&self) -> Option<Timestamp> {
        let entries = lock(&self.entries);
        let open = entries
            .values()
            .filter(|entry| entry.is_stored() && entry.alarm.reason().is_none());
        open.map(|entry| entry.lease_until).min()
    }

    /// A caller or a hint says that this execution was stopped. That is a word; the store knows whether it is so.
    pub(crate) fn stop(&self, id: ExecutionId) {
        if lock(&self.entries).contains_key(&id) {
            lock(&self.doubtful).push(id);
            self.doubted.notify_one();
        }
    }

    /// The leases of executions that may have been stopped.
    pub(crate) async fn doubtful(&self, now: impl Fn() -> Timestamp) -> Vec<(ExecutionId, Uuid)> {
        loop {
            let ids = std::mem::take(&mut *lock(&self.doubtful));
            let held = self.to_renew(now());
            let leases: Vec<_> = held
                .into_iter()
                .filter(|(id, _)| ids.contains(id))
                .collect();
            if !leases.is_empty() {
                return leases;
            }
            self.doubted.notified().await;
        }
    }
}

/// A pass's side of its entry; the last one to be dropped removes it.
#[derive(Clone)]
pub(crate) struct Ticket {
    place: Arc<Place>,
    alarm: Arc<Alarm>,
    receipt: Option<Receipt>,
}

struct Place {
    running: Arc<RunningPasses>,
    id: ExecutionId,
    token: Uuid,
    suspicion: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Ticket {
    /// The message this pass came from.
    pub(crate) fn with_receipt(mut self, receipt: Receipt) -> Self {
        self.receipt = Some(receipt);
        self
    }

    /// A broker takes a message back that is held for too long. The lease is committed: from here on the reaper owns
    /// the recovery, not the message.
    pub(crate) async fn acknowledge_early(&self) {
        if let Some(receipt) = &self.receipt {
            receipt.acknowledge().await;
        }
    }

    /// Waits until the pass must stop.
    pub(crate) async fn interrupted(&self) -> Interruption {
        self.alarm.raised().await
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.place.running.shutting_down.load(Ordering::Relaxed)
    }

    pub(crate) fn lease_until(&self) -> Timestamp {
        self.with_entry(|entry| entry.lease_until)
            .unwrap_or_default()
    }

    /// The node now running may take until `deadline`; its lease is renewed until a little after.
    pub(crate) fn node_entered(&self, deadline: Timestamp) {
        const ALLOWANCE: std::time::Duration = std::time::Duration::from_secs(5);
        self.with_entry(|entry| entry.renew_until = Some(deadline.plus(ALLOWANCE)));
    }

    /// A commit went through: whatever killed workers before, this execution is past it.
    pub(crate) fn cleared(&self) {
        lock(&self.place.suspicion).take();
    }

    /// The lease is in the store, for this long.
    pub(crate) fn lease_stored(&self, until: Timestamp) {
        self.with_entry(|entry| {
            entry.lease_until = entry.lease_until.max(until);
            entry.renew_until = Some(entry.lease_until);
        });
    }

    /// A commit renewed the lease.
    pub(crate) fn renewed(&self, next: &Next) {
        if let Next::Continue {
            keep_until: Some(until),
            ..
        } = next
        {
            self.with_entry(|entry| entry.lease_until = entry.lease_until.max(*until));
        }
    }

    fn with_entry<T>(&self, act: impl FnOnce(&mut RunningEntry) -> T) -> Option<T> {
        let mut entries = lock(&self.place.running.entries);
        entries
            .get_mut(&self.place.id)
            .filter(|entry| entry.token == self.place.token)
            .map(act)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut entries = lock(&self.running.entries);
        if entries
            .get(&self.id)
            .is_some_and(|entry| entry.token == self.token)
        {
            entries.remove(&self.id);
        }
        drop(entries);
        if self.running.shutting_down.load(Ordering::Relaxed) {
            self.running.left.notify_waiters();
        }
    }
}
