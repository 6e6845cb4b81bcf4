//! Where a new execution goes on from an old one.

use std::sync::Arc;

use pawl_kernel::execution::{Attempt, EDIT_NODE, Step, StepStatus};
use pawl_kernel::ports::store::ExecutionView;
use serde_json::Value;

use super::super::{Control, ControlError};

pub(super) struct BranchPlace {
    /// The last step that is taken over.
    pub(super) seq: u64,
    pub(super) node_id: Arc<str>,
    pub(super) prev_node_id: Option<Arc<str>>,
    /// The key of the node's effect, if it has one and is to be tried again.
    pub(super) effect_key: Option<String>,
    /// The node left no input: it had none, or failed before its effect.
    pub(super) without_input: bool,
}

impl Control {
    /// The last step if it failed, else the position itself (a limit, a stop, a worker that vanished).
    pub(super) async fn failed_step(
        &self,
        view: &ExecutionView,
    ) -> Result<BranchPlace, ControlError> {
        let (seq, position) = (view.state.seq, &view.state.position);
        let own = seq > view.execution.head.base_seq;
        let last = match own {
            true => Some(self.step_after(view, seq - 1).await?),
            false => None,
        };
        let failed =
            last.filter(|step| step.status == StepStatus::Failed && step.next_node_id.is_none());
        let effect_key = position.effect_key.clone();
        Ok(match failed {
            Some(step) => BranchPlace {
                seq: seq - 1,
                effect_key,
                without_input: has_no_input(&step),
                node_id: step.node_id,
                prev_node_id: step.prev_node_id,
            },
            None => BranchPlace {
                seq,
                node_id: position.node_id.clone(),
                prev_node_id: position.prev_node_id.clone(),
                effect_key,
                without_input: false,
            },
        })
    }

    pub(super) async fn after_step(
        &self,
        view: &ExecutionView,
        seq: u64,
    ) -> Result<BranchPlace, ControlError> {
        let last = view.state.seq;
        if seq > last {
            let message =
                format!("step {seq} does not exist; the last step of this execution is {last}");
            return Err(ControlError::NotFound(message));
        }
        let (node_id, prev_node_id) = match seq < last {
            true => {
                let following = self.step_after(view, seq).await?;
                let edited = &*following.node_id == EDIT_NODE;
                let node_id = match edited {
                    true => following.next_node_id,
                    false => Some(following.node_id),
                };
                (node_id, following.prev_node_id)
            }
            false if self.ended_with_last_step(view).await? => (None, None),
            false => {
                let position = &view.state.position;
                (
                    Some(position.node_id.clone()),
                    position.prev_node_id.clone(),
                )
            }
        };
        let ended = || {
            ControlError::Conflict(format!(
                "the execution ended with step {seq}; fork from an earlier one"
            ))
        };
        Ok(BranchPlace {
            seq,
            node_id: node_id.ok_or_else(ended)?,
            prev_node_id,
            effect_key: None,
            without_input: false,
        })
    }

    /// Or is there a position that it never finished (it is open, or was stopped, or met a limit)?
    async fn ended_with_last_step(&self, view: &ExecutionView) -> Result<bool, ControlError> {
        let last = view.state.seq;
        let is_own = last > view.execution.head.base_seq;
        if !view.execution.head.status.is_terminal() || !is_own {
            return Ok(false);
        }
        let step = self.step_after(view, last - 1).await?;
        Ok(step.next_node_id.is_none())
    }

    async fn step_after(&self, view: &ExecutionView, seq: u64) -> Result<Step, ControlError> {
        let id = view.execution.head.id;
        let mut found = self.runtime.store.steps(id, seq, 1).await?;
        match found.pop() {
            Some((step, _)) => Ok(step),
            None => Err(self.vanished(id).await),
        }
    }
}

/// Did its only try end before there was a config to run with? A try that a crash cut off had one, and one whose error is
/// not that of the step is an earlier one: the step was stopped before its next try.
fn has_no_input(step: &Step) -> bool {
    let attempts = step.attempts.as_deref();
    let tries = attempts.and_then(|text| serde_json::from_str::<Vec<Attempt>>(text).ok());
    let code = |error: &Value| error["code"].as_str().map(str::to_owned);
    let ended_with = step.error.as_deref();
    let ended_with = ended_with.and_then(|text| code(&serde_json::from_str(text).ok()?));
    let is_last = |only: &Attempt| {
        let failed_with = only.error.as_ref().and_then(code);
        failed_with.as_deref() != Some("INTERRUPTED") && failed_with == ended_with
    };
    step.input.is_none() && matches!(tries.as_deref(), Some([only]) if is_last(only))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(attempts: Value, error: &str) -> Step {
        Step {
            seq: 2,
            node_id: "tell".into(),
            node_type: "http_request".into(),
            prev_node_id: None,
            next_node_id: None,
            handle: None,
            input: None,
            output: None,
            changes: None,
            status: StepStatus::Failed,
            error: Some(json!({"code": error}).to_string()),
            attempts: Some(attempts.to_string()),
            started_at: Default::default(),
            finished_at: Default::default(),
        }
    }

    fn attempt(code: &str) -> Value {
        json!({"attempt": 1, "started_at": "", "finished_at": "", "error": {"code": code}})
    }

    #[test]
    fn a_step_that_sent_nothing_failed_in_its_only_try() {
        let rendered = |attempts: &[&str], error| {
            has_no_input(&step(
                attempts.iter().copied().map(attempt).collect(),
                error,
            ))
        };
        assert!(rendered(&["UNDEFINED_PATH"], "UNDEFINED_PATH"));
        assert!(
            !rendered(&["NODE_TIMEOUT"], "CANCELLED"),
            "stopped before its second try"
        );
        assert!(!rendered(&["INTERRUPTED"], "INTERRUPTED"));
        assert!(!rendered(
            &["NODE_TIMEOUT", "UNDEFINED_PATH"],
            "UNDEFINED_PATH"
        ));
    }
}
