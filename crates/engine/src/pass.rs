//! One worker's pass over one execution: run nodes, commit what they did, until the execution blocks, ends, or
//! its message is used up.
//!
//! The promises kept here: nothing effectful starts before everything it depends on is committed, together with
//! its own position and key; no transaction is open while a node runs; a worker that lost its lease commits nothing.

mod commit;
mod event;
mod ledger;
mod load;
mod measure;
mod run;
mod step;

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::context::Context;
use pawl_kernel::execution::{Ending, Execution, Position, State};
use pawl_kernel::lifecycle::Release;
use pawl_kernel::node::NodeError;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{ClaimedExecution, Dispatch};
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Next;
use pawl_kernel::trial::Trial;
use pawl_kernel::visit::{self, Move};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context_cache::CachedContext;
use crate::pending_create::{NotStarted, PendingCreate};
use crate::running::Ticket;
use crate::runtime::Runtime;
pub(crate) use commit::probe;
use ledger::Ledger;
pub(crate) use run::panic_text;

/// How a pass ended.
#[derive(Debug)]
pub(crate) enum PassEnd {
    /// Everything is committed. A message is to be published first if one is due; then acknowledge.
    Committed(Option<Dispatch>),
    /// There was nothing to run: see [`NotStarted`].
    NotStarted,
    /// The lease is lost or the store does not answer: nothing may be said about the execution any more. The
    /// holder of the lease, or the reaper, owns its recovery.
    Abandoned,
}

pub(crate) struct Pass {
    runtime: Runtime,
    graph: Arc<Graph>,
    execution: Execution,
    /// The execution's id as text, made once: every visit needs it.
    id_text: Arc<str>,
    /// As last committed.
    state: State,
    token: Uuid,
    context: Context,
    /// Where the execution stands in memory; committed with the next transition.
    position: Position,
    /// `position` is what the store has.
    position_committed: bool,
    /// The execution is still to be created.
    pending: Option<PendingCreate>,
    ledger: Ledger,
    ticket: Ticket,
    started: Timestamp,
    /// When the last visit ended: pure nodes take no time worth asking the clock for.
    at: Timestamp,
    /// When the thread was last left to other tasks.
    yielded_at: Timestamp,
    nodes_run: u32,
    limits: Limits,
    /// What the request of a repeated effect says of the run, instead of what is true of this one.
    repeats: Option<Map<String, Value>>,
    /// How an editor tries it.
    trial: Option<Box<Trial>>,
    /// The rendered config of the try under way, for the step's `input`.
    input: Option<String>,
    /// The output of the visit under way is an answer.
    answering: bool,
    /// The list of tries names the one that a crash cut off.
    interruption_noted: bool,
    /// Only for the planted bug M19.
    saw_unknown_commit: bool,
}

/// The limits of this execution: the schema's, unless a retry raised them.
#[derive(Clone, Debug)]
struct Limits {
    max_steps: u64,
    max_calls: Option<u64>,
}

/// Nodes that take longer together are not worth one write less: the caller of the start waits, and the execution can be
/// neither seen nor stopped.
const AHEAD_MAX: Duration = Duration::from_millis(5);

/// Pure nodes may keep the thread from other tasks for so long, and for one node more.
const POLL_MAX: Duration = Duration::from_millis(5);

/// What one turn of the loop came to.
enum Turn {
    GoOn,
    Over(PassEnd),
}

impl From<NotStarted> for PassEnd {
    fn from(_: NotStarted) -> Self {
        Self::NotStarted
    }
}

impl From<NotStarted> for Turn {
    fn from(not_started: NotStarted) -> Self {
        Self::Over(not_started.into())
    }
}

/// Loads what the execution needs and runs it. Any error on the way gives the lease back.
pub(crate) async fn run(
    runtime: Runtime,
    claimed: Box<ClaimedExecution>,
    ticket: Ticket,
    pending: Option<PendingCreate>,
) -> PassEnd {
    let again = planted::has(Bug::UnknownCommitIsFailure)
        .then(|| (runtime.clone(), claimed.clone(), ticket.clone()));
    let mut pass = match load::load(&runtime, claimed, ticket, pending).await {
        Ok(pass) => pass,
        Err(end) => return end,
    };
    let end = pass.run().await;
    if let PassEnd::Committed(Some(_)) = &end {
        pass.keep_warm();
    }
    match again {
        Some((runtime, claimed, ticket)) if pass.saw_unknown_commit => {
            Box::pin(run(runtime, claimed, ticket, None)).await
        }
        _ => end,
    }
}

