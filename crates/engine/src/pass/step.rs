//! Recording what a visit did: payload limits, redaction, the step row, and the fold into the context.

use pawl_kernel::effect;
use pawl_kernel::execution::{Attempt, LogRecord, Position, Step, StepStatus};
use pawl_kernel::json;
use pawl_kernel::node::{LogLevel, LogLine, NodeError};
use pawl_kernel::schema::graph::Node;
use pawl_kernel::time::Timestamp;
use pawl_kernel::visit::VisitResult;
use pawl_kernel::webhook::answer::{self, Answer};
use serde_json::Value;

use super::Pass;

/// Details of the last error that are kept in the row of the state.
const LAST_ERROR_DETAILS_MAX: usize = 2 << 10;
/// Characters of it; the list of tries has the rest.
const LAST_ERROR_MESSAGE_MAX: usize = 2 << 10;

impl Pass {
    /// Keeps the rendered config of the try for the step's `input`.
    pub(super) fn ledger_input(&mut self, config: &Value) {
        let empty = config.as_object().is_some_and(|fields| fields.is_empty()) || config.is_null();
        self.input = (!empty).then(|| {
            if self.runtime.redactor.is_empty() {
                return json::to_text(config);
            }
            let mut shown = config.clone();
            self.runtime.redactor.value(&mut shown);
            json::to_text(&shown)
        });
    }

    /// Adds a finished visit to the pending transition. `Err`: what it produced is over a limit, which makes the
    /// visit itself a failure; nothing was recorded.
    pub(super) fn record(
        &mut self,
        node: &Node,
        mut finished: VisitResult,
        next: Option<&Node>,
    ) -> Result<(), NodeError> {
        let is_answer = std::mem::take(&mut self.answering);
        self.position.last_error = None;
        self.runtime.redactor.value(&mut finished.output);
        self.runtime.redactor.value(&mut finished.error);
        self.runtime.redactor.object(&mut finished.changes);
        let step = self.make_step(node, &mut finished, next);
        let now = step.finished_at;
        // Also of a visit whose output cannot be kept.
        let logs = std::mem::take(&mut finished.logs);
        self.note_logs(node, logs, step.seq, now);
        if let Err(error) = self.check_limits(node, &finished, &step) {
            (self.input, self.position.attempts) = (step.input, step.attempts);
            return Err(error);
        }
        if is_answer {
            self.answer(&step, &finished.output);
        }
        self.context.apply(
            &node.id,
            finished.status,
            finished.output,
            finished.error,
            finished.changes,
        );
        self.ledger.add(step);
        Ok(())
    }

    pub(super) fn note_logs(&mut self, node: &Node, lines: Vec<LogLine>, seq: u64, at: Timestamp) {
        for line in lines {
            let mut message = line.message;
            self.runtime.redactor.text(&mut message);
            self.ledger.logs.push(LogRecord {
                seq,
                node_id: node.id.clone(),
                level: line.level.name(),
                message,
                at,
            });
        }
    }

    /// The first answer goes to the caller that waits; for a later one no caller waits.
    fn answer(&mut self, step: &Step, output: &Value) {
        if !self.has_answered() {
            // The node has checked it; what was taken out since may have been what made it whole.
            let answer = Answer::read(output).unwrap_or_else(|problem| {
                tracing::error!(execution_id = %self.execution.head.id, problem, "an answer cannot be sent");
                Answer::unreadable()
            });
            self.ledger.answer = Some(answer);
            return;
        }
        self.ledger.logs.push(LogRecord {
            seq: step.seq,
            node_id: step.node_id.clone(),
            level: LogLevel::Warn.name(),
            message: "the caller was answered before: only the first answer counts".into(),
            at: step.finished_at,
        });
    }

    fn has_answered(&self) -> bool {
        let mut nodes = self.graph.definition().nodes.iter();
        let steps = &self.context.roots()["steps"];
        let success = StepStatus::Success.name();
        nodes
            .any(|node| node.node_type == answer::NODE_TYPE && steps[&node.id]["status"] == success)
    }

    fn make_step(&mut self, node: &Node, finished: &mut VisitResult, next: Option<&Node>) -> Step {
        let text = |value: &Value| (!value.is_null()).then(|| json::to_text(value));
        let changes = (!finished.changes.is_empty())
            .then(|| serde_json::to_string(&finished.changes).unwrap_or_default());
        self.at = self.runtime.now();
        Step {
            seq: self.seq() + 1,
            node_id: node.id.clone(),
            node_type: node.node_type.clone(),
            prev_node_id: self.position.prev_node_id.clone(),
            next_node_id: next.map(|next| next.id.clone()),
            handle: finished.handle.take(),
            input: self.input.take(),
            output: text(&finished.output),
            changes,
            status: finished.status,
            error: text(&finished.error),
            attempts: self.position.attempts.take(),
            started_at: self.started_at(),
            finished_at: self.at.max(self.position.entered_at),
        }
    }

