//! What the broker has delivered and no worker has taken yet, by class; and what workers hold.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pawl_kernel::ports::queue::{Delivery, Message};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::settle::{Settlement, Settlements, Verdict};
use crate::topology::class_index;

/// Messages of high, normal and low priority taken per round, if there are as many. Low ones are never starved.
const WEIGHTS: [u32; 3] = [16, 4, 1];

/// A tag is made of the connection's number, the class and the broker's own tag, so that none is ever given twice.
const CLASS_SHIFT: u32 = 46;
const EPOCH_SHIFT: u32 = 48;

#[derive(Default)]
pub(crate) struct Inbox {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Default)]
struct Inner {
    /// High, normal, low.
    classes: [VecDeque<WaitingMessage>; 3],
    /// What each class may still give in this round.
    credit: [u32; 3],
    /// Tags in the hands of workers.
    held: HashSet<u64>,
    epoch: u64,
    /// To the session of this epoch, if there is one.
    settlements: Option<Settlements>,
    resting: bool,
}

struct WaitingMessage {
    message: Message,
    redelivered: bool,
    tag: u64,
}

/// What there is to have.
#[derive(Debug)]
pub(crate) enum InboxBatch {
    Some(Vec<Delivery>),
    Nothing,
    Closed,
}

impl Inbox {
    /// A connection is ready: what came over earlier ones is forgotten, the broker delivers it again.
    pub(crate) fn begin(&self, settlements: Settlements) {
        let mut inner = self.lock();
        inner.forget();
        inner.epoch += 1;
        inner.settlements = Some(settlements);
    }

    /// The connection is gone.
    pub(crate) fn end(&self) {
        self.lock().forget();
    }

    pub(crate) fn put(&self, message: Message, redelivered: bool, broker_tag: u64) {
        let mut inner = self.lock();
        let class = class_index(message.priority);
        let waiting = WaitingMessage {
            message,
            redelivered,
            tag: inner.tag(class, broker_tag),
        };
        if inner.resting {
            inner.settle(waiting.tag, Verdict::Again);
            return;
        }
        inner.classes[class].push_back(waiting);
        drop(inner);
        self.arrived.notify_one();
    }

    pub(crate) fn take(&self, max: usize) -> InboxBatch {
        let mut inner = self.lock();
        if inner.resting {
            return InboxBatch::Closed;
        }
        let deliveries = inner.take(max.max(1));
        if deliveries.is_empty() {
            return InboxBatch::Nothing;
        }
        if inner.waiting() > 0 {
            // One arrival wakes one receiver; what this one leaves is for the next.
            self.arrived.notify_one();
        }
        InboxBatch::Some(deliveries)
    }

    /// A tag of an earlier connection, or one settled before, is ignored: the broker knows better.
    pub(crate) fn settle(&self, tag: u64, verdict: Verdict) {
        let mut inner = self.lock();
        if inner.held.remove(&tag) {
            inner.settle(tag, verdict);
        }
    }

    /// Hands nothing out any more and gives back what waits; what workers hold can still be settled.
    pub(crate) fn rest(&self) {
        let mut inner = self.lock();
        inner.resting = true;
        for waiting in inner
            .classes
            .each_mut()
            .into_iter()
            .flat_map(std::mem::take)
            .collect::<Vec<_>>()
        {
            inner.settle(waiting.tag, Verdict::Again);
        }
        drop(inner);
        self.arrived.notify_waiters();
    }

    pub(crate) fn arrival(&self) -> Notified<'_> {
        self.arrived.notified()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget(&mut self) {
        self.classes = Default::default();
        self.held.clear();
        self.settlements = None;
    }

    fn tag(&self, class: usize, broker_tag: u64) -> u64 {
        self.epoch << EPOCH_SHIFT | (class as u64) << CLASS_SHIFT | broker_tag
    }

