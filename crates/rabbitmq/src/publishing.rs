//! The publishing connection: many messages in flight, each answered for itself, none waiting for another.
//!
//! One task does all of it. lapin numbers a message and queues its frames in two steps, so two tasks on one channel
//! could swap the confirmations of their messages.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::confirm_publisher::ConfirmPublisher;
use crate::error::BrokerError;
use crate::flights::{Destination, Order};
use crate::link::{Link, Listener, News};
use crate::outcome::Outcome;
use crate::supervisor::{Ready, Session};
use crate::topology::Topology;

/// Messages that wait for their confirmation, and as many again that wait to be sent. More are refused as `Full`.
const IN_FLIGHT: usize = 8_192;
/// How exact the time limit of a message is.
const TICK: Duration = Duration::from_millis(50);
/// Orders taken before the other things get their turn.
const ROUND: usize = 256;

/// The way in for messages to publish.
#[derive(Clone)]
pub(crate) enum Gate {
    /// There is no connection, and why.
    Closed(String),
    /// There is one, but the broker takes nothing for now, and why.
    Blocked(String),
    Open(mpsc::Sender<Order>),
    /// For good.
    Shut,
}

impl Gate {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Never waits for the connection.
    fn order(&self, order: Order) -> Result<(), Outcome> {
        match self {
            Self::Open(orders) => orders.try_send(order).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Outcome::TooMany,
                mpsc::error::TrySendError::Closed(_) => {
                    Outcome::Lost("it was closed just now".into())
                }
            }),
            Self::Blocked(reason) => Err(Outcome::Blocked(reason.clone())),
            Self::Closed(reason) => Err(Outcome::Lost(reason.clone())),
            Self::Shut => Err(Outcome::Closed),
        }
    }
}

/// Publishes through the gate and waits for the answer.
pub(crate) async fn publish(
    gate: &watch::Receiver<Gate>,
    destination: Destination,
    body: Vec<u8>,
) -> Outcome {
    let (reply, outcome) = oneshot::channel();
    let order = Order {
        destination,
        body: Arc::new(body),
        reply,
    };
    if let Err(refused) = gate.borrow().order(order) {
        return refused;
    }
    outcome
        .await
        .unwrap_or_else(|_| Outcome::Lost("the broker had not confirmed it".into()))
}

pub(crate) struct PublisherTask {
    pub(crate) topology: Topology,
    pub(crate) timeout: Duration,
    pub(crate) gate: watch::Sender<Gate>,
    pub(crate) stop: CancellationToken,
    /// Before the number in every message id.
    pub(crate) sender: String,
}

#[async_trait]
impl Session for PublisherTask {
    async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError> {
        let mut listener = link.listen();
        self.topology.declare(link).await?;
        let mut desk = ConfirmPublisher::open(link, &self.topology, &self.sender).await?;
        let (sender, mut orders) = mpsc::channel(IN_FLIGHT);
        self.gate.send_replace(Gate::Open(sender.clone()));
        ready.mark(link);
        let end = self
            .work(&mut desk, &mut listener, sender, &mut orders)
            .await;
        match &end {
            Ok(()) => self.ended("the queue is closed"),
            Err(error) => self.ended(&error.to_string()),
        }
        desk.abandon(&match &end {
            Ok(()) => Outcome::Closed,
            Err(error) => Outcome::Lost(error.to_string()),
        });
        if end.is_ok() {
            link.close().await;
        }
        end
    }

    fn ended(&mut self, why: &str) {
        let gate = if self.stop.is_cancelled() {
            Gate::Shut
        } else {
            Gate::Closed(why.to_owned())
        };
        self.gate.send_replace(gate);
    }
}

impl PublisherTask {
    async fn work(
        &self,
        desk: &mut ConfirmPublisher,
        listener: &mut Listener,
        sender: mpsc::Sender<Order>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Result<(), BrokerError> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut taken = Vec::with_capacity(ROUND);
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                news = listener.news() => match news {
                    News::Blocked(reason) => {
                        tracing::warn!(reason, "the broker takes no messages for now; intake pauses until it does");
                        self.gate.send_replace(Gate::Blocked(reason.clone()));
                        desk.block(reason);
                    }
                    News::Unblocked => {
                        tracing::info!("the broker takes messages again");
                        desk.unblock();
                        self.gate.send_replace(Gate::Open(sender.clone()));
                    }
                    News::Lost(reason) => return Err(lost(reason)),
                },
                _ = tick.tick() => desk.expire(self.timeout)?,
                Some(arrival) = desk.next_event() => desk.arrived(arrival)?,
                _ = orders.recv_many(&mut taken, ROUND), if desk.in_flight() < IN_FLIGHT => {
                    let now = Instant::now();
                    for order in taken.drain(..) {
                        desk.send(order, false, now);
                    }
                }
            }
        }
    }
}

fn lost(reason: String) -> BrokerError {
    BrokerError::Lost {
        what: "publish".into(),
        reason,
    }
}
