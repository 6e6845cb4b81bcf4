//! Takes dead letters off the broker so that they can be kept where people look: in the store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable};
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::time::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::confirm_publisher::{QUEUE_HEADER, REASON_HEADER};
use crate::consuming::{consume, lost, merge};
use crate::error::{BrokerError, plain};
use crate::link::{Dial, Link, News};
use crate::options::{Options, Ports};
use crate::settle::{BATCH, Books, DeliveryClaim, Verdict};
use crate::stats::ConnectionStats;
use crate::supervisor::{ConnectionState, Ready, Session, Supervisor, first_connection};
use crate::topology::Topology;
use crate::wire::{Rules, execution_of, shortened};

/// Dead letters under way to the store at once.
const PREFETCH: u16 = 32;
/// Between two offers of the same letter.
const OFFERED_AGAIN: Duration = Duration::from_secs(5);
const CLOSING: Duration = Duration::from_secs(5);

/// A message that no consumer could use. Dropped without an answer it goes back into the queue of dead letters.
pub struct DeadLetterMessage {
    /// As many bytes as messages may have; those that are no text are shown as �.
    pub body: String,
    /// Why it ended here, for people.
    pub reason: String,
    /// The queue it came from, if known.
    pub queue: Option<String>,
    /// The execution it is about, if it says so.
    pub execution_id: Option<ExecutionId>,
    claimed: DeliveryClaim,
    offers: mpsc::WeakSender<DeadLetterMessage>,
}

impl DeadLetterMessage {
    /// It is kept elsewhere now; the broker may forget it.
    pub fn stored(self) {
        self.claimed.settle(Verdict::Done);
    }

    /// Not now: it is kept here and offered again in a few seconds.
    pub fn not_stored(self) {
        tokio::spawn(async move {
            sleep(OFFERED_AGAIN).await;
            if self.claimed.is_alive()
                && let Some(offers) = self.offers.upgrade()
            {
                let _ = offers.send(self).await;
            }
        });
    }
}

impl fmt::Debug for DeadLetterMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetterMessage")
            .field("reason", &self.reason)
            .field("queue", &self.queue)
            .field("execution_id", &self.execution_id)
            .finish_non_exhaustive()
    }
}

/// Any number of processes may drain; each letter goes to one of them.
pub struct DeadLetterDrain {
    letters: mpsc::Receiver<DeadLetterMessage>,
    standing: watch::Receiver<ConnectionState>,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

impl DeadLetterDrain {
    /// Waits for the connection as [`Options::start`] says.
    pub async fn connect(options: &Options, ports: &Ports) -> Result<Self, BrokerError> {
        options.check()?;
        let begun = Instant::now();
        let stop = CancellationToken::new();
        let (offers, letters) = mpsc::channel(usize::from(PREFETCH));
        let session = DrainTask {
            topology: Topology::new(options),
            // It only asks whether a message can be read.
            rules: Rules {
                accept_external: true,
                ..options.rules()
            },
            offers,
            stop: stop.clone(),
        };
        let dial = Dial::new(options, "dead letters");
        let (supervisor, mut standing) =
            Supervisor::new(dial, session, stop.clone(), ports.entropy.clone());
        let tasks = TaskTracker::new();
        tasks.spawn(supervisor.run());
        let _stop_on_drop = stop.clone().drop_guard();
        first_connection(&mut standing, options.start, begun).await?;
        Ok(Self {
            letters,
            standing,
            stop,
            tasks,
            _stop_on_drop,
        })
    }

    /// Waits for the next letter. Cancelling loses nothing.
    pub async fn next(&mut self) -> Option<DeadLetterMessage> {
        self.letters.recv().await
    }

    pub fn stats(&self) -> ConnectionStats {
        ConnectionStats::of(&self.standing.borrow())
    }

    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        let _ = timeout(CLOSING, self.tasks.wait()).await;
    }
}

struct DrainTask {
    topology: Topology,
    rules: Rules,
    offers: mpsc::Sender<DeadLetterMessage>,
    stop: CancellationToken,
}

#[async_trait]
impl Session for DrainTask {
    async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError> {
        let mut listener = link.listen();
        // What is different about them is said where all queues are declared.
        self.topology.declare_dead_letters(link).await?;
        let channel = link.channel().await?;
        let queue = self.topology.dead_letter_queue();
        let consumer = consume(link, &channel, (&queue, "drain"), PREFETCH).await?;
        let mut deliveries = merge(vec![(0, consumer)]);
        let mut books = Books::new(link, vec![channel]);
        let (settlements, mut settled) = mpsc::unbounded_channel();
        let mut batch = Vec::with_capacity(BATCH);
        ready.mark(link);
        loop {
            tokio::select! {
                biased;
                news = listener.news() => if let News::Lost(reason) = news {
                    return Err(lost(reason));
                },
                _ = settled.recv_many(&mut batch, BATCH) => books.settle(&mut batch).await?,
                () = self.stop.cancelled() => {
                    link.close().await;
                    return Ok(());
                }
                Some((channel, delivery)) = deliveries.next() => {
                    let delivery = match delivery {
                        Some(Ok(delivery)) => delivery,
                        Some(Err(error)) => return Err(lost(plain(&error))),
                        None => return Err(lost(format!("the queue `{queue}` was deleted"))),
                    };
                    books.received(channel, delivery.delivery_tag);
                    let claimed = DeliveryClaim::new(channel, delivery.delivery_tag, settlements.clone());
                    self.offer(letter(&delivery, self.rules, claimed, self.offers.downgrade()));
                }
            }
        }
    }

