//! The consuming connection: one channel and one consumer per class, so that a deep queue of one never hides another.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{SelectAll, Stream, select_all};
use futures_util::{FutureExt, StreamExt};
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use pawl_kernel::time::Clock;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::dead_letter_sender::DeadLetterSender;
use crate::error::{BrokerError, plain};
use crate::external::ExternalStart;
use crate::inbox::Inbox;
use crate::link::{Link, News};
use crate::settle::{BATCH, Books, DeliveryClaim, Settlement, Settlements};
use crate::supervisor::{Ready, Session};
use crate::topology::{CLASSES, Topology};
use crate::wire::{Rules, Wish};

/// Deliveries looked at in one go.
const ROUND: usize = 256;

/// From which channel, and what: a delivery, or the end of its consumer.
type ClassDelivery = (usize, Option<lapin::Result<Delivery>>);

pub(crate) type Deliveries = SelectAll<Pin<Box<dyn Stream<Item = ClassDelivery> + Send>>>;

pub(crate) struct ConsumerTask {
    pub(crate) topology: Topology,
    pub(crate) slots: u16,
    pub(crate) rules: Rules,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) externals: mpsc::Sender<ExternalStart>,
    pub(crate) dead_letters: DeadLetterSender,
    pub(crate) clock: Arc<dyn Clock>,
    /// Take nothing more, but let what is held be settled.
    pub(crate) rest: CancellationToken,
    pub(crate) stop: CancellationToken,
}

#[async_trait]
impl Session for ConsumerTask {
    async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError> {
        if self.rest.is_cancelled() {
            // What was held went back with the old connection.
            link.close().await;
            return Ok(());
        }
        self.topology.declare(link).await?;
        let mut channels = Vec::new();
        let mut consumers = Vec::new();
        for (index, class) in CLASSES.into_iter().enumerate() {
            let channel = link.channel().await?;
            let queue = self.topology.work_queue(class);
            let consumer = consume(link, &channel, (&queue, class.name()), self.slots).await?;
            consumers.push((index, consumer));
            channels.push(channel);
        }
        let mut books = Books::new(link, channels);
        let mut deliveries = merge(consumers);
        let (settlements, settled) = mpsc::unbounded_channel();
        self.inbox.begin(settlements.clone());
        ready.mark(link);
        let end = self
            .work(link, &mut books, &mut deliveries, (settlements, settled))
            .await;
        self.inbox.end();
        if end.is_ok() {
            link.close().await;
        }
        end
    }

    fn ended(&mut self, _why: &str) {
        self.inbox.end();
    }
}

impl ConsumerTask {
    async fn work(
        &self,
        link: &Link,
        books: &mut Books,
        deliveries: &mut Deliveries,
        (settlements, mut settled): (Settlements, mpsc::UnboundedReceiver<Settlement>),
    ) -> Result<(), BrokerError> {
        let mut listener = link.listen();
        let mut batch = Vec::with_capacity(BATCH);
        let mut resting = false;
        loop {
            tokio::select! {
                biased;
                () = self.rest.cancelled(), if !resting => {
                    resting = true;
                    self.inbox.rest();
                    cancel(link, books).await?;
                }
                news = listener.news() => if let News::Lost(reason) = news {
                    return Err(lost(reason));
                },
                _ = settled.recv_many(&mut batch, BATCH) => books.settle(&mut batch).await?,
                Some(first) = deliveries.next() => {
                    self.take(books, &settlements, first, resting)?;
                    for _ in 1..ROUND {
                        let Some(more) = deliveries.next().now_or_never().flatten() else { break };
                        self.take(books, &settlements, more, resting)?;
                    }
                }
                // Last: the broker knows by now of everything that was settled before the stop.
                () = self.stop.cancelled() => return Ok(()),
            }
        }
    }

    fn take(
        &self,
        books: &mut Books,
        settlements: &Settlements,
        (class, delivery): ClassDelivery,
        resting: bool,
    ) -> Result<(), BrokerError> {
        match delivery {
            Some(Ok(delivery)) => {
                books.received(class, delivery.delivery_tag);
                let claimed = DeliveryClaim::new(class, delivery.delivery_tag, settlements.clone());
                self.sort(class, delivery, claimed);
                Ok(())
            }
            Some(Err(error)) => Err(lost(plain(&error))),
            None if resting => Ok(()),
            None => Err(BrokerError::Lost {
                what: "receive".into(),
                reason: format!(
                    "the broker ended the consumption of queue `{}`, as it does when the queue is deleted",
                    self.topology.work_queue(CLASSES[class])
                ),
            }),
        }
    }

    fn sort(&self, class: usize, delivery: Delivery, claimed: DeliveryClaim) {
        let priority = CLASSES[class];
        let now = self.clock.now();
        let defect = match self.rules.decode(&delivery.data, priority, now) {
            Ok(Wish::Look(message)) => {
                let tag = claimed.hand_over();
                return self.inbox.put(message, delivery.redelivered, tag);
            }
            Ok(Wish::Start) => None,
            Err(defect) => Some(defect.reason().to_owned()),
        };
        let wants_answer = delivery.properties.reply_to().is_some();
        match defect {
            // Those who wait for an answer get one, if this installation talks to them at all.
            Some(reason) if !(self.rules.accept_external && wants_answer) => {
                tracing::warn!(
                    reason,
                    class = priority.name(),
                    "a message goes to the dead letters"
                );
                self.dead_letters
                    .bury(claimed, delivery.data, priority, &reason);
            }
            defect => {
                let offers = self.externals.downgrade();
                let dead_letters = self.dead_letters.clone();
                self.offer(ExternalStart::new(
                    (priority, delivery),
                    defect,
                    claimed,
                    dead_letters,
                    offers,
                ));
            }
        }
    }

    /// There is always room for as many as the broker hands out; without a taker they come again later.
    fn offer(&self, start: ExternalStart) {
        match self.externals.try_send(start) {
            Ok(()) => {}
            Err(
                mpsc::error::TrySendError::Full(start) | mpsc::error::TrySendError::Closed(start),
            ) => {
                tracing::warn!("no receiver takes the starts of other programs");
                start.give_back();
            }
        }
    }
}

pub(crate) fn lost(reason: String) -> BrokerError {
    BrokerError::Lost {
        what: "receive".into(),
        reason,
    }
}

/// Each stream ends with `None`, which a merged stream would otherwise hide.
pub(crate) fn merge(consumers: Vec<(usize, lapin::Consumer)>) -> Deliveries {
    select_all(consumers.into_iter().map(|(index, consumer)| {
        let end = futures_util::stream::once(std::future::ready((index, None)));
        consumer
            .map(move |delivery| (index, Some(delivery)))
            .chain(end)
            .boxed()
    }))
}

/// `name` tells the consumers of a connection apart.
pub(crate) async fn consume(
    link: &Link,
    channel: &Channel,
    (queue, name): (&str, &str),
    prefetch: u16,
) -> Result<lapin::Consumer, BrokerError> {
    // Before consuming: lapin buffers without a limit of its own.
    let qos = channel.basic_qos(prefetch, BasicQosOptions::default());
    link.call("limit the deliveries", qos).await?;
    let consumer = channel.basic_consume(
        queue.into(),
        name.into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    link.call(&format!("consume the queue `{queue}`"), consumer)
        .await
}

async fn cancel(link: &Link, books: &Books) -> Result<(), BrokerError> {
    for (channel, class) in books.channels().zip(CLASSES) {
        let cancelled = channel.basic_cancel(class.name().into(), BasicCancelOptions::default());
        link.call("stop consuming", cancelled).await?;
    }
    Ok(())
}
