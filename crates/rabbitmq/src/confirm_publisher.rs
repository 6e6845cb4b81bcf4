//! Sends messages on the channels of one connection and sorts out the answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::types::{FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::time::Instant;

use crate::error::{BrokerError, plain};
use crate::flights::{Destination, Flights, Order};
use crate::link::Link;
use crate::outcome::Outcome;
use crate::topology::{CLASSES, Topology, insert_text};

pub(crate) const PERSISTENT: u8 = 2;
/// Why we gave a message up, on its copy among the dead letters.
pub(crate) const REASON_HEADER: &str = "x-pawl-reason";
/// The queue that the dead letter was taken from.
pub(crate) const QUEUE_HEADER: &str = "x-pawl-queue";

/// Answers looked at in one go.
const ROUND: usize = 256;

/// The dead letters' channel comes after those of the classes.
const DEAD_LETTERS: usize = CLASSES.len();

pub(crate) enum PublisherEvent {
    Answer(u64, Answer),
    /// All answers that were there when the fence was put up have been looked at: the oldest so many confirmations are
    /// certain.
    Fence(usize),
    /// The topology has been declared anew.
    Mended(Result<(), BrokerError>),
}

/// What lapin says about one message.
pub(crate) enum Answer {
    Confirmed,
    /// Confirmed with a return, its own or another's.
    Returned(Box<BasicReturnMessage>),
    Refused(Option<Box<BasicReturnMessage>>),
    NotRequested,
    Failed(lapin::Error),
}

impl From<lapin::Result<Confirmation>> for Answer {
    fn from(answer: lapin::Result<Confirmation>) -> Self {
        match answer {
            Ok(Confirmation::Ack(None)) => Self::Confirmed,
            Ok(Confirmation::Ack(Some(returned))) => Self::Returned(Box::new(returned)),
            Ok(Confirmation::Nack(returned)) => Self::Refused(returned.map(Box::new)),
            Ok(Confirmation::NotRequested) => Self::NotRequested,
            Err(error) => Self::Failed(error),
        }
    }
}

pub(crate) struct ConfirmPublisher {
    link: Arc<Link>,
    topology: Topology,
    /// One per class, so that a missing queue confuses the answers of no other, and one for dead letters.
    channels: Vec<Channel>,
    exchanges: Vec<ShortString>,
    routing_keys: Vec<ShortString>,
    sender: String,
    flights: Flights,
    /// Ready ones come out in the order in which they became ready; the fence relies on it.
    pending: FuturesUnordered<BoxFuture<'static, PublisherEvent>>,
    fenced: bool,
    /// Unroutable at the first try; sent again once the topology is declared anew.
    unrouted: Vec<Order>,
    /// The broker takes nothing for now, and lapin would keep what it is given until it does.
    blocked: Option<Outcome>,
}

impl ConfirmPublisher {
    pub(crate) async fn open(
        link: &Arc<Link>,
        topology: &Topology,
        sender: &str,
    ) -> Result<Self, BrokerError> {
        let mut desk = Self {
            link: link.clone(),
            topology: topology.clone(),
            channels: Vec::new(),
            exchanges: vec![ShortString::default(); CLASSES.len()],
            routing_keys: Vec::new(),
            sender: sender.to_owned(),
            flights: Flights::default(),
            pending: FuturesUnordered::new(),
            fenced: false,
            unrouted: Vec::new(),
            blocked: None,
        };
        for class in CLASSES {
            desk.channels.push(link.confirming_channel().await?);
            desk.routing_keys.push(topology.work_queue(class).into());
        }
        desk.channels.push(link.confirming_channel().await?);
        desk.exchanges.push(topology.dead_letter_exchange().into());
        desk.routing_keys.push(ShortString::default());
        Ok(desk)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.flights.len() + self.unrouted.len()
    }