    fn waiting(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    fn settle(&self, tag: u64, verdict: Verdict) {
        if let Some(settlements) = &self.settlements {
            let _ = settlements.send(Settlement {
                channel: (tag >> CLASS_SHIFT & 0b11) as usize,
                tag: tag & ((1 << CLASS_SHIFT) - 1),
                verdict,
            });
        }
    }

    fn take(&mut self, max: usize) -> Vec<Delivery> {
        let mut deliveries = Vec::with_capacity(max.min(self.waiting()));
        while deliveries.len() < max {
            let Some(waiting) = self.pick() else { break };
            self.held.insert(waiting.tag);
            deliveries.push(Delivery {
                message: waiting.message,
                redelivered: waiting.redelivered,
                tag: waiting.tag,
            });
        }
        deliveries
    }

    fn pick(&mut self) -> Option<WaitingMessage> {
        let has_turn =
            |(class, credit): (&VecDeque<WaitingMessage>, &u32)| !class.is_empty() && *credit > 0;
        let turn = |inner: &Self| inner.classes.iter().zip(&inner.credit).position(has_turn);
        let index = turn(self).or_else(|| {
            self.credit = WEIGHTS;
            turn(self)
        })?;
        self.credit[index] -= 1;
        self.classes[index].pop_front()
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::execution::PriorityClass;
    use pawl_kernel::id::{ExecutionId, SchemaId};
    use pawl_kernel::time::Timestamp;
    use tokio::sync::mpsc;
    use uuid::Uuid;

    use super::*;

    fn message(priority: PriorityClass) -> Message {
        Message {
            execution_id: ExecutionId(Uuid::nil()),
            schema_id: SchemaId(Uuid::nil()),
            node_id: "start".into(),
            seq: 0,
            debug_mode: false,
            priority,
            published_at: Timestamp::from_micros(0),
        }
    }

    fn open() -> (Inbox, mpsc::UnboundedReceiver<Settlement>) {
        let (settlements, settled) = mpsc::unbounded_channel();
        let inbox = Inbox::default();
        inbox.begin(settlements);
        (inbox, settled)
    }

    fn taken(inbox: &Inbox, max: usize) -> Vec<Delivery> {
        match inbox.take(max) {
            InboxBatch::Some(deliveries) => deliveries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn classes_share_by_weight() {
        let (inbox, _settled) = open();
        for class in PriorityClass::ALL {
            for tag in 1..=100 {
                inbox.put(message(*class), false, tag);
            }
        }
        let deliveries = taken(&inbox, 42);
        let of = |class| {
            deliveries
                .iter()
                .filter(|one| one.message.priority == class)
                .count()
        };
        let shares = [
            PriorityClass::High,
            PriorityClass::Normal,
            PriorityClass::Low,
        ]
        .map(of);
        assert_eq!(shares, [32, 8, 2]);
    }

    #[test]
    fn tags_lead_back_to_the_channel_and_work_once() {
        let (inbox, mut settled) = open();
        inbox.put(message(PriorityClass::Low), true, 7);
        inbox.put(message(PriorityClass::High), false, 7);
        let deliveries = taken(&inbox, 9);
        assert_ne!(deliveries[0].tag, deliveries[1].tag);
        inbox.settle(deliveries[1].tag, Verdict::Done);
        inbox.settle(deliveries[1].tag, Verdict::Again);
        let expected = Settlement {
            channel: 2,
            tag: 7,
            verdict: Verdict::Done,
        };
        assert_eq!(settled.try_recv(), Ok(expected));
        assert!(settled.try_recv().is_err());
    }

    #[test]
    fn tags_of_an_earlier_connection_are_ignored() {
        let (inbox, _first) = open();
        inbox.put(message(PriorityClass::Normal), false, 1);
        let old = taken(&inbox, 1);
        let (settlements, mut settled) = mpsc::unbounded_channel();
        inbox.end();
        assert!(matches!(inbox.take(1), InboxBatch::Nothing));
        inbox.begin(settlements);
        inbox.put(message(PriorityClass::Normal), true, 1);
        let new = taken(&inbox, 1);
        assert_ne!(old[0].tag, new[0].tag);
        inbox.settle(old[0].tag, Verdict::Done);
        assert!(settled.try_recv().is_err());
        inbox.settle(new[0].tag, Verdict::Done);
        assert!(settled.try_recv().is_ok());
    }

    #[test]
    fn at_rest_what_waits_goes_back_and_what_is_held_can_be_settled() {
        let (inbox, mut settled) = open();
        inbox.put(message(PriorityClass::Normal), false, 1);
        inbox.put(message(PriorityClass::Normal), false, 2);
        let held = taken(&inbox, 1);
        inbox.rest();
        inbox.put(message(PriorityClass::Normal), false, 3);
        inbox.settle(held[0].tag, Verdict::Done);
        let verdicts: Vec<_> = std::iter::from_fn(|| settled.try_recv().ok())
            .map(|settlement| (settlement.tag, settlement.verdict))
            .collect();
        assert_eq!(
            verdicts,
            [(2, Verdict::Again), (3, Verdict::Again), (1, Verdict::Done)]
        );
        assert!(matches!(inbox.take(1), InboxBatch::Closed));
    }
}