impl Pass {
    async fn run(&mut self) -> PassEnd {
        loop {
            self.leave_the_thread().await;
            if self.pending.is_some()
                && self.at.since(self.started) >= AHEAD_MAX
                && let Err(not_started) = self.ensure_created().await
            {
                return not_started.into();
            }
            match self.turn().await {
                Turn::GoOn => {}
                Turn::Over(end) => return end,
            }
        }
    }

    /// Neither a long run of pure nodes nor a few slow ones may keep the thread from other tasks. The time is that of the last
    /// visit: the clock is not asked again.
    async fn leave_the_thread(&mut self) {
        if self.at.since(self.yielded_at) >= POLL_MAX {
            tokio::task::yield_now().await;
            self.yielded_at = self.runtime.now();
        } else {
            tokio::task::consume_budget().await;
        }
    }

    /// One visit: check the limits, run the node at the position, take in what it did.
    async fn turn(&mut self) -> Turn {
        let now = self.at;
        if let Some(ending) = self.over_limit(now) {
            return self.end(ending).await;
        }
        let graph = self.graph.clone();
        let Some(node) = graph.node(&self.position.node_id) else {
            let error = NodeError::new(
                "INVALID_SCHEMA",
                format!("the schema has no node `{}`", self.position.node_id),
            );
            return self
                .end(visit::failed(&error, &self.position.node_id))
                .await;
        };
        if node.handler.is_none() {
            return Box::pin(self.give_back()).await;
        }
        let decision = match self.visit(&graph, node).await {
            Ok(decision) => decision,
            Err(turn) => return turn,
        };
        if !node.pure {
            // Its commit and its answer were waited for, while other tasks had the thread.
            self.yielded_at = self.runtime.now();
        }
        self.follow(&graph, node, decision).await
    }

    fn over_limit(&self, now: Timestamp) -> Option<Ending> {
        let seq = self.seq();
        let error = if now >= self.state.deadline_at {
            NodeError::new(
                "EXECUTION_TIMEOUT",
                format!(
                    "the execution passed its deadline {}; see settings.max_duration",
                    self.state.deadline_at
                ),
            )
        } else if seq >= self.limits.max_steps {
            NodeError::new(
                "MAX_STEPS_EXCEEDED",
                format!(
                    "{seq} steps were made and settings.max_steps is {}; raise it if the loop is meant to run longer",
                    self.limits.max_steps
                ),
            )
        } else {
            return self.over_calls();
        };
        Some(visit::failed(&error, &self.position.node_id))
    }

    fn over_calls(&self) -> Option<Ending> {
        let max = self.limits.max_calls?;
        if self.ledger.calls_spent <= max {
            return None;
        }
        let error = NodeError::new(
            "LIMIT_EXCEEDED",
            format!("{max} outgoing calls were made, the limit settings.max_calls"),
        );
        Some(visit::failed(&error, &self.position.node_id))
    }

    /// Takes in what a visit came to.
    async fn follow(&mut self, graph: &Graph, node: &Node, decision: Move<'_>) -> Turn {
        let decision = match &self.trial {
            Some(trial) => trial.cut_short(node, decision),
            None => decision,
        };
        match decision {
            Move::Leave(finished, next) => match self.record(node, finished, Some(next)) {
                Ok(()) => self.arrived(next).await,
                Err(error) => Box::pin(self.over_size(graph, node, &error)).await,
            },
            Move::End(finished, ending) => match self.record(node, finished, None) {
                Ok(()) => self.end(ending).await,
                Err(error) => Box::pin(self.over_size(graph, node, &error)).await,
            },
            // What is rare or waits is kept apart: every pass carries the largest of its ways along.
            Move::Retry(error, delay) => {
                self.runtime.metrics.nodes.retried(&node.node_type);
                Box::pin(self.retry(error, delay)).await
            }
            Move::Sleep(until) => Box::pin(self.sleep(graph, node, until)).await,
            Move::Await { event, timeout } => {
                Box::pin(self.await_event(graph, node, event, timeout)).await
            }
        }
    }