    fn ended(&mut self, _why: &str) {}
}

impl DrainTask {
    /// There is room for as many as the broker hands out, unless letters of an old connection still lie there.
    fn offer(&self, letter: DeadLetterMessage) {
        if let Err(mpsc::error::TrySendError::Full(letter)) = self.offers.try_send(letter) {
            letter.not_stored();
        }
    }
}

fn letter(
    delivery: &Delivery,
    rules: Rules,
    claimed: DeliveryClaim,
    offers: mpsc::WeakSender<DeadLetterMessage>,
) -> DeadLetterMessage {
    let start = &delivery.data[..delivery.data.len().min(rules.max_bytes)];
    let headers = delivery.properties.headers().clone().unwrap_or_default();
    DeadLetterMessage {
        body: String::from_utf8_lossy(start).into_owned(),
        reason: reason(&headers, rules, &delivery.data),
        queue: text(&headers, QUEUE_HEADER).or_else(|| text(&headers, "x-first-death-queue")),
        execution_id: execution_of(start),
        claimed,
        offers,
    }
}

/// Our own reason if we gave one; else the broker's, with what is wrong with the message if anything is.
fn reason(headers: &FieldTable, rules: Rules, body: &[u8]) -> String {
    if let Some(reason) = text(headers, REASON_HEADER) {
        return shortened(&reason);
    }
    let death = death(headers).unwrap_or_else(|| "published to the dead letters directly".into());
    // Neither class nor time matter: this only asks whether the message can be read.
    match rules.decode(body, PriorityClass::Normal, Timestamp::default()) {
        Ok(_) => death,
        Err(defect) => format!("{}; {death}", defect.reason()),
    }
}

/// The newest entry of `x-death`, in words.
fn death(headers: &FieldTable) -> Option<String> {
    let AMQPValue::FieldArray(deaths) = headers.inner().get("x-death")? else {
        return None;
    };
    let AMQPValue::FieldTable(death) = deaths.as_slice().first()? else {
        return None;
    };
    let queue = text(death, "queue")?;
    let count = match death.inner().get("count") {
        Some(AMQPValue::LongLongInt(count)) => *count,
        _ => 1,
    };
    let why = match text(death, "reason")?.as_str() {
        "rejected" => "rejected by a worker".to_owned(),
        "delivery_limit" => "delivered too often".to_owned(),
        "expired" => "waited longer than the queue allows".to_owned(),
        "maxlen" => "the queue was full".to_owned(),
        other => shortened(other),
    };
    Some(format!(
        "{why} (queue {}, {count} times)",
        shortened(&queue)
    ))
}

fn text(table: &FieldTable, key: &str) -> Option<String> {
    match table.inner().get(key)? {
        AMQPValue::LongString(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lapin::types::FieldArray;

    use super::*;
    use crate::topology::{insert_number, insert_text};

    const RULES: Rules = Rules {
        max_bytes: 1_000,
        accept_external: true,
    };

    fn rejected() -> FieldTable {
        let mut death = FieldTable::default();
        insert_text(&mut death, "queue", "schema_execution_queue");
        insert_text(&mut death, "reason", "rejected");
        insert_number(&mut death, "count", 2);
        let mut deaths = FieldArray::default();
        deaths.push(AMQPValue::FieldTable(death));
        let mut headers = FieldTable::default();
        headers.insert("x-death".into(), AMQPValue::FieldArray(deaths));
        headers
    }

    #[test]
    fn the_reason_says_what_is_wrong_and_where_it_happened() {
        let why = reason(&rejected(), RULES, b"{\"seq\":1}");
        assert!(why.contains("it has no execution_id"), "{why}");
        assert!(why.contains("rejected by a worker (queue schema_execution_queue, 2 times)"));
    }

    #[test]
    fn our_own_reason_comes_first() {
        let mut headers = rejected();
        insert_text(&mut headers, REASON_HEADER, "no such schema");
        assert_eq!(reason(&headers, RULES, b"{}"), "no such schema");
    }

    #[test]
    fn strange_headers_do_no_harm() {
        let mut headers = FieldTable::default();
        headers.insert("x-death".into(), AMQPValue::Boolean(true));
        headers.insert(REASON_HEADER.into(), AMQPValue::Void);
        let why = reason(&headers, RULES, b"\xff");
        assert!(
            why.contains("published to the dead letters directly"),
            "{why}"
        );
    }
}
