//! Visits that block: sleeps, retry delays and events.
//!
//! None of them remembers that it was entered before: a sleep is over when its time has come, an event when its
//! signal is there. So a wait that was entered, woken early, or interrupted by a crash needs no special case.

use std::time::Duration;

use pawl_kernel::execution::{Signal, Wait, WaitKind};
use pawl_kernel::id;
use pawl_kernel::node::NodeError;
use pawl_kernel::schema::definition::{HANDLE_SUCCESS, HANDLE_TIMEOUT};
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Next;
use pawl_kernel::visit::{self, VisitResult};
use serde_json::{Value, json};

use super::{Pass, PassEnd, Turn};

impl Pass {
    pub(super) async fn sleep(&mut self, graph: &Graph, node: &Node, until: Timestamp) -> Turn {
        if until <= self.runtime.now() {
            let output = json!({"slept_until": until.to_string()});
            let done = visit::leave(graph, node, HANDLE_SUCCESS, VisitResult::success(output));
            return Box::pin(self.follow(graph, node, done)).await;
        }
        self.enter_wait(WaitKind::Sleep, Some(until), None, None)
            .await
    }

    /// The try is counted and the time of the next one is set, on disk, before anything else happens.
    pub(super) async fn retry(&mut self, error: NodeError, delay: Duration) -> Turn {
        let until = self.runtime.now().plus(delay);
        tracing::debug!(execution_id = %self.execution.head.id, node_id = %self.position.node_id, code = %error.code, "will be retried");
        self.position.attempt += 1;
        self.note_last_error(&error);
        self.position_committed = false;
        if delay >= self.runtime.options.short_delay || self.ticket.is_shutting_down() {
            self.position.not_before = None;
            self.ledger.calls_spent += 1;
            return self
                .enter_wait(WaitKind::Retry, Some(until), None, None)
                .await;
        }
        self.position.not_before = Some(until);
        self.ledger.calls_spent += 1;
        let keep_until = Some(self.runtime.now().plus(self.runtime.options.lease));
        let next = Next::Continue {
            position: self.position.clone(),
            keep_until,
        };
        match self.commit_on(next).await {
            Ok(()) => Turn::GoOn,
            Err(turn) => turn,
        }
    }

    pub(super) async fn await_event(
        &mut self,
        graph: &Graph,
        node: &Node,
        event: String,
        timeout: Option<Duration>,
    ) -> Turn {
        if let Err(not_started) = self.ensure_created().await {
            return not_started.into();
        }
        loop {
            let Some((inbox, signals)) = self.look_at_signals().await else {
                return Turn::Over(PassEnd::Abandoned);
            };
            let taken =
                |signal: &Signal| self.ledger.consumed.iter().any(|(id, _)| *id == signal.id);
            if let Some(signal) = signals
                .iter()
                .find(|signal| signal.name == event && !taken(signal))
            {
                return self.take_signal(graph, node, signal).await;
            }
            let until = timeout.map(|timeout| self.position.entered_at.plus(timeout));
            if until.is_some_and(|until| until <= self.runtime.now()) {
                return self.time_out(graph, node, &event).await;
            }
            match self
                .enter_wait(WaitKind::Event, until, Some(event.clone()), Some(inbox))
                .await
            {
                // Something arrived between the look and the commit: look again.
                Turn::GoOn => {}
                over => return over,
            }
        }
    }

    async fn take_signal(&mut self, graph: &Graph, node: &Node, signal: &Signal) -> Turn {
        let payload: Value = serde_json::from_str(&signal.payload).unwrap_or(Value::Null);
        let output = json!({
            "name": signal.name,
            "id": signal.id,
            "payload": payload,
            "received_at": signal.created_at.to_string(),
        });
        self.ledger
            .consumed
            .push((signal.id.clone(), self.seq() + 1));
        let done = visit::leave(graph, node, HANDLE_SUCCESS, VisitResult::success(output));
        Box::pin(self.follow(graph, node, done)).await
    }

    async fn time_out(&mut self, graph: &Graph, node: &Node, event: &str) -> Turn {
        if !graph.has_edge(node, HANDLE_TIMEOUT) {
            self.count_code(node, visit::EVENT_TIMEOUT);
        }
        let done = visit::time_out(graph, node, event);
        Box::pin(self.follow(graph, node, done)).await
    }

    /// Blocks at the position. Wakes at the execution's deadline at the latest, so that no wait is for ever.
    /// `Turn::GoOn` means that something new is in the inbox and nothing was committed.
    async fn enter_wait(
        &mut self,
        kind: WaitKind,
        until: Option<Timestamp>,
        name: Option<String>,
        inbox_seen: Option<u64>,
    ) -> Turn {
        let deadline = self.state.deadline_at;
        let wake_at = Some(until.map_or(deadline, |until| until.min(deadline)));
        let wait = Wait {
            kind,
            id: id::random(&*self.runtime.entropy),
            wake_at,
            name,
        };
        let next = Next::Wait {
            position: self.position.clone(),
            wait,
        };
        self.commit_wait(next, inbox_seen).await
    }

    /// Reads the inbox; a store that fails is asked again while the lease lasts.
    async fn look_at_signals(&self) -> Option<(u64, Vec<Signal>)> {
        loop {
            let error = match self
                .runtime
                .store
                .open_signals(self.execution.head.id)
                .await
            {
                Ok(found) => return Some(found),
                Err(error) => error,
            };
            tracing::warn!(execution_id = %self.execution.head.id, %error, "cannot read signals");
            let again = self.runtime.now().plus(Duration::from_millis(100));
            if again.plus(self.runtime.options.lease_margin) >= self.ticket.lease_until() {
                return None;
            }
            self.runtime.clock.sleep_until(again).await;
        }
    }
}
