//! Running one node: render its config, try it within its time, and decide what follows.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use pawl_kernel::effect;
use pawl_kernel::expr::{Meter, Scope};
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, Outcome};
use pawl_kernel::schema::definition::{HANDLE_SUCCESS, OnInterrupt};
use pawl_kernel::schema::graph::{Graph, LateTexts, Node};
use pawl_kernel::secrets::{CarriedSecrets, Reader};
use pawl_kernel::time::{Timestamp, format_duration};
use pawl_kernel::transition::Next;
use pawl_kernel::visit::{self, Move, VisitResult};
use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;

use super::{Pass, PassEnd, Turn, create_now};
use crate::evaluation::SharedTime;
use crate::running::{Interruption, Ticket};
use crate::runtime::Runtime;

/// A node that may run longer is not waited for by its message: brokers take back what is held for half an hour.
const LONG_NODE: Duration = Duration::from_secs(5 * 60);

/// The config, what is left to the node, and where its secrets may go.
type Rendered = (Value, LateTexts, CarriedSecrets);

/// What a handler returned, or what it panicked with.
type Ended = Result<Result<Outcome, NodeError>, Box<dyn Any + Send>>;

impl Pass {
    /// One try at the position. `Err`: the pass is over.
    pub(super) async fn visit<'g>(
        &mut self,
        graph: &'g Graph,
        node: &'g Node,
    ) -> Result<Move<'g>, Turn> {
        if node.definition.disabled {
            return Ok(skipped(graph, node));
        }
        let trial = self.trial.as_ref();
        if let Some(decision) = trial.and_then(|trial| trial.stand_in(graph, node)) {
            return Ok(decision);
        }
        if !node.pure {
            self.enter_effect().await?;
            if self.state.interrupted {
                self.note_interruption();
            }
            if self.state.interrupted && node.definition.on_interrupt == OnInterrupt::Fail {
                let error = interrupted(node);
                self.count_error(node, &error);
                return Ok(visit::give_up(graph, node, &error));
            }
        }
        if let Some(until) = self.position.not_before {
            Box::pin(self.wait_under_lease(until)).await?;
            self.at = self.runtime.now();
        }
        let started = if node.pure {
            self.at
        } else {
            self.runtime.now()
        };
        let own = self.speak_as_before();
        let tried = self.try_node(node).await;
        self.context.roots_mut().extend(own);
        let result = tried?;
        self.measure(node, started, &result);
        self.note_attempt(node, started, result.as_ref().err());
        self.answering = matches!(result, Ok(Outcome::Respond { .. }));
        let jitter = self.draw();
        let settled = visit::settle(graph, node, result, self.position.attempt, jitter);
        if let Move::Retry(error, _) = &settled {
            // This try leaves no step that could carry them.
            let (seq, at) = (self.seq() + 1, self.runtime.now());
            self.note_logs(node, error.logs().to_vec(), seq, at);
        }
        Ok(settled)
    }

    /// A repeated effect sees the run and the user that its first try saw. Returns what it sees otherwise.
    fn speak_as_before(&mut self) -> Map<String, Value> {
        let mut own = Map::new();
        let key = self.position.effect_key.as_deref();
        let repeated = |key: &str| !effect::belongs_to(key, self.execution.head.id);
        let Some(roots) = self.repeats.as_ref().filter(|_| key.is_some_and(repeated)) else {
            return own;
        };
        for (name, value) in roots {
            let seen = self.context.roots_mut().insert(name.clone(), value.clone());
            own.extend(seen.map(|seen| (name.clone(), seen)));
        }
        own
    }

    /// Commits everything the effect depends on, with its position and key, before it may start.
    async fn enter_effect(&mut self) -> Result<(), Turn> {
        if self.position_committed {
            return Ok(self.ensure_created().await?);
        }
        let keep_until = Some(self.runtime.now().plus(self.runtime.options.lease));
        let next = Next::Continue {
            position: self.position.clone(),
            keep_until,
        };
        self.commit_on(next).await
    }

    /// A short retry delay, waited for without giving the lease away.
    async fn wait_under_lease(&mut self, until: Timestamp) -> Result<(), Turn> {
        let clock = self.runtime.clock.clone();
        tokio::select! {
            biased;
            reason = self.ticket.interrupted() => Err(Box::pin(self.interrupted_turn(reason)).await),
            () = clock.sleep_until(until) => Ok(()),
        }
    }

    async fn try_node(&mut self, node: &Node) -> Result<Result<Outcome, NodeError>, Turn> {
        let Some(handler) = node.handler.clone() else {
            return Ok(Err(NodeError::new(
                "INVALID_SCHEMA",
                "the node's type is not known here",
            )));
        };
        let rendered = match self.render(node).await? {
            Ok(rendered) => rendered,
            Err(error) => return Ok(Err(error)),
        };
        self.ledger_input(&rendered.0);
        let ended = if node.pure {
            self.run_pure(node, &*handler, rendered).await?
        } else {
            self.run_effect(node, &*handler, rendered).await?
        };
        Ok(ended.unwrap_or_else(|panic| Err(panicked(&self.id_text, node, &*panic))))
    }

    /// Most pure nodes take no time. Before one is waited for, the execution is created.
    async fn run_pure(
        &mut self,
        node: &Node,
        handler: &dyn NodeHandler,
        rendered: Rendered,
    ) -> Result<Ended, Turn> {
        // Not while the node looks at the pass; it is back before anything is waited for.
        let pending = self.pending.take();
        let call = self.call(node, rendered, self.at);
        let mut work = AssertUnwindSafe(handler.run(call)).catch_unwind();
        let Some(pending) = pending else {
            return Ok(work.await);
        };
        if let Some(ended) = (&mut work).now_or_never() {
            drop(work);
            self.pending = Some(pending);
            return Ok(ended);
        }
        Box::pin(create_now(pending, &self.runtime, &self.ticket)).await?;
        Ok(work.await)
    }

    /// Within its time, and only while the lease is ours.
    async fn run_effect(
        &mut self,
        node: &Node,
        handler: &dyn NodeHandler,
        rendered: Rendered,
    ) -> Result<Ended, Turn> {
        let clock = self.runtime.clock.clone();
        let now = clock.now();
        if now.plus(self.runtime.options.lease_margin) >= self.ticket.lease_until() {
            // The store or this process was stuck: by now another worker may have the execution.
            return Err(Turn::Over(PassEnd::Abandoned));
        }
        let timeout = self.time_for(node, now);
        let deadline = now.plus(timeout);
        self.ticket.node_entered(deadline);
        // Earlier tries under the same message count too.
        if now.since(self.started) + timeout > LONG_NODE {
            self.ticket.acknowledge_early().await;
        }
        let work = AssertUnwindSafe(handler.run(self.call(node, rendered, now))).catch_unwind();
        tokio::select! {
            biased;
            reason = self.ticket.interrupted() => Err(Box::pin(self.interrupted_turn(reason)).await),
            ended = work => Ok(ended),
            () = clock.sleep_until(deadline) => Ok(Ok(Err(timed_out(node, timeout)))),
        }
    }

    fn call<'a>(&'a self, node: &'a Node, rendered: Rendered, now: Timestamp) -> NodeCall<'a> {
        let (config, late, secrets) = rendered;
        // What came to the start is the input of the execution, not the output of a step.
        let start = &*self.graph.start().id;
        let previous = self.position.prev_node_id.as_deref();
        NodeCall {
            node_id: &node.id,
            config,
            execution_id: &self.id_text,
            correlation_id: &self.execution.record.correlation_id,
            seq: self.seq() + 1,
            attempt: self.position.attempt + 1,
            entered_at: self.position.entered_at,
            now,
            effect_key: self.position.effect_key.as_deref(),
            timeout: self.time_for(node, now),
            limits: self.runtime.options.payload,
            context: self.context.roots(),
            previous: previous.filter(|id| *id != start),
            names: self.graph.names(),
            late,
            secrets,
        }
    }

    /// Not longer than the node may run, nor beyond the execution's deadline.
    fn time_for(&self, node: &Node, now: Timestamp) -> Duration {
        node.timeout.min(self.state.deadline_at.since(now))
    }

    async fn render(&mut self, node: &Node) -> Result<Result<Rendered, NodeError>, Turn> {
        let mut meter = Meter::short();
        let rendered = self.rendered(node, &mut meter);
        match meter.is_spent() {
            true => Box::pin(self.render_long(node)).await,
            false => Ok(rendered),
        }
    }

    /// Too much for a thread that others wait for. Until it is its turn, the execution can be seen and stopped. Waiting
    /// takes nothing of the node's time: how long it lasts depends on the load that other executions make.
    async fn render_long(&mut self, node: &Node) -> Result<Result<Rendered, NodeError>, Turn> {
        self.ensure_created().await?;
        let runtime = self.runtime.clone();
        let (now, deadline) = (runtime.now(), self.state.deadline_at);
        // Until then the lease is renewed: a pass that waits does not hang.
        self.ticket.node_entered(deadline);
        let place = tokio::select! {
            biased;
            reason = self.ticket.interrupted() => return Err(Box::pin(self.interrupted_turn(reason)).await),
            place = place_for_long(&runtime, &self.ticket, self.started) => place,
            () = runtime.clock.sleep_until(deadline) => return Ok(Err(timed_out(node, deadline.since(now)))),
        };
        let now = runtime.now();
        self.ticket.node_entered(now.plus(self.time_for(node, now)));
        let rendered = runtime.evaluations.long(|meter| self.rendered(node, meter));
        drop(place);
        self.at = runtime.now();
        Ok(rendered)
    }

    fn rendered(&mut self, node: &Node, meter: &mut Meter) -> Result<Rendered, NodeError> {
        // Of an effect the key says what `uuid()` derives from: a repetition draws the same.
        let key = self.position.effect_key.clone();
        let visit = (&*self.id_text.clone(), self.seq() + 1);
        let (id, seq) = key.as_deref().and_then(effect::parts).unwrap_or(visit);
        let mut carried = CarriedSecrets::default();
        if !node.pure {
            let secrets;
            (secrets, carried) = self.secrets_for(node)?;
            self.context
                .roots_mut()
                .insert("secrets".into(), Value::Object(secrets));
        }
        let scope = Scope::new(
            self.context.roots(),
            self.position.entered_at.as_micros(),
            id,
            seq,
        );
        let rendered = node.render(&scope, meter);
        let late = node.late(&scope).with_long_runs(|| {
            let (evaluations, time) = (self.runtime.evaluations.clone(), SharedTime::default());
            move |work: &mut dyn FnMut(&mut Meter)| evaluations.long_together(&time, work)
        });
        self.context.roots_mut().shift_remove("secrets");
        let rendered = rendered.map(|config| (config, late, carried));
        rendered.map_err(NodeError::from)
    }

    fn secrets_for(&self, node: &Node) -> Result<(Map<String, Value>, CarriedSecrets), NodeError> {
        let handler = node.handler.as_ref();
        let reader = Reader {
            name: &self.graph.definition().name,
            guards: handler.is_some_and(|handler| handler.guards_secrets()),
        };
        self.runtime.secrets(node.secret_reads(), reader)
    }

    /// Stopped by a person: what the node did until now is recorded as cancelled, and the commit applies the stop.
    /// Fenced or shut down: leave at once and say nothing.
    async fn interrupted_turn(&mut self, reason: Interruption) -> Turn {
        match reason {
            Interruption::Stop => {
                let graph = self.graph.clone();
                let Some(node) = graph.node(&self.position.node_id) else {
                    return Turn::Over(PassEnd::Abandoned);
                };
                let error = NodeError::new("CANCELLED", "stopped while the node was running");
                let finished = VisitResult {
                    status: pawl_kernel::execution::StepStatus::Failed,
                    handle: None,
                    output: Value::Null,
                    error: error.to_value(),
                    changes: Map::new(),
                    logs: Vec::new(),
                };
                if self.record(node, finished, None).is_err() {
                    return Turn::Over(PassEnd::Abandoned);
                }
                self.hand_over().await
            }
            Interruption::LeaseLost => Turn::Over(PassEnd::Abandoned),
        }
    }

    fn draw(&self) -> f64 {
        (self.runtime.entropy.bits() >> 75) as f64 / (1u64 << 53) as f64
    }
}

