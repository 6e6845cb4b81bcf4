//! Keeps one connection alive: connects, serves a session on it, and after any end starts anew, a panic included.
//! lapin's own recovery is not used: after a failure nothing of the old connection is trusted.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use pawl_kernel::id::Entropy;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::link::{Dial, Link};
use crate::options::Start;

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The same failure is logged again after this long, so that it is neither silent nor a flood.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// How a connection stands, for any task that asks.
#[derive(Clone, Default)]
pub(crate) struct ConnectionState {
    /// Only while the session is usable.
    pub(crate) link: Option<Arc<Link>>,
    /// How often it became usable.
    pub(crate) connections: u64,
    /// Why it is not usable, or was not before.
    pub(crate) error: Option<BrokerError>,
}

/// What is done with a connection.
#[async_trait]
pub(crate) trait Session: Send {
    /// Ends with an error when the connection is to be rebuilt, and with `Ok` when it is no longer needed; then it has
    /// closed the link itself, before dropping any channel of it (see [`Link::close`]).
    async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError>;

    /// The connection is gone: nothing of it may be used any more.
    fn ended(&mut self, why: &str);
}

/// Lets a session say that it is usable.
pub(crate) struct Ready(watch::Sender<ConnectionState>);

impl Ready {
    pub(crate) fn mark(&self, link: &Arc<Link>) {
        self.0.send_modify(|standing| {
            standing.link = Some(link.clone());
            standing.connections += 1;
            standing.error = None;
        });
    }
}

pub(crate) struct Supervisor<S> {
    dial: Dial,
    session: S,
    ready: Ready,
    stop: CancellationToken,
    pause: Pause,
    told: Option<(Instant, BrokerError)>,
}

impl<S: Session> Supervisor<S> {
    pub(crate) fn new(
        dial: Dial,
        session: S,
        stop: CancellationToken,
        entropy: Arc<dyn Entropy>,
    ) -> (Self, watch::Receiver<ConnectionState>) {
        let (standing, watching) = watch::channel(ConnectionState::default());
        let supervisor = Self {
            dial,
            session,
            ready: Ready(standing),
            stop,
            pause: Pause {
                entropy,
                next: SHORTEST_PAUSE,
            },
            told: None,
        };
        (supervisor, watching)
    }