    /// What the visit produced cannot be kept: the visit failed. If not even that fits, the execution has.
    async fn over_size(&mut self, graph: &Graph, node: &Node, error: &NodeError) -> Turn {
        self.count_error(node, error);
        match visit::give_up(graph, node, error) {
            Move::Leave(finished, next) => match self.record(node, finished, Some(next)) {
                Ok(()) => self.arrived(next).await,
                Err(error) => self.end(visit::failed(&error, &node.id)).await,
            },
            Move::End(finished, ending) => {
                // The ending names the error, with or without a step.
                let _ = self.record(node, finished, None);
                self.end(ending).await
            }
            _ => self.end(visit::failed(error, &node.id)).await,
        }
    }

    /// The position is a new node. Goes on in memory, or hands over when this message is used up.
    async fn arrived(&mut self, next: &Node) -> Turn {
        let now = self.at;
        self.position = Position::at(next.id.clone(), Some(self.position.node_id.clone()), now);
        self.position_committed = false;
        if !next.pure {
            self.position.effect_key = Some(pawl_kernel::effect::key(
                self.execution.head.id,
                self.seq() + 1,
            ));
            self.ledger.calls_spent += 1;
        }
        self.nodes_run += 1;
        if self.is_used_up(now) {
            return self.hand_over().await;
        }
        Turn::GoOn
    }

    fn is_used_up(&self, now: Timestamp) -> bool {
        self.nodes_run >= self.graph.definition().settings.max_nodes_per_message
            || self.state.debug != pawl_kernel::execution::DebugMode::Off
            || now.since(self.started) >= self.runtime.options.pass_time
            || self.ticket.is_shutting_down()
            || self.ledger.is_large()
    }

    async fn hand_over(&mut self) -> Turn {
        let next = Next::Continue {
            position: self.position.clone(),
            keep_until: None,
        };
        self.commit_last(next).await
    }

    async fn end(&mut self, mut ending: Ending) -> Turn {
        self.redact(&mut ending.output);
        self.redact(&mut ending.error);
        let next = Next::End {
            position: self.position.clone(),
            ending,
        };
        self.commit_last(next).await
    }

    /// An ending is made from the node's own words: what the step hides, the ending hides too.
    fn redact(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.runtime.redactor.json_text(text);
        }
    }

    /// This worker does not know the node's type: another one may. What was done so far is kept.
    async fn give_back(&mut self) -> Turn {
        tracing::warn!(
            execution_id = %self.execution.head.id,
            node_id = %self.position.node_id,
            "this worker does not know the node's type; the execution is left for one that does"
        );
        if !self.ledger.is_empty() {
            return self.hand_over().await;
        }
        if let Err(not_started) = self.ensure_created().await {
            return not_started.into();
        }
        let lease = vec![(self.execution.head.id, self.token)];
        let _ = self
            .runtime
            .store
            .release(lease, Release::NotHere, self.runtime.now())
            .await;
        // No message: the sweeper offers it again, with a growing pause, to the workers of that time.
        Turn::Over(PassEnd::Committed(None))
    }

    /// From here on the execution is in the store: something must be waited for, or happens elsewhere.
    async fn ensure_created(&mut self) -> Result<(), NotStarted> {
        match self.pending.take() {
            Some(pending) => Box::pin(create_now(pending, &self.runtime, &self.ticket)).await,
            None => Ok(()),
        }
    }

    /// The next message may come to this worker too.
    fn keep_warm(&mut self) {
        let cached = CachedContext {
            context: std::mem::take(&mut self.context),
            unsnapshotted_bytes: self.ledger.unsnapshotted_bytes,
            snapshot_bytes: self.ledger.snapshot_bytes,
        };
        self.runtime.contexts.keep(&self.state, cached);
    }

    /// The seq of the last step, committed or not.
    fn seq(&self) -> u64 {
        self.state.seq + self.ledger.steps.len() as u64
    }
}

/// Writes a create before the pass goes on.
async fn create_now(
    mut pending: PendingCreate,
    runtime: &Runtime,
    ticket: &Ticket,
) -> Result<(), NotStarted> {
    let until = runtime.now().plus(runtime.options.lease);
    pending.renew_lease(until);
    pending.write(runtime).await?;
    ticket.lease_stored(until);
    // The caller, which has run the pass until now, is answered before anything else happens.
    tokio::task::yield_now().await;
    Ok(())
}
