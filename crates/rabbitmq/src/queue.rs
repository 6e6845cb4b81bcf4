//! The queue of messages on RabbitMQ.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::id;
use pawl_kernel::ports::queue::{Delivery, Message, Queue, QueueError};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::consuming::ConsumerTask;
use crate::dead_letter_sender::DeadLetterSender;
use crate::error::BrokerError;
use crate::external::ExternalStart;
use crate::flights::Destination;
use crate::inbox::{Inbox, InboxBatch};
use crate::link::Dial;
use crate::options::{Options, Ports};
use crate::publishing::{Gate, PublisherTask, publish};
use crate::settle::Verdict;
use crate::stats::{self, Stats};
use crate::supervisor::{ConnectionState, Session, Supervisor, first_connection};
use crate::topology::{CLASSES, Topology, class_index};
use crate::wire;

/// Farewells to the broker take a moment; the caller waits no longer for them.
const CLOSING: Duration = Duration::from_secs(5);

pub struct RabbitQueue {
    topology: Topology,
    gate: watch::Receiver<Gate>,
    inbox: Arc<Inbox>,
    externals: Mutex<Option<mpsc::Receiver<ExternalStart>>>,
    publishing: watch::Receiver<ConnectionState>,
    /// `None`: this process only publishes.
    consuming: Option<watch::Receiver<ConnectionState>>,
    rest: CancellationToken,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

impl RabbitQueue {
    /// Connects, declares the queues and begins to take messages; see [`Options::start`] for how long it waits.
    pub async fn connect(options: Options, ports: Ports) -> Result<Self, BrokerError> {
        options.check()?;
        let begun = Instant::now();
        let mut queue = Self::spawn(&options, &ports);
        let first = queue.first_connections(&options, begun).await;
        if let Err(error) = first {
            queue.close().await;
            return Err(error);
        }
        Ok(queue)
    }

    fn spawn(options: &Options, ports: &Ports) -> Self {
        let topology = Topology::new(options);
        let stop = CancellationToken::new();
        let (gate, gate_watch) = watch::channel(Gate::Closed("not connected yet".into()));
        let (externals, external_starts) =
            mpsc::channel(CLASSES.len() * usize::from(options.slots));
        let mut queue = Self {
            topology: topology.clone(),
            gate: gate_watch.clone(),
            inbox: Arc::new(Inbox::default()),
            externals: Mutex::new(Some(external_starts)),
            publishing: watch::channel(ConnectionState::default()).1,
            consuming: None,
            rest: CancellationToken::new(),
            stop: stop.clone(),
            tasks: TaskTracker::new(),
            _stop_on_drop: stop.clone().drop_guard(),
        };
        let publishing = PublisherTask {
            topology: topology.clone(),
            timeout: options.publish_timeout,
            gate,
            stop: stop.clone(),
            sender: id::random(&*ports.entropy).simple().to_string(),
        };
        queue.publishing = queue.supervise(Dial::new(options, "publish"), publishing, ports);
        if options.consume {
            let consuming = ConsumerTask {
                topology: topology.clone(),
                slots: options.slots,
                rules: options.rules(),
                inbox: queue.inbox.clone(),
                externals,
                dead_letters: DeadLetterSender {
                    gate: gate_watch,
                    topology,
                    max_bytes: options.max_message_bytes,
                },
                clock: ports.clock.clone(),
                rest: queue.rest.clone(),
                stop,
            };
            queue.consuming =
                Some(queue.supervise(Dial::new(options, "consume"), consuming, ports));
        }
        queue
    }

    fn supervise<S: Session + 'static>(
        &self,
        dial: Dial,
        session: S,
        ports: &Ports,
    ) -> watch::Receiver<ConnectionState> {
        let (supervisor, standing) =
            Supervisor::new(dial, session, self.stop.clone(), ports.entropy.clone());
        self.tasks.spawn(supervisor.run());
        standing
    }

    async fn first_connections(
        &mut self,
        options: &Options,
        begun: Instant,
    ) -> Result<(), BrokerError> {
        first_connection(&mut self.publishing, options.start, begun).await?;
        if let Some(consuming) = &mut self.consuming {
            first_connection(consuming, options.start, begun).await?;
        }
        Ok(())
    }

    /// The starts that other programs wish for; only with [`Options::accept_external`]. There is one receiver: the
    /// second call gives `None`.
    pub fn externals(&self) -> Option<mpsc::Receiver<ExternalStart>> {
        self.externals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The names on the broker.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Asks the broker for the depths of the queues; without a connection they are unknown.
    pub async fn stats(&self) -> Stats {
        let consuming = self.consuming.as_ref().map(|one| one.borrow().clone());
        let publishing = self.publishing.borrow().clone();
        let blocked = match &*self.gate.borrow() {
            Gate::Blocked(reason) => Some(reason.clone()),
            _ => None,
        };
        stats::gather(
            &self.topology,
            publishing,
            consuming,
            blocked,
            self.inbox.waiting(),
        )
        .await
    }

    /// First step of a shutdown: no message is taken any more, and what no worker has got goes back to the broker at
    /// once. What workers hold can be acknowledged, and publishing goes on.
    pub fn stop_receiving(&self) {
        self.rest.cancel();
        self.inbox.rest();
    }

    /// Last step of a shutdown: says what is left to say to the broker and leaves it.
    pub async fn close(&self) {
        self.stop_receiving();
        self.stop.cancel();
        self.tasks.close();
        let _ = timeout(CLOSING, self.tasks.wait()).await;
    }

    /// Something to hand out and a way to hand on what it leads to, or the end.
    fn try_receive(&self, max: usize) -> Option<Result<Vec<Delivery>, QueueError>> {
        // Without a way to publish an effect would run and its follower be stuck until the sweeper finds it: what waits
        // here is safer left alone.
        if !self.gate.borrow().is_open() && !self.rest.is_cancelled() {
            return None;
        }
        match self.inbox.take(max) {
            InboxBatch::Some(deliveries) => Some(Ok(deliveries)),
            InboxBatch::Closed => Some(Err(QueueError::Closed)),
            InboxBatch::Nothing => None,
        }
    }
}

#[async_trait]
impl Queue for RabbitQueue {
    /// Fails at once without a connection.
    async fn publish(&self, message: Message) -> Result<(), QueueError> {
        let destination = Destination::Work(class_index(message.priority));
        publish(&self.gate, destination, wire::encode(&message))
            .await
            .into()
    }

    /// Waits while there is no connection: it comes back by itself, and there is nothing better to do meanwhile.
    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        let mut gate = self.gate.clone();
        loop {
            let mut arrival = pin!(self.inbox.arrival());
            // Before looking, so that nothing that comes in between is missed.
            arrival.as_mut().enable();
            gate.mark_unchanged();
            if let Some(result) = self.try_receive(max) {
                return result;
            }
            tokio::select! {
                () = arrival => {}
                changed = gate.changed() => if changed.is_err() {
                    // The publishing task is gone: the gate never opens again.
                    return Err(QueueError::Closed);
                }
            }
        }
    }

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError> {
        self.inbox.settle(tag, Verdict::Done);
        Ok(())
    }

    async fn reject(&self, tag: u64) -> Result<(), QueueError> {
        self.inbox.settle(tag, Verdict::Again);
        Ok(())
    }

    fn takes_messages(&self) -> bool {
        self.gate.borrow().is_open()
    }
}