    fn check_limits(
        &mut self,
        node: &Node,
        finished: &VisitResult,
        step: &Step,
    ) -> Result<(), NodeError> {
        let limits = self.runtime.options.payload;
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let produced = bytes(&step.output) + bytes(&step.changes) + bytes(&step.error);
        if produced > limits.output_bytes {
            return Err(limit_error(format!(
                "`{}` produced {produced} bytes, and limits.step_output is {}",
                node.id, limits.output_bytes
            )));
        }
        if depth_exceeds(&finished.output, limits.depth)
            || finished
                .changes
                .values()
                .any(|v| depth_exceeds(v, limits.depth))
        {
            return Err(limit_error(format!(
                "`{}` produced JSON nested deeper than {}",
                node.id, limits.depth
            )));
        }
        self.context.grow(produced);
        if self.context.bytes() > limits.context_bytes
            && self.context.measure() + produced > limits.context_bytes
        {
            return Err(limit_error(format!(
                "the context would grow beyond limits.context, {} bytes, at `{}`",
                limits.context_bytes, node.id
            )));
        }
        Ok(())
    }

    /// An operator who looks into a doubled effect must see that a try was cut off. Once per pass: the flag stays until
    /// the next commit.
    pub(super) fn note_interruption(&mut self) {
        if std::mem::replace(&mut self.interruption_noted, true) {
            return;
        }
        self.runtime.metrics.executions.interrupted.increment();
        let error = NodeError::new(
            "INTERRUPTED",
            "the worker vanished during this try; its effect may have happened",
        );
        let attempt = Attempt {
            attempt: self.position.attempt + 1,
            started_at: self.started_at().to_string(),
            finished_at: self.runtime.now().to_string(),
            error: Some(error.retryable().to_value()),
        };
        push_attempt(&mut self.position, &attempt);
    }

    /// When the visit began. An effect that an earlier execution began keeps the time at which that one entered it, for the
    /// sake of the request; as a step of this one it begins with this one.
    fn started_at(&self) -> Timestamp {
        let entered = self.position.entered_at;
        let is_foreign = |key: &str| !effect::belongs_to(key, self.execution.head.id);
        match self.position.effect_key.as_deref().is_some_and(is_foreign) {
            true => entered.max(self.execution.head.created_at),
            false => entered,
        }
    }

    /// Why the node is tried again, for viewers between two tries.
    pub(super) fn note_last_error(&mut self, error: &NodeError) {
        let mut error = error.to_value();
        self.runtime.redactor.value(&mut error);
        if error["details"].to_string().len() > LAST_ERROR_DETAILS_MAX
            && let Some(fields) = error.as_object_mut()
        {
            // A whole answer would be written again with every commit; the list of tries has it.
            fields.shift_remove("details");
        }
        if let Some(Value::String(message)) = error.get_mut("message")
            && let Some((end, _)) = message.char_indices().nth(LAST_ERROR_MESSAGE_MAX)
        {
            message.truncate(end);
            message.push('…');
        }
        self.position.last_error = Some(json::to_text(&error));
    }

    /// Adds this try to the list of the position, if the node retries or failed.
    pub(super) fn note_attempt(
        &mut self,
        node: &Node,
        started: Timestamp,
        error: Option<&NodeError>,
    ) {
        let listed = node.definition.retry.is_some() || self.interruption_noted;
        if !listed && (error.is_none() || node.pure) {
            return;
        }
        let mut error = error.map(NodeError::to_value);
        if let Some(error) = error.as_mut() {
            self.runtime.redactor.value(error);
        }
        let attempt = Attempt {
            attempt: self.position.attempt + 1,
            started_at: started.to_string(),
            finished_at: self.runtime.now().to_string(),
            error,
        };
        push_attempt(&mut self.position, &attempt);
    }
}

fn push_attempt(position: &mut Position, attempt: &Attempt) {
    let mut all: Vec<Attempt> = position
        .attempts
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    all.push(attempt.clone());
    position.attempts = serde_json::to_string(&all).ok();
}

fn limit_error(message: String) -> NodeError {
    NodeError::new("LIMIT_EXCEEDED", message)
}

/// Is the JSON nested deeper than `limit` levels? Written without recursion beyond the limit.
pub(crate) fn depth_exceeds(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => {
            limit == 0 || items.iter().any(|item| depth_exceeds(item, limit - 1))
        }
        Value::Object(fields) => {
            limit == 0 || fields.values().any(|item| depth_exceeds(item, limit - 1))
        }
        _ => false,
    }
}