/// Waits for a place among the long evaluations. A message is not held for longer than for a long node meanwhile.
async fn place_for_long<'p>(
    runtime: &'p Runtime,
    ticket: &Ticket,
    started: Timestamp,
) -> Option<SemaphorePermit<'p>> {
    let mut place = std::pin::pin!(runtime.evaluations.place());
    tokio::select! {
        biased;
        place = &mut place => return place,
        () = runtime.clock.sleep_until(started.plus(LONG_NODE)) => {}
    }
    ticket.acknowledge_early().await;
    place.await
}

fn skipped<'g>(graph: &'g Graph, node: &'g Node) -> Move<'g> {
    let finished = VisitResult {
        status: pawl_kernel::execution::StepStatus::Skipped,
        handle: None,
        output: Value::Null,
        error: Value::Null,
        changes: Map::new(),
        logs: Vec::new(),
    };
    visit::leave(graph, node, passed_by(graph, node), finished)
}

/// The exit of a disabled node. `success`, or the one that its edge without a name means: a disabled `condition` goes on as
/// if it held.
fn passed_by(graph: &Graph, node: &Node) -> &'static str {
    let handler = node.handler.as_ref();
    let unnamed = handler.and_then(|handler| handler.unnamed_exit());
    match graph.has_edge(node, HANDLE_SUCCESS) {
        true => HANDLE_SUCCESS,
        false => unnamed.unwrap_or(HANDLE_SUCCESS),
    }
}

fn interrupted(node: &Node) -> NodeError {
    NodeError::new(
        "INTERRUPTED",
        format!(
            "a crash interrupted `{}` and it says on_interrupt: fail; its effect may or may not have happened",
            node.id
        ),
    )
}

fn timed_out(node: &Node, timeout: Duration) -> NodeError {
    NodeError::new(
        "NODE_TIMEOUT",
        format!(
            "`{}` did not finish within {}",
            node.id,
            format_duration(timeout)
        ),
    )
    .retryable()
}

fn panicked(execution_id: &str, node: &Node, panic: &(dyn Any + Send)) -> NodeError {
    let text = panic_text(panic);
    tracing::error!(execution_id, node_id = %node.id, panic = text, "a node handler panicked");
    NodeError::new(
        "INTERNAL_ERROR",
        format!("the node type `{}` has a bug: {text}", node.node_type),
    )
}

/// What a panic said, if it was text.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