    pub(crate) fn send(&mut self, order: Order, second_try: bool, now: Instant) {
        if let Some(outcome) = &self.blocked {
            let _ = order.reply.send(outcome.clone());
            return;
        }
        let body = order.body.clone();
        let (index, headers) = match &order.destination {
            Destination::Work(class) => (*class, None),
            Destination::DeadLetters { reason, queue } => {
                (DEAD_LETTERS, Some(burial_headers(reason, queue)))
            }
        };
        let number = self.flights.depart(order, second_try, now);
        let mut properties = BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_content_type("application/json".into())
            .with_message_id(format!("{}-{number}", self.sender).into());
        if let Some(headers) = headers {
            properties = properties.with_headers(headers);
        }
        let channel = self.channels[index].clone();
        let (exchange, routing_key) = (
            self.exchanges[index].clone(),
            self.routing_keys[index].clone(),
        );
        self.pending.push(
            async move {
                let sent = transmit(&channel, exchange, routing_key, &body, properties).await;
                PublisherEvent::Answer(number, sent.into())
            }
            .boxed(),
        );
    }

    pub(crate) async fn next_event(&mut self) -> Option<PublisherEvent> {
        self.pending.next().await
    }

    /// Deals with `first` and whatever else is there. An error means that the connection is to be rebuilt.
    pub(crate) fn arrived(&mut self, first: PublisherEvent) -> Result<(), BrokerError> {
        let now = Instant::now();
        self.sort(first, now)?;
        for _ in 1..ROUND {
            match self.pending.next().now_or_never() {
                Some(Some(arrival)) => self.sort(arrival, now)?,
                _ => break,
            }
        }
        Ok(())
    }

    fn sort(&mut self, arrival: PublisherEvent, now: Instant) -> Result<(), BrokerError> {
        match arrival {
            PublisherEvent::Answer(number, answer) => self.answered(number, answer, now),
            PublisherEvent::Fence(count) => {
                self.fenced = false;
                let unrouted = self.flights.settle_confirmed(count);
                self.redeclare_and_resend(unrouted);
                self.fence();
                Ok(())
            }
            PublisherEvent::Mended(mended) => self.mended(mended, now),
        }
    }

    fn answered(&mut self, number: u64, answer: Answer, now: Instant) -> Result<(), BrokerError> {
        match answer {
            Answer::Confirmed => {
                self.flights.confirmed(number, now);
                self.fence();
            }
            Answer::Returned(returned) => {
                let why = self.note_return(&returned);
                let unrouted = self.flights.carries_return(number, &why, now);
                self.redeclare_and_resend(unrouted);
            }
            Answer::Refused(returned) => {
                if let Some(returned) = returned {
                    self.note_return(&returned);
                }
                self.flights.refused(number, now);
            }
            Answer::NotRequested => {
                self.flights.land(number, Outcome::NotRequested);
                return Err(BrokerError::Lost {
                    what: "publish".into(),
                    reason: Outcome::NotRequested.to_string(),
                });
            }
            Answer::Failed(error) => {
                self.flights.land(number, Outcome::Lost(plain(&error)));
                return Err(BrokerError::calling("publish", &error));
            }
        }
        Ok(())
    }

    /// Marks the message that was returned, whichever message's confirmation it came with.
    fn note_return(&mut self, returned: &BasicReturnMessage) -> String {
        let id = returned.delivery.properties.message_id();
        let number = id.as_ref().and_then(|id| {
            let (sender, number) = id.as_str().rsplit_once('-')?;
            (sender == self.sender).then(|| number.parse().ok())?
        });
        if let Some(number) = number {
            self.flights.returned(number);
        }
        format!(
            "{} ({})",
            returned.reply_text,
            self.described(&returned.delivery.routing_key)
        )
    }

    fn described(&self, routing_key: &ShortString) -> String {
        if routing_key.as_str().is_empty() {
            return format!("exchange `{}`", self.topology.dead_letter_exchange());
        }
        format!("queue `{routing_key}`")
    }

