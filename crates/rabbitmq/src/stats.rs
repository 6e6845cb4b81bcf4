//! How the broker and the connections to it stand, for metrics and for people.

use crate::error::BrokerError;
use crate::link::Link;
use crate::supervisor::ConnectionState;
use crate::topology::{CLASSES, Topology, look_at_queue};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// High, normal, low, dead letters.
    pub queues: Vec<QueueStats>,
    pub publishing: ConnectionStats,
    /// `None`: this process only publishes.
    pub consuming: Option<ConnectionStats>,
    /// The broker takes no messages for now; its reason.
    pub blocked: Option<String>,
    /// Delivered to this process, not yet taken by a worker.
    pub prefetched: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    pub name: String,
    /// Waiting messages, without those in the hands of workers. `None`: the broker could not be asked.
    pub messages: Option<u32>,
    pub consumers: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionStats {
    pub connected: bool,
    /// Times it had to be connected again after the first time.
    pub reconnects: u64,
    /// Why it is not connected.
    pub error: Option<String>,
}

impl ConnectionStats {
    pub(crate) fn of(standing: &ConnectionState) -> Self {
        Self {
            connected: standing.link.is_some(),
            reconnects: standing.connections.saturating_sub(1),
            error: standing.error.as_ref().map(ToString::to_string),
        }
    }
}

pub(crate) async fn gather(
    topology: &Topology,
    publishing: ConnectionState,
    consuming: Option<ConnectionState>,
    blocked: Option<String>,
    prefetched: usize,
) -> Stats {
    let names = CLASSES
        .map(|class| topology.work_queue(class))
        .into_iter()
        .chain([topology.dead_letter_queue()]);
    // A blocked connection says nothing at all, so the consuming one is asked first.
    let link = consuming
        .as_ref()
        .and_then(|standing| standing.link.clone())
        .or_else(|| publishing.link.clone().filter(|link| !link.is_blocked()));
    let mut queues = Vec::new();
    let mut asked = link.as_deref();
    for name in names {
        let mut queue = QueueStats {
            name,
            ..QueueStats::default()
        };
        match ask(asked, &queue.name).await {
            Ok((messages, consumers)) => {
                queue.messages = Some(messages);
                queue.consumers = Some(consumers);
            }
            // A connection that does not answer once is not asked again: four times the limit is long.
            Err(BrokerError::Timeout { .. }) => asked = None,
            Err(_) => {}
        }
        queues.push(queue);
    }
    Stats {
        queues,
        publishing: ConnectionStats::of(&publishing),
        consuming: consuming.as_ref().map(ConnectionStats::of),
        blocked,
        prefetched,
    }
}

async fn ask(link: Option<&Link>, name: &str) -> Result<(u32, u32), BrokerError> {
    match link {
        Some(link) => look_at_queue(link, name).await,
        None => Err(BrokerError::Lost {
            what: format!("look at the queue `{name}`"),
            reason: "there is none".into(),
        }),
    }
}