    pub(crate) async fn run(mut self) {
        loop {
            let (begun, connections) = (Instant::now(), self.connections());
            let Err(error) = self.guarded_attempt().await else {
                self.session.ended("the queue is closed");
                return;
            };
            self.session.ended(&error.to_string());
            // A connection that lived for a while was a good one: the next attempt need not wait long.
            if self.connections() > connections && begun.elapsed() > LONGEST_PAUSE {
                self.pause.reset();
            }
            self.tell(&error);
            self.ready.0.send_modify(|standing| {
                standing.link = None;
                standing.error = Some(error);
            });
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = sleep(self.pause.next()) => {}
            }
        }
    }

    fn connections(&self) -> u64 {
        self.ready.0.borrow().connections
    }

    /// A bug in one session must not leave a process that lives without a connection for ever. Whatever state the panic
    /// left goes with the connection: `ended` clears it, and the next session begins from nothing.
    async fn guarded_attempt(&mut self) -> Result<(), BrokerError> {
        let attempt = AssertUnwindSafe(self.attempt()).catch_unwind().await;
        attempt.unwrap_or_else(|panic| {
            let reason = panic_text(&*panic);
            tracing::error!(
                connection = self.dial.name,
                reason,
                "a connection's session panicked; this is a bug"
            );
            Err(BrokerError::Lost {
                what: "serve".into(),
                reason: format!("a bug: {reason}"),
            })
        })
    }

    async fn attempt(&mut self) -> Result<(), BrokerError> {
        let opened = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Ok(()),
            opened = Link::open(&self.dial) => opened,
        };
        let link = Arc::new(opened?);
        tracing::debug!(connection = self.dial.name, url = %self.dial.url, "connected to the broker");
        self.session.serve(&link, &self.ready).await?;
        self.ready.0.send_modify(|standing| standing.link = None);
        Ok(())
    }

    fn tell(&mut self, error: &BrokerError) {
        let now = Instant::now();
        if let Some((at, told)) = &self.told
            && told == error
            && now.duration_since(*at) < TELL_AGAIN
        {
            return;
        }
        self.told = Some((now, error.clone()));
        let connection = &self.dial.name;
        if error.needs_a_person() {
            tracing::error!(connection, %error, "no connection to the broker until this is fixed; trying on");
        } else {
            tracing::warn!(connection, %error, "no connection to the broker; connecting again");
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked without a word")
}

/// Waits for the first connection as far as `start` asks for it.
pub(crate) async fn first_connection(
    standing: &mut watch::Receiver<ConnectionState>,
    start: Start,
    begun: Instant,
) -> Result<(), BrokerError> {
    let decided = standing.wait_for(|standing| {
        let hopeless = |error: &BrokerError| start == Start::Anyway || error.needs_a_person();
        standing.link.is_some() || standing.error.as_ref().is_some_and(hopeless)
    });
    let reached = match start {
        Start::WhenConnected { within } => timeout_at(begun + within, decided).await.is_ok(),
        Start::Anyway => decided.await.is_ok(),
    };
    let standing = standing.borrow();
    match &standing.error {
        _ if standing.link.is_some() => Ok(()),
        Some(error) if start == Start::Anyway && !error.needs_a_person() => Ok(()),
        Some(error) => Err(error.clone()),
        None if reached => Ok(()),
        None => Err(BrokerError::Timeout {
            what: "connect".into(),
            after: begun.elapsed(),
        }),
    }
}

/// Doubles from try to try, with chance mixed in so that many processes do not come back in step.
struct Pause {
    entropy: Arc<dyn Entropy>,
    next: Duration,
}

impl Pause {
    fn reset(&mut self) {
        self.next = SHORTEST_PAUSE;
    }

    fn next(&mut self) -> Duration {
        let longest = self.next;
        self.next = (longest * 2).min(LONGEST_PAUSE);
        let chance = (self.entropy.bits() as u32 % 1_000) as f64 / 1_000.0;
        longest.mul_f64(0.5 + chance / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u128);
    impl Entropy for Fixed {
        fn bits(&self) -> u128 {
            self.0
        }
    }

    /// Panics on its first connection and serves every other.
    struct Clumsy {
        served: u32,
        ended: watch::Sender<Vec<String>>,
        stop: CancellationToken,
    }

    #[async_trait]
    impl Session for Clumsy {
        async fn serve(&mut self, link: &Arc<Link>, ready: &Ready) -> Result<(), BrokerError> {
            ready.mark(link);
            self.served += 1;
            assert!(self.served > 1, "the first one is dropped");
            self.stop.cancelled().await;
            link.close().await;
            Ok(())
        }

        fn ended(&mut self, why: &str) {
            self.ended.send_modify(|all| all.push(why.to_owned()));
        }
    }

    fn node() -> (
        xtask::services::RabbitNode,
        Option<xtask::services::RabbitMq>,
    ) {
        use xtask::services::{AMQP_NODE, RabbitMq, RabbitNode, RabbitOptions};
        match std::env::var(AMQP_NODE) {
            Ok(folder) if !folder.is_empty() => {
                (RabbitNode::attach(folder.as_ref()).unwrap(), None)
            }
            _ => {
                let own = RabbitMq::start(RabbitOptions::default()).unwrap();
                (RabbitNode::clone(&own), Some(own))
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_that_panics_is_a_lost_connection() {
        let (node, _own) = tokio::task::spawn_blocking(node).await.unwrap();
        let url = crate::BrokerUrl::parse(&node.url()).unwrap();
        let dial = Dial::new(&crate::Options::new(url), "clumsy");
        let (stop, ended) = (CancellationToken::new(), watch::Sender::default());
        let session = Clumsy {
            served: 0,
            ended: ended.clone(),
            stop: stop.clone(),
        };
        let (supervisor, mut standing) =
            Supervisor::new(dial, session, stop.clone(), Arc::new(Fixed(0)));
        let running = tokio::spawn(supervisor.run());
        let again = standing.wait_for(|now| now.connections == 2 && now.link.is_some());
        let again = tokio::time::timeout(Duration::from_secs(60), again).await;
        assert!(again.is_ok_and(|seen| seen.is_ok()), "it connects again");
        let first = ended.borrow()[0].clone();
        assert!(first.contains("the first one is dropped"), "{first}");
        stop.cancel();
        running.await.unwrap();
        assert_eq!(ended.borrow().len(), 2);
    }

    #[test]
    fn pauses_grow_to_a_limit_and_are_never_long_after_a_reset() {
        for bits in [0, 999, u128::MAX] {
            let mut pause = Pause {
                entropy: Arc::new(Fixed(bits)),
                next: SHORTEST_PAUSE,
            };
            let pauses: Vec<Duration> = (0..20).map(|_| pause.next()).collect();
            assert!(pauses.is_sorted(), "{pauses:?}");
            assert!(pauses[0] >= SHORTEST_PAUSE / 2 && pauses[0] <= SHORTEST_PAUSE);
            assert!(pauses[19] >= LONGEST_PAUSE / 2 && pauses[19] <= LONGEST_PAUSE);
            pause.reset();
            assert!(pause.next() <= SHORTEST_PAUSE);
        }
    }
}
