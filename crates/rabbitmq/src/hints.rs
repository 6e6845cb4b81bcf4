//! Hints between processes: small, quick, and allowed to get lost. Nothing may depend on one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Consumer};
use pawl_kernel::execution::Status;
use pawl_kernel::id::{self, ExecutionId};
use pawl_kernel::ports::hints::{Hint, ROUNDUP_MAX};
use pawl_kernel::time::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::error::{BrokerError, plain};
use crate::link::{Dial, Link, News};
use crate::options::{Options, Ports};
use crate::stats::ConnectionStats;
use crate::supervisor::{ConnectionState, Ready, Session, Supervisor, first_connection};
use crate::topology::{Topology, insert_number, insert_text};

/// Hints of this long are sent together, which delays a hint by nothing that a user would notice.
const GATHER: Duration = Duration::from_millis(2);
/// Far more than we write ourselves.
const MAX_BYTES: usize = 64 * 1024;
/// Hints in one message: well under [`MAX_BYTES`].
const MOST: usize = 256;
/// Hints that wait to be sent, or to be read by a slow subscriber; older ones are dropped.
const BUFFER: usize = 4_096;
/// An old hint is worth nothing: by then every process has looked by itself.
const LIFETIME_MILLIS: i64 = 10_000;
const QUEUE_LENGTH: i64 = 10_000;
const CLOSING: Duration = Duration::from_secs(5);

/// Hints as they travel. A kind that a newer version invented is skipped by an older one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WireHint {
    Timer {
        at_micros: i64,
    },
    Stop {
        execution_id: Uuid,
    },
    Hello,
    Watch {
        execution_id: Uuid,
    },
    Changed {
        execution_id: Uuid,
        version: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<i64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        responded: bool,
    },
    WatchAll,
    Roundup {
        ids: Vec<Uuid>,
        more: bool,
    },
    Admission,
    Backlog {
        age_seconds: [u64; 3],
    },
    #[serde(other, skip_serializing)]
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    sender: Uuid,
    hints: Vec<WireHint>,
}

impl From<&Hint> for WireHint {
    fn from(hint: &Hint) -> Self {
        match hint {
            Hint::Timer { at } => Self::Timer {
                at_micros: at.as_micros(),
            },
            Hint::Stop { execution_id } => Self::Stop {
                execution_id: execution_id.0,
            },
            Hint::Hello => Self::Hello,
            Hint::Watch { execution_id } => Self::Watch {
                execution_id: execution_id.0,
            },
            Hint::Changed {
                execution_id,
                version,
                ended,
                responded,
            } => Self::Changed {
                execution_id: execution_id.0,
                version: *version,
                ended: ended.map(Status::code),
                responded: *responded,
            },
            Hint::WatchAll => Self::WatchAll,
            Hint::Roundup { ids, more } => Self::Roundup {
                ids: ids.iter().map(|id| id.0).collect(),
                more: *more,
            },
            Hint::Admission => Self::Admission,
            Hint::Backlog { ages } => Self::Backlog {
                age_seconds: ages.map(|age| age.as_secs()),
            },
        }
    }
}

impl WireHint {
    fn read(self) -> Option<Hint> {
        Some(match self {
            Self::Timer { at_micros } => Hint::Timer {
                at: Timestamp::from_micros(at_micros),
            },
            Self::Stop { execution_id } => Hint::Stop {
                execution_id: ExecutionId(execution_id),
            },
            Self::Hello => Hint::Hello,
            Self::Watch { execution_id } => Hint::Watch {
                execution_id: ExecutionId(execution_id),
            },
            Self::Changed {
                execution_id,
                version,
                ended,
                responded,
            } => Hint::Changed {
                execution_id: ExecutionId(execution_id),
                version,
                ended: ended.and_then(Status::from_code),
                responded,
            },
            Self::WatchAll => Hint::WatchAll,
            Self::Roundup { ids, more } => Hint::Roundup {
                ids: ids.into_iter().take(ROUNDUP_MAX).map(ExecutionId).collect(),
                more,
            },
            Self::Admission => Hint::Admission,
            Self::Backlog { age_seconds } => Hint::Backlog {
                ages: age_seconds.map(Duration::from_secs),
            },
            Self::Unknown => return None,
        })
    }
}

