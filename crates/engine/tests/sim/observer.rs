//! Sees what the engine does to the outside while it does it, and compares with what is on disk at that moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::NodeCall;
use pawl_kernel::ports::queue::{Delivery, Message, Queue, QueueError};
use pawl_kernel::ports::store::QueryStore;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_testkit::clock::SimClock;
use pawl_testkit::model::ModelStore;
use serde_json::Value;
use uuid::Uuid;

pub(crate) struct Observer {
    store: Arc<ModelStore>,
    clock: Arc<SimClock>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) violations: Vec<String>,
    pub(crate) trace: Vec<String>,
    /// By effect key: the rendered config of the first call, and the tries of all calls.
    pub(crate) calls: BTreeMap<String, Calls>,
    /// Paused and answered: the only key that may still be called.
    paused: BTreeMap<String, Option<String>>,
    /// Deliveries in a worker's hands, by worker and tag.
    held: BTreeMap<(usize, u64), Held>,
    /// A clock set back can make a lease come alive again that was taken away: then some rules cannot be judged.
    pub(crate) clock_set_back: bool,
}

/// What the row said when a message was received, and when that was.
#[derive(Clone)]
struct Held {
    id: ExecutionId,
    token: Option<Uuid>,
    commit: Option<Uuid>,
    at: Timestamp,
}

pub(crate) struct Calls {
    pub(crate) config: Value,
    /// Each try with the lease it ran under.
    pub(crate) tries: Vec<(u32, Option<Uuid>)>,
}

impl Observer {
    pub(crate) fn new(store: Arc<ModelStore>, clock: Arc<SimClock>) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            seen: Mutex::default(),
        })
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Seen) -> T) -> T {
        act(&mut self.seen.lock().unwrap())
    }

    pub(crate) fn violation(&self, text: String) {
        self.with(|seen| seen.violations.push(text));
    }

    pub(crate) fn trace(&self, text: String) {
        let line = format!("{} {text}", self.clock.now());
        self.with(|seen| seen.trace.push(line));
    }

    /// An effect starts. I4: same key, same request; never once its step is on disk. I6: not after a pause.
    pub(crate) fn called(&self, call: &NodeCall<'_>) {
        let Some(key) = call.effect_key.map(str::to_owned) else {
            return self.violation(format!("{} called without a key", call.node_id));
        };
        self.trace(format!("call {key} {} try {}", call.node_id, call.attempt));
        let view = self.view(call.execution_id.parse().unwrap());
        if view.state.seq >= call.seq {
            self.violation(format!("I4: {key} was called although its step is on disk"));
        }
        let token = view
            .state
            .lease
            .as_ref()
            .filter(|lease| lease.until > self.clock.now())
            .map(|lease| lease.token);
        if token.is_none() && !self.with(|seen| seen.clock_set_back) {
            self.violation(format!("I3: {key} was called without a live lease"));
        }
        // Whoever lost its lease may still be running; whoever has it must have its position on disk.
        if view.state.seq + 1 == call.seq && view.state.position.effect_key.as_deref() != Some(&key)
        {
            self.violation(format!(
                "I4: {key} was called before its position was on disk"
            ));
        }
        self.with(|seen| {
            if let Some(allowed) = seen.paused.get(call.execution_id)
                && allowed.as_deref() != Some(&key)
            {
                seen.violations.push(format!(
                    "I6: {key} started after a pause that allowed {allowed:?}"
                ));
            }
            let calls = seen.calls.entry(key.clone()).or_insert_with(|| Calls {
                config: call.config.clone(),
                tries: Vec::new(),
            });
            if calls.config != call.config {
                seen.violations
                    .push(format!("I4: {key} was called with another request"));
            }
            if token.is_some() && calls.tries.contains(&(call.attempt, token)) {
                seen.violations.push(format!(
                    "I4: try {} of {key} was repeated although nothing disturbed it",
                    call.attempt
                ));
            }
            calls.tries.push((call.attempt, token));
        });
    }

    fn view(&self, id: ExecutionId) -> pawl_kernel::ports::store::ExecutionView {
        self.store
            .execution(id)
            .now_or_never()
            .unwrap()
            .unwrap()
            .unwrap()
    }

    /// A pause or stop was answered: from now on only the node already entered may run.
    pub(crate) fn paused(&self, id: ExecutionId) {
        let key = self.view(id).state.position.effect_key;
        self.with(|seen| seen.paused.insert(id.to_string(), key));
    }

    pub(crate) fn resumed(&self, id: ExecutionId) {
        self.with(|seen| seen.paused.remove(&id.to_string()));
    }

    fn received(&self, worker: usize, deliveries: &[Delivery]) {
        for delivery in deliveries {
            let id = delivery.message.execution_id;
            let view = self.store.execution(id).now_or_never().unwrap().unwrap();
            let commit = view.as_ref().and_then(|view| view.state.commit_id);
            let token = view
                .and_then(|view| view.state.lease)
                .map(|lease| lease.token);
            let held = Held {
                id,
                token,
                commit,
                at: self.clock.true_now(),
            };
            self.with(|seen| seen.held.insert((worker, delivery.tag), held));
        }
    }

    /// A message is acknowledged. It must not be while the claim it led to has committed nothing: the lease is this
    /// worker's and new since the message came, at the very same moment, and no commit happened.
    fn acknowledged(&self, worker: usize, owner: &str, tag: u64) {
        let Some(held) = self.with(|seen| seen.held.remove(&(worker, tag))) else {
            return;
        };
        let Some(view) = self
            .store
            .execution(held.id)
            .now_or_never()
            .unwrap()
            .unwrap()
        else {
            return;
        };
        let another = self.with(|seen| {
            seen.held
                .iter()
                .any(|((holder, _), other)| *holder == worker && other.id == held.id)
        });
        let claimed = view
            .state
            .lease
            .is_some_and(|lease| lease.owner == owner && Some(lease.token) != held.token);
        let at_once = self.clock.true_now() == held.at;
        if claimed && at_once && !another && view.state.commit_id == held.commit {
            self.violation(format!(
                "a message of {} was acknowledged before anything was committed",
                held.id
            ));
        }
    }

    pub(crate) fn worker_gone(&self, worker: usize) {
        self.with(|seen| seen.held.retain(|(holder, _), _| *holder != worker));
    }
}

/// A worker's queue, with the observer listening.
pub(crate) struct WatchedQueue {
    pub(crate) inner: Arc<dyn Queue>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) worker: usize,
    pub(crate) owner: String,
}

#[async_trait::async_trait]
impl Queue for WatchedQueue {
    async fn publish(&self, message: Message) -> Result<(), QueueError> {
        self.inner.publish(message).await
    }

    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        let deliveries = self.inner.receive(max).await?;
        self.observer.received(self.worker, &deliveries);
        Ok(deliveries)
    }

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError> {
        self.observer.acknowledged(self.worker, &self.owner, tag);
        self.inner.acknowledge(tag).await
    }

    async fn reject(&self, tag: u64) -> Result<(), QueueError> {
        self.observer
            .with(|seen| seen.held.remove(&(self.worker, tag)));
        self.inner.reject(tag).await
    }
}