    fn fence(&mut self) {
        let count = self.flights.uncertain();
        if count > 0 && !self.fenced {
            self.fenced = true;
            self.pending
                .push(async move { PublisherEvent::Fence(count) }.boxed());
        }
    }

    /// A queue must have been deleted: declare everything again, then send these once more.
    fn redeclare_and_resend(&mut self, unrouted: impl IntoIterator<Item = Order>) {
        let idle = self.unrouted.is_empty();
        self.unrouted.extend(unrouted);
        if !idle || self.unrouted.is_empty() {
            return;
        }
        tracing::warn!("the broker could not route a message; declaring the queues again");
        let (link, topology) = (self.link.clone(), self.topology.clone());
        self.pending
            .push(async move { PublisherEvent::Mended(topology.declare(&link).await) }.boxed());
    }

    fn mended(&mut self, mended: Result<(), BrokerError>, now: Instant) -> Result<(), BrokerError> {
        let unrouted = std::mem::take(&mut self.unrouted);
        if let Err(error) = mended {
            for order in unrouted {
                let _ = order.reply.send(Outcome::Unroutable(error.to_string()));
            }
            return Err(error);
        }
        for order in unrouted {
            self.send(order, true, now);
        }
        Ok(())
    }

    /// Ends what has waited too long. An error if no message was answered meanwhile.
    pub(crate) fn expire(&mut self, limit: Duration) -> Result<(), BrokerError> {
        if self.flights.expire(limit, Instant::now()) {
            return Err(BrokerError::Timeout {
                what: "publish".into(),
                after: limit,
            });
        }
        Ok(())
    }

    /// Nothing that is under way will be answered before the broker takes messages again.
    pub(crate) fn block(&mut self, reason: String) {
        let outcome = Outcome::Blocked(reason);
        self.abandon(&outcome);
        self.blocked = Some(outcome);
    }

    pub(crate) fn unblock(&mut self) {
        self.blocked = None;
    }

    pub(crate) fn abandon(&mut self, outcome: &Outcome) {
        self.flights.abandon(outcome);
        for order in self.unrouted.drain(..) {
            let _ = order.reply.send(outcome.clone());
        }
    }
}

async fn transmit(
    channel: &Channel,
    exchange: ShortString,
    routing_key: ShortString,
    body: &[u8],
    properties: BasicProperties,
) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions {
        mandatory: true,
        immediate: false,
    };
    channel
        .basic_publish(exchange, routing_key, options, body, properties)
        .await?
        .await
}

fn burial_headers(reason: &str, queue: &str) -> FieldTable {
    let mut headers = FieldTable::default();
    insert_text(&mut headers, REASON_HEADER, reason);
    insert_text(&mut headers, QUEUE_HEADER, queue);
    headers
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use futures_util::stream::FuturesUnordered;
    use tokio::sync::oneshot;

    /// What the fence stands on: a future pushed now comes out after everything that is ready now.
    #[tokio::test]
    async fn futures_come_out_in_the_order_in_which_they_became_ready() {
        // tokio's own receivers pretend not to be ready now and then, which lapin's promises do not.
        tokio::task::unconstrained(check_order()).await;
    }

    async fn check_order() {
        let mut pending = FuturesUnordered::new();
        let mut senders = Vec::new();
        for number in 0..1_000_usize {
            let (sender, receiver) = oneshot::channel::<()>();
            senders.push(Some(sender));
            pending.push(futures_util::future::Either::Left(async move {
                receiver.await.unwrap();
                number
            }));
        }
        assert!(futures_util::poll!(pending.next()).is_pending());
        let order: Vec<usize> = (0..1_000).map(|number| number * 7 % 1_000).collect();
        for number in &order {
            senders[*number].take().unwrap().send(()).unwrap();
        }
        let fence = std::future::ready(1_000);
        pending.push(futures_util::future::Either::Right(fence));
        let seen: Vec<usize> = pending.collect().await;
        assert_eq!(seen[..1_000], order);
        assert_eq!(seen[1_000], 1_000);
    }
}