/// Sends hints to all other processes and receives theirs.
pub struct HintBus {
    outgoing: mpsc::Sender<Hint>,
    incoming: broadcast::Sender<Hint>,
    standing: watch::Receiver<ConnectionState>,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

/// Hints of other processes, from the moment of subscribing on.
pub struct Hints(broadcast::Receiver<Hint>);

impl Hints {
    /// `None`: the bus is closed. A subscriber that reads too slowly misses the oldest.
    pub async fn next(&mut self) -> Option<Hint> {
        loop {
            match self.0.recv().await {
                Ok(hint) => return Some(hint),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl HintBus {
    /// Waits for the connection as [`Options::start`] says.
    pub async fn connect(options: &Options, ports: &Ports) -> Result<Self, BrokerError> {
        options.check()?;
        let begun = Instant::now();
        let stop = CancellationToken::new();
        let (outgoing, to_send) = mpsc::channel(BUFFER);
        let incoming = broadcast::Sender::new(BUFFER);
        let session = HintTask {
            topology: Topology::new(options),
            sender: id::random(&*ports.entropy),
            to_send,
            incoming: incoming.clone(),
            stop: stop.clone(),
        };
        let dial = Dial::new(options, "hints");
        let (supervisor, mut standing) =
            Supervisor::new(dial, session, stop.clone(), ports.entropy.clone());
        let tasks = TaskTracker::new();
        tasks.spawn(supervisor.run());
        let _stop_on_drop = stop.clone().drop_guard();
        first_connection(&mut standing, options.start, begun).await?;
        Ok(Self {
            outgoing,
            incoming,
            standing,
            stop,
            tasks,
            _stop_on_drop,
        })
    }

    /// Returns at once. Without a connection, or with too many waiting, the hint is dropped.
    pub fn send(&self, hint: Hint) {
        if self.standing.borrow().link.is_some() {
            let _ = self.outgoing.try_send(hint);
        }
    }

    /// From now on; the others are greeted, and tell what they watch.
    pub fn subscribe(&self) -> Hints {
        let hints = Hints(self.incoming.subscribe());
        self.send(Hint::Hello);
        hints
    }

    pub fn stats(&self) -> ConnectionStats {
        ConnectionStats::of(&self.standing.borrow())
    }

    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        let _ = timeout(CLOSING, self.tasks.wait()).await;
    }
}

impl pawl_kernel::ports::hints::HintBus for HintBus {
    fn send(&self, hint: Hint) {
        Self::send(self, hint);
    }

    fn is_connected(&self) -> bool {
        self.standing.borrow().link.is_some()
    }
}

struct HintTask {
    topology: Topology,
    sender: Uuid,
    to_send: mpsc::Receiver<Hint>,
    incoming: broadcast::Sender<Hint>,
    stop: CancellationToken,
}

#[async_trait]
impl Session for HintTask {
    async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError> {
        let mut listener = link.listen();
        let channel = link.channel().await?;
        self.topology.declare_hints(link, &channel).await?;
        let mut deliveries = self.subscribe(link, &channel).await?;
        // What waited for the old connection is stale.
        while self.to_send.try_recv().is_ok() {}
        ready.mark(link);
        // The others have heard nothing from us for a while either, or ever.
        let _ = self.incoming.send(Hint::Hello);
        self.send(link, &channel, &[Hint::Hello]).await?;
        let mut batch = Vec::with_capacity(MOST);
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    link.close().await;
                    return Ok(());
                }
                news = listener.news() => if let News::Lost(reason) = news {
                    return Err(lost(reason));
                },
                delivery = deliveries.next() => match delivery {
                    Some(Ok(delivery)) => self.received(&delivery.data),
                    Some(Err(error)) => return Err(lost(plain(&error))),
                    None => return Err(lost("the broker deleted the queue".into())),
                },
                count = self.to_send.recv_many(&mut batch, MOST) => {
                    if count == 0 {
                        // No sender is left; the bus is being dropped.
                        link.close().await;
                        return Ok(());
                    }
                    self.gather(&mut batch).await;
                    self.send(link, &channel, &batch).await?;
                    batch.clear();
                }
            }
        }
    }

    fn ended(&mut self, _why: &str) {}
}

impl HintTask {
    /// A queue of our own, gone with the connection.
    async fn subscribe(&self, link: &Link, channel: &Channel) -> Result<Consumer, BrokerError> {
        let mut arguments = FieldTable::default();
        // Exclusive queues can be of no other type, whatever the default of the vhost.
        insert_text(&mut arguments, "x-queue-type", "classic");
        insert_text(&mut arguments, "x-overflow", "drop-head");
        insert_number(&mut arguments, "x-message-ttl", LIFETIME_MILLIS);
        insert_number(&mut arguments, "x-max-length", QUEUE_LENGTH);
        let options = QueueDeclareOptions {
            exclusive: true,
            auto_delete: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare(ShortString::default(), options, arguments);
        let queue = link.call("declare a queue for hints", declared).await?;
        let bound = channel.queue_bind(
            queue.name().clone(),
            self.topology.hint_exchange().into(),
            ShortString::default(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        link.call("bind the queue for hints", bound).await?;
        let options = BasicConsumeOptions {
            no_ack: true,
            exclusive: true,
            ..BasicConsumeOptions::default()
        };
        let consumer = channel.basic_consume(
            queue.name().clone(),
            "hints".into(),
            options,
            FieldTable::default(),
        );
        link.call("consume hints", consumer).await
    }

    /// Waits a moment for others to go along.
    async fn gather(&mut self, batch: &mut Vec<Hint>) {
        if batch.len() >= MOST {
            return;
        }
        sleep(GATHER).await;
        while batch.len() < MOST
            && let Ok(hint) = self.to_send.try_recv()
        {
            batch.push(hint);
        }
    }

    async fn send(
        &self,
        link: &Link,
        channel: &Channel,
        hints: &[Hint],
    ) -> Result<(), BrokerError> {
        if link.is_blocked() {
            // Nothing would be written, and a hint is worth nothing later.
            return Ok(());
        }
        let envelope = Envelope {
            sender: self.sender,
            hints: hints.iter().map(WireHint::from).collect(),
        };
        let Ok(body) = serde_json::to_vec(&envelope) else {
            return Ok(());
        };
        // Neither confirmed nor mandatory nor persistent: the cheapest way there is.
        let sent = channel.basic_publish(
            self.topology.hint_exchange().into(),
            ShortString::default(),
            BasicPublishOptions::default(),
            &body,
            BasicProperties::default().with_content_type("application/json".into()),
        );
        match link.call("send hints", sent).await {
            // The alarm came in between: not a failure of the connection.
            Err(_) if link.is_blocked() => Ok(()),
            sent => sent.map(drop),
        }
    }

    fn received(&self, body: &[u8]) {
        if body.len() > 4 * MAX_BYTES {
            return;
        }
        let Ok(envelope) = serde_json::from_slice::<Envelope>(body) else {
            tracing::debug!("a hint that cannot be read");
            return;
        };
        if envelope.sender == self.sender {
            return;
        }
        for hint in envelope.hints.into_iter().filter_map(WireHint::read) {
            // An error means that there is no subscriber.
            let _ = self.incoming.send(hint);
        }
    }
}

fn lost(reason: String) -> BrokerError {
    BrokerError::Lost {
        what: "hint".into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_survive_the_way() {
        let execution_id = ExecutionId(Uuid::from_u128(5));
        for hint in [
            Hint::Timer {
                at: Timestamp::from_micros(-7),
            },
            Hint::Stop { execution_id },
            Hint::Hello,
            Hint::Watch { execution_id },
            Hint::Changed {
                execution_id,
                version: u64::MAX,
                ended: Some(Status::FailedStuck),
                responded: false,
            },
            Hint::Changed {
                execution_id,
                version: 1,
                ended: None,
                responded: true,
            },
            Hint::WatchAll,
            Hint::Roundup {
                ids: vec![execution_id; ROUNDUP_MAX],
                more: true,
            },
            Hint::Admission,
            Hint::Backlog {
                ages: [0, 7, 3600].map(Duration::from_secs),
            },
        ] {
            let text = serde_json::to_string(&WireHint::from(&hint)).unwrap();
            let read: WireHint = serde_json::from_str(&text).unwrap();
            assert_eq!(read.read(), Some(hint), "{text}");
        }
    }

    #[test]
    fn the_format_is_small_and_plain() {
        let hint = Hint::Timer {
            at: Timestamp::from_micros(12),
        };
        assert_eq!(
            serde_json::to_string(&WireHint::from(&hint)).unwrap(),
            r#"{"kind":"timer","at_micros":12}"#
        );
    }

    #[test]
    fn kinds_of_a_newer_version_are_skipped() {
        let body = br#"{"sender":"00000000-0000-0000-0000-000000000001","hints":[{"kind":"party","x":1},{"kind":"admission"}]}"#;
        let envelope: Envelope = serde_json::from_slice(body).unwrap();
        let hints: Vec<_> = envelope
            .hints
            .into_iter()
            .filter_map(WireHint::read)
            .collect();
        assert_eq!(hints, [Hint::Admission]);
    }

    #[test]
    fn the_largest_batch_is_well_within_the_limit() {
        let hint = Hint::Changed {
            execution_id: ExecutionId(Uuid::from_u128(u128::MAX)),
            version: u64::MAX,
            ended: Some(Status::FailedStuck),
            responded: true,
        };
        let one = serde_json::to_vec(&WireHint::from(&hint)).unwrap();
        assert!(one.len() * MOST < MAX_BYTES);
    }
}
